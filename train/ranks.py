"""The processes that train one model together: `torchrun` starts them, FSDP2 shares the weights out to them.

All ranks take each step of a run together. They know the same rollouts and draw the same numbers, so that
nothing but the tensors is split: each goes through its share of every minibatch, in as many passes as the
others, and the sum of their gradients is that of the whole. Where there is one process, nothing here does
anything.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import torch
from torch import Tensor, distributed
from torch.distributed.tensor import DTensor, distribute_tensor

from gym_enterprise.errors import UsageError
from train.batching import Batch, Row, longest_first, packs
from train.logprobs import plain_model

Result = TypeVar("Result")

PATIENCE = timedelta(hours=12)
"""How long a rank waits for another that is alive; torchrun ends all when one has failed."""
NOTHING = Row((0,), (0,), (0.0,), None, None)
"""A pass of it adds nothing to a loss or to metrics."""


@contextmanager
def together(device: str | None) -> Iterator[None]:
    """Join the others, if `torchrun` started this process with any.

    Args:
        device: `model.device` of the configuration.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield
        return
    here = torch.device(own_device(device))
    if here.type == "cuda":
        torch.cuda.set_device(here)
    distributed.init_process_group("cpu:gloo,cuda:nccl" if here.type == "cuda" else "gloo", timeout=PATIENCE)
    yield
    distributed.barrier()  # none may hang up while another is still at its last exchange
    distributed.destroy_process_group()  # not after an error, when the others may be waiting elsewhere


def count() -> int:
    """Return how many processes there are."""
    return distributed.get_world_size() if distributed.is_initialized() else 1


def rank() -> int:
    """Return the number of this one, from 0."""
    return distributed.get_rank() if distributed.is_initialized() else 0


def leads() -> bool:
    """Return whether this process writes what is written once."""
    return rank() == 0


def say(text: str) -> None:
    """Write a line on the terminal, once."""
    if leads():
        print(text, flush=True)


def own_device(named: str | None) -> str:
    """Return the device of this process: what is named, by default CUDA where there is any."""
    device = named or ("cuda" if torch.cuda.is_available() else "cpu")
    local = os.environ.get("LOCAL_RANK") if int(os.environ.get("WORLD_SIZE", "1")) > 1 else None
    return f"cuda:{local}" if local is not None and device.startswith("cuda") else device


def shard(model: Any, device: str) -> Any:
    """Share a model's weights out to all ranks, layer by layer, and return it.

    Args:
        model: It may be in main memory.
        device: Of this process, where the shares go.
    """
    if count() > 1:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        mesh = init_device_mesh(torch.device(device).type, (count(),))
        layers = set(plain_model(model)._no_split_modules or ())
        for module in [each for each in model.modules() if type(each).__name__ in layers]:
            fully_shard(module, mesh=mesh)
        fully_shard(model, mesh=mesh)
    return model


def whole(value: Tensor) -> Tensor:
    """Return a tensor as a whole; where it is shared out, all ranks have to ask together."""
    return (value.full_tensor() if isinstance(value, DTensor) else value).detach()


def like(value: Tensor, parameter: Tensor) -> Tensor:
    """Return a copy of a whole tensor with the dtype, device and sharding of a parameter."""
    copy = value.to(parameter.device, parameter.dtype, copy=True)
    if isinstance(parameter, DTensor):
        return distribute_tensor(copy, parameter.device_mesh, parameter.placements)
    return copy


def backward(loss: Tensor) -> None:
    """Add the gradients of this rank's part of a loss; those of all ranks are summed, not averaged."""
    (loss * count()).backward()  # type: ignore[no-untyped-call]


def gathered(own: Result) -> list[Result]:
    """Return what each rank gave, in their order."""
    found: list[Any] = [own] * count()
    if count() > 1:
        distributed.all_gather_object(found, own)
    return found


def first(make: Callable[[], Result]) -> Result:
    """Return what the first rank makes.

    Raises:
        UsageError: It could not be made.
    """
    if count() == 1:
        return make()
    made, fault = None, None
    if leads():
        try:
            made = make()
        except Exception as error:
            fault = error
    box: list[Any] = [made, fault and f"{type(fault).__name__}: {fault}"]
    distributed.broadcast_object_list(box)
    if fault is not None:
        raise fault
    if box[1] is not None:
        raise UsageError(f"the first process stopped at {box[1]}")
    return box[0]  # type: ignore[no-any-return]


def share(rows: Sequence[Row], max_tokens: int, *, whole_rollouts: bool = False) -> list[Batch]:
    """Return this rank's part of the micro-batches of a minibatch, which all ranks know.

    Args:
        rows: Of all.
        max_tokens: See `micro_batches`.
        whole_rollouts: Likewise.

    Returns:
        As many on each rank, with `NOTHING` in the last ones where there is less to do.
    """
    units = longest_first(rows, whole_rollouts)
    shares = [[row for unit in units[place :: count()] for row in unit] for place in range(count())]
    parts = [packs(each, max_tokens, whole_rollouts=whole_rollouts) for each in shares]
    passes = max(map(len, parts))
    return [Batch.of(pack) for pack in [*parts[rank()], *[[NOTHING]] * (passes - len(parts[rank()]))]]
