"""One of two processes that share the parameters of an optimiser, for a test: FSDP2 on the CPU."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

from tests.train.test_optim import body
from train.config import Optim
from train.optim import Optimiser


def run(rank: int, *, sharded: bool) -> dict[str, Any]:
    """Take five steps, the second with a gradient that is not finite in one row, and return all there is."""
    model = body()
    if sharded:
        fully_shard(model)
    optimiser = Optimiser(model, Optim(kind="muon", lr=1e-2, weight_decay=0.1, clip_norm=0.5), steps=5)
    updates = []
    for step in range(5):
        random = torch.Generator().manual_seed(step)
        for name, parameter in model.named_parameters():
            gradient = torch.randn(parameter.shape, generator=random)
            if step == 1 and name == "up.weight":
                gradient[-1] = torch.nan  # a row of the last rank only
            if isinstance(parameter, DTensor):
                gradient = distribute_tensor(gradient, parameter.device_mesh, parameter.placements)
            parameter.grad = gradient
        updates.append(asdict(optimiser.step()))
        optimiser.zero_grad()
    state = optimiser.state_dict()
    whole = {
        name: (one.full_tensor() if isinstance(one, DTensor) else one).detach()
        for name, one in model.named_parameters()
    }
    return {
        "updates": updates,
        "layout": state["layout"],
        "moments": state["moments"],
        "parameters": whole,
        "counts": [state["steps"], state["skipped"]],
    }


def main(folder: Path, rank: int) -> None:
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder / 'meeting'}", rank=rank, world_size=2
    )
    seen = run(rank, sharded=True)
    if rank == 0:
        torch.save(seen, folder / "seen.pt")
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
