"""GRPO with a stand-in for servers, which has weights of its own: `torchrun -m ... CONFIG.toml`."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from simulators import TransformersEngine
from simulators.template import load_tokenizer
from train import actors, grpo, ranks
from train.config import GrpoConfig
from train.run import command


class Servers:
    """In place of `train.actors.Servers`."""

    def __init__(self, config: GrpoConfig, model: Any, template: Any) -> None:
        assert ranks.leads()
        tokenizer = load_tokenizer(config.model.path)
        self.template = template
        self.engine = TransformersEngine(copy.deepcopy(model), tokenizer, template=template, inline=True)

    @contextmanager
    def learning(self, model: Any) -> Iterator[None]:
        yield
        self.engine.model.load_state_dict(model.state_dict())
        self.engine.reset_cache()

    def close(self) -> None:
        pass


if __name__ == "__main__":
    actors.Servers = Servers  # type: ignore[assignment,misc]
    command(sys.argv[1:], GrpoConfig, "", grpo.train)
