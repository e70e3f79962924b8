"""One of two processes, the second of which fails while the first learns: `torchrun -m ... CONFIG.toml`."""

from __future__ import annotations

import sys

from train import grpo, ranks
from train.config import GrpoConfig
from train.run import command


def learn(*arguments: object) -> dict[str, float]:
    if ranks.rank() == 1:
        raise RuntimeError("the second rank has failed")
    return taught(*arguments)  # type: ignore[arg-type]


if __name__ == "__main__":
    taught, grpo.learn = grpo.learn, learn  # type: ignore[assignment]
    command(sys.argv[1:], GrpoConfig, "", grpo.train)
