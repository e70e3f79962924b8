"""One optimiser of two: Muon for the matrices of a transformer's body, AdamW for everything else.

| parameter                                     | "adamw" | "muon" | decays |
|-----------------------------------------------|---------|--------|--------|
| matrix of the body (attention, feed-forward)  | AdamW   | Muon   | yes    |
| embedding, output head                        | AdamW   | AdamW  | yes    |
| LoRA A and B                                  | AdamW   | AdamW  | yes    |
| three dimensions and more (fused experts)     | AdamW   | AdamW  | yes    |
| norm, bias, scalar                            | AdamW   | AdamW  | no     |

Muon (Jordan et al. 2024) brings the singular values of a matrix's update near 1. LoRA's factors stay with
AdamW: it is their product that acts on the model, and one of them begins at 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from gym_enterprise.errors import UsageError
from train.config import Optim
from train.ranks import leads, like, whole

Named = dict[str, nn.Parameter]


@dataclass(frozen=True)
class Update:
    """What one step did."""

    norm: float
    """Of all gradients together, before they were clipped."""
    lr: float
    """Of AdamW at this step."""
    skipped: bool
    """The norm was not finite: no parameter was changed, and the gradients are gone."""


class Optimiser:
    """AdamW and Muon with clipping and a schedule, used as one; gradients that are not finite go nowhere.

    Under FSDP2 all ranks call everything together. The state holds whole tensors, for any number of ranks.

    Args:
        model: Where it will be trained, sharded already. What requires a gradient is trained.
        settings: Of the configuration.
        steps: How many are planned; there the schedule ends.

    Raises:
        UsageError: Nothing requires a gradient, or the warm-up leaves the schedule no step.
    """

    def __init__(self, model: nn.Module, settings: Optim, steps: int) -> None:
        muon, matrices, others = split(model, settings.kind)
        self._parameters = muon | matrices | others
        _check(self._parameters, settings, steps)
        self.steps = 0
        """Calls of `step`, skipped ones too: the place in the schedule."""
        self.skipped = 0
        self._settings, self._planned = settings, steps
        decay, adjust = settings.weight_decay, settings.muon_adjust
        groups: list[dict[str, Any]] = [{"params": list(p.values())} for p in (matrices, others, muon)]
        groups[1]["weight_decay"] = 0.0
        adamw = torch.optim.AdamW(groups[:2], settings.lr, settings.betas, weight_decay=decay)
        orthogonal = torch.optim.Muon(groups[2:], weight_decay=decay, adjust_lr_fn=adjust)
        self._parts = ((adamw, settings.lr), (orthogonal, settings.muon_lr or settings.lr))
        self._owners = {name: orthogonal if name in muon else adamw for name in self._parameters}

    def step(self) -> Update:
        """Clip the gradients and update the parameters, or skip both if the norm is not finite."""
        factor = lr_factor(self.steps, self._planned, self._settings)
        limit = self._settings.clip_norm or math.inf
        norm = float(whole(nn.utils.clip_grad_norm_(self._parameters.values(), limit)))
        update = Update(norm, self._settings.lr * factor, skipped=not math.isfinite(norm))
        self.steps += 1
        if update.skipped:
            self.skipped += 1
            self.zero_grad()
            return update
        for part, peak in self._parts:
            for group in part.param_groups:
                group["lr"] = peak * factor
            with _Float32OnCPU():
                part.step()
        return update

    def zero_grad(self) -> None:
        """Drop all gradients."""
        for parameter in self._parameters.values():
            parameter.grad = None

    def state_dict(self) -> dict[str, Any]:
        """Return counters and moments, which the first rank gets, and nothing of the settings."""
        moments: dict[str, dict[str, Tensor]] = {name: {} for name in self._owners}
        for name, part in self._owners.items():
            for key, value in part.state.get(self._parameters[name], {}).items():
                full = whole(value)  # one at a time on the device
                moments[name] |= {key: full.cpu()} if leads() else {}
        return {"steps": self.steps, "skipped": self.skipped, "layout": self._layout(), "moments": moments}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` returned, which is copied.

        Raises:
            UsageError: It is of other parameters, or they had another optimiser; nothing was changed.
        """
        saved, here = state["layout"], self._layout()
        for name in sorted(saved.keys() | here.keys()):
            if saved.get(name) != here.get(name):
                raise UsageError(
                    f"parameter {name!r}: the saved state of the optimiser has {saved.get(name)}, this one "
                    f"{here.get(name)}: resume with the model and the optim.kind that it was saved with"
                )
        self.steps, self.skipped = state["steps"], state["skipped"]
        for name, part in self._owners.items():
            parameter, moments = self._parameters[name], state["moments"][name]
            part.state[parameter] = {
                key: value.clone() if key == "step" else like(value, parameter)
                for key, value in moments.items()
            }

    def _layout(self) -> dict[str, str]:
        shapes = {name: list(parameter.shape) for name, parameter in self._parameters.items()}
        return {name: f"{type(part).__name__} {shapes[name]}" for name, part in self._owners.items()}


def split(model: nn.Module, kind: str) -> tuple[Named, Named, Named]:
    """Return the trainable parameters, by name: those of Muon, those of AdamW that decay, and the rest."""
    head = getattr(model, "get_output_embeddings", lambda: getattr(model, "lm_head", None))()
    tables = [module for module in model.modules() if module is head or isinstance(module, nn.Embedding)]
    outside = {id(parameter) for module in tables for parameter in module.parameters()}
    muon: Named = {}
    matrices: Named = {}
    others: Named = {}
    for name, parameter in model.named_parameters():
        body = parameter.ndim == 2 and id(parameter) not in outside and "lora_" not in name
        if parameter.requires_grad:
            into = muon if kind == "muon" and body else matrices if parameter.ndim > 1 else others
            into[name] = parameter
    return muon, matrices, others


def lr_factor(step: int, steps: int, settings: Optim) -> float:
    """Return the share of the full learning rate at a step, counted from 0.

    It rises linearly to 1 at the last step of the warm-up, and then is 1 ("constant") or falls to `lr_floor`,
    which it reaches at `steps`, along a line or half a cosine.
    """
    if step < settings.warmup_steps:
        return (step + 1) / settings.warmup_steps
    if settings.schedule == "constant":
        return 1.0
    left = max(steps - step, 0) / (steps - settings.warmup_steps)
    left = left if settings.schedule == "linear" else (1 - math.cos(math.pi * left)) / 2
    return settings.lr_floor + (1 - settings.lr_floor) * left


class _Float32OnCPU(TorchFunctionMode):
    """Has Muon's Newton-Schulz run in float32 on CPUs, most of which multiply bfloat16 many times slower."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is Tensor.bfloat16 and args[0].device.type == "cpu":
            return args[0].float()
        return func(*args, **(kwargs or {}))


def _check(parameters: Named, settings: Optim, steps: int) -> None:
    if not parameters:
        raise UsageError("no parameter of the model requires a gradient: unfreeze some, or add LoRA")
    if settings.schedule != "constant" and settings.warmup_steps >= steps:
        raise UsageError(
            f"optim.warmup_steps is {settings.warmup_steps} of {steps} steps, which leaves none for the "
            f"schedule {settings.schedule!r}: make it less, or the schedule 'constant'"
        )
