"""Log-probabilities of tokens by the policy, exactly as the engines that sample define them.

That is log_softmax(logits / temperature), in float32 over the whole vocabulary. The head is applied only
where a token counts, to `LOGITS_AT_ONCE` logits at a time, which the backward pass computes again: the logits
of a batch are never there at once. All this happens inside one call of the model, by hooks on its head, so
that what else hooks into that call (FSDP, peft, autocast) works as usual.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakSet

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from gym_enterprise.errors import UsageError
from train.padded import as_mask

LOGITS_AT_ONCE = 2**26
"""256 MiB in float32: 441 tokens of a vocabulary of 152,000."""
Head = Callable[[Tensor], Tensor]
_REWORKING: WeakSet[nn.Module] = WeakSet()
"""Heads of models that do something to the logits afterwards, such as the soft cap of Gemma."""


def token_logprobs(
    model: Any, ids: Tensor, attention: Tensor, mask: Tensor | None = None, temperature: float = 1.0
) -> Tensor:
    """Return the log-probability of each token given those before it in its row.

    Args:
        model: A causal language model of `transformers`, or one of `peft` around it, which nothing else uses
            meanwhile: keep an engine of it `paused`.
        ids: [N, T], int64; padding may be any tokens.
        attention: [N, T], bool or 0 and 1: 0 is padding, on either side.
        mask: [N, T], likewise: the tokens that count. None: all that have one before them.
        temperature: Above 0.

    Returns:
        [N, T], in float32 or wider: at t that of ids[t] given ids[:t]; 0 where the mask is.

    Raises:
        UsageError: Shapes do not fit, the mask counts padding or a first token, or the model has no head.
    """
    if not 0 < temperature < math.inf:
        raise UsageError(f"temperature is {temperature}: give the one that was sampled at, above 0")
    counted = _counted(ids, attention, mask)
    if torch.is_grad_enabled() and any(
        getattr(one, "gradient_checkpointing", False) for one in model.modules()
    ):
        model.train()  # as nothing is checkpointed in evaluation mode, which an engine sets
    targets = ids[counted].view(1, -1, 1)

    def score(head: Head, states: Tensor, targets: Tensor) -> Tensor:
        logits = head(states)
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
        return (logits if temperature == 1 else logits / temperature).log_softmax(-1).gather(-1, targets)

    def in_pieces(head: Head, states: Tensor) -> Tensor:
        size = max(1, LOGITS_AT_ONCE // model.config.get_text_config().vocab_size)
        if states.shape[1] <= size:
            return score(head, states, targets)
        pieces = [
            checkpoint(score, head, *piece, use_reentrant=False, preserve_rng_state=False)
            for piece in zip(torch.split(states, size, 1), torch.split(targets, size, 1), strict=True)
        ]
        return torch.cat(pieces, 1)

    scores = _at_head(model, _inputs(model, ids, attention), counted.roll(-1, 1), in_pieces)
    return scores.new_zeros(ids.shape).masked_scatter(counted, scores)


def _at_head(
    model: Any, inputs: Mapping[str, Any], places: Tensor, compute: Callable[[Head, Tensor], Tensor]
) -> Tensor:
    """Run the model; return what `compute` makes of its head and of the states it gets at these places."""
    head = plain_model(model).get_output_embeddings()
    if head is None:
        raise UsageError(f"{type(model).__name__} has no output head: use a causal language model")

    def run(compute: Callable[[Head, Tensor], Tensor]) -> tuple[Tensor, bool]:
        """Return what the model took for its logits, and whether it left that as it was."""
        states: list[Tensor] = []
        computed: list[Tensor] = []

        def take(_: nn.Module, arguments: tuple[Tensor, ...]) -> Tensor:
            states.append(arguments[0][places].unsqueeze(0))
            return arguments[0][:0]

        def give(module: nn.Module, _: Any, __: Tensor) -> Tensor:
            computed.append(compute(module.forward, states.pop()))
            return computed[0]

        # prepend: before a hook of FSDP that takes the weights of the head away.
        hooks = head.register_forward_pre_hook(take), head.register_forward_hook(give, prepend=True)
        try:
            logits = model(**inputs).logits
        finally:
            for hook in hooks:
                hook.remove()
        return logits, logits is computed[0]

    if head not in _REWORKING:
        scores, untouched = run(compute)
        if untouched:
            return scores
        _REWORKING.add(head)
    logits, _ = run(lambda head, states: head(states))
    return compute(lambda logits: logits, logits)


def _inputs(model: Any, ids: Tensor, attention: Tensor) -> dict[str, Any]:
    """Return what the model takes. No token sees padding on its right, and attention is faster unmasked."""
    inputs: dict[str, Any] = {"input_ids": ids}
    options: dict[str, Any] = {"use_cache": False}
    if (attention[:, 1:] > attention[:, :-1]).any():
        inputs["attention_mask"] = attention.long()
        options["position_ids"] = (inputs["attention_mask"].cumsum(1) - 1).clamp(min=0)
    takes = inspect.signature(plain_model(model).forward).parameters
    return inputs | {name: value for name, value in options.items() if name in takes}


def _counted(ids: Tensor, attention: Tensor, mask: Tensor | None) -> Tensor:
    """Return the mask, of tokens that have one before them."""
    if any(each is not None and each.shape != ids.shape for each in (attention, mask)) or ids.ndim != 2:
        shapes = [list(each.shape) for each in (ids, attention, mask) if each is not None]
        raise UsageError(f"ids, attention and mask have the shapes {shapes}: give [N, T] for all")
    known = as_mask(attention)
    known = known & known.roll(1, 1)
    known[:, :1] = False
    counted = known if mask is None else as_mask(mask)
    if wrong := (counted & ~known).nonzero().tolist():
        raise UsageError(f"the mask counts {wrong[0]}, which is padding or has no token before it")
    return counted


def plain_model(model: Any) -> Any:
    """Return the model of `transformers`, which may have adapters in it."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model
