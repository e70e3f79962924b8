"""Padded [N, T] tensors with a mask: what the mask leaves out is replaced before anything is computed.

Replacing, not multiplying by 0, since 0 times NaN is NaN, in the backward pass too.
"""

from __future__ import annotations

import torch
from torch import Tensor

from gym_enterprise.errors import UsageError


def as_mask(mask: Tensor) -> Tensor:
    """Return a mask, [N, T] of bool or of 0 and 1, as bool."""
    if mask.ndim != 2 or not ((mask == 0) | (mask == 1)).all():
        raise UsageError(
            f"the mask has the shape {list(mask.shape)}: give [N, T] of bool, or of 0 and 1 only"
        )
    return mask.bool()


def filled(values: Tensor, mask: Tensor, name: str) -> Tensor:
    """Return the values, of the same shape as the mask, in float32 or wider, and 0 where the mask is."""
    if values.shape != mask.shape:
        raise UsageError(f"{name} has the shape {list(values.shape)}: the mask asks for {list(mask.shape)}")
    wide = values.to(torch.promote_types(values.dtype, torch.float32))
    return torch.where(mask, wide, 0.0)


def finite(values: Tensor, mask: Tensor, name: str) -> Tensor:
    """Return what `filled` does, of values that must be finite where the mask is not 0."""
    kept = filled(values, mask, name)
    if wrong := (~kept.isfinite()).nonzero().tolist():
        raise UsageError(
            f"{name} is not finite at {len(wrong)} of the {int(mask.sum())} places that count, the first at "
            f"{wrong[0]}: leave the batch out, or mend what computed it"
        )
    return kept


def row_sums(values: Tensor) -> Tensor:
    """Return the sums over T of [N, T], in float64 where the device has it."""
    return values.sum(1, dtype=torch.float32 if values.device.type == "mps" else torch.float64)
