"""`CausalLM`: what is asked of a language model of `transformers`, and one pass of it."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import torch

from simulators.engines.errors import FatalError
from simulators.engines.local.kv import KVCache

_FULL, _SLIDING = "full_attention", "sliding_attention"


class CausalLM:
    """A decoder whose layers attend to all tokens before, or to the last so many.

    Args:
        model: The model, or one of `peft` around it. It stays the caller's: its weights may change between
            passes.

    Raises:
        FatalError: It has layers of another kind (recurrent, chunked), takes no positions or no cache of keys
            and values, or computes attention by a kernel that takes no mask.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        bare = model.get_base_model() if hasattr(model, "get_base_model") else model
        config = bare.config.get_text_config(decoder=True)
        self.name: str = config._name_or_path or type(bare).__name__
        """What it was loaded from, or its class."""
        self.window: int | None = getattr(config, "max_position_embeddings", None)
        """Most tokens that it was made for; None when its configuration does not say."""
        self.vocabulary: int = config.vocab_size
        """How many tokens it knows."""
        self.layers: int = config.num_hidden_layers
        """How many layers it has."""
        self._kinds = _kinds(config)
        self._reach: int = config.sliding_window if _SLIDING in self._kinds else 0
        takes = inspect.signature(bare.forward).parameters
        self._cache = "cache" if "cache" in takes else "past_key_values"  # by release of transformers
        self._arguments = {"use_cache": True} | ({"logits_to_keep": 1} if "logits_to_keep" in takes else {})
        self._check(config, takes)

    def _check(self, config: Any, takes: Any) -> None:
        if unknown := self._kinds - {_FULL, _SLIDING}:
            fault = f"has layers of the kinds {sorted(unknown)}: serve it with vLLM"
        elif missing := {self._cache, "position_ids", "attention_mask"} - set(takes):
            fault = f"takes no {', '.join(sorted(missing))}: serve it with vLLM"
        elif config._attn_implementation not in ("sdpa", "eager"):
            fault = f"attends by {config._attn_implementation!r}: load it with attn_implementation='sdpa'"
        else:
            return
        raise FatalError(
            f"Rows of different lengths are decoded at once, which {self.name} cannot do: it {fault}."
        )

    def logits(self, kv: KVCache, first: int, ids: np.ndarray, positions: np.ndarray) -> torch.Tensor:
        """Return what the model expects after each row's last token.

        Args:
            kv: Keys and values of the tokens before, to which those of these tokens are added.
            first: First row in it.
            ids: New tokens, (rows, tokens), each row's last one at the end; anything where there are fewer.
            positions: Their positions; -1 where there is no token.

        Returns:
            (rows, vocabulary), float32.
        """
        if self.model.training:  # a trainer's model: no dropout here
            self.model.eval()
        device, length = self.model.device, int(positions[:, -1].max()) + 1
        places = torch.from_numpy(positions).to(device)
        kv.aim(first, places, length)
        places = places.clamp(min=0)
        answer = self.model(
            input_ids=torch.from_numpy(ids).to(device),
            attention_mask=self._masks(places, length),
            position_ids=places,
            **{self._cache: kv},
            **self._arguments,
        )
        logits: torch.Tensor = answer.logits[:, -1].float()
        return logits

    def _masks(self, positions: torch.Tensor, length: int) -> Any:
        """Return what is added to the scores of attention: one mask, or one a kind where layers differ."""
        columns = torch.arange(length, device=positions.device)
        rows = positions[:, None, :, None]
        masks = {}
        for kind in self._kinds:
            hidden = columns > rows
            if kind == _SLIDING:
                hidden |= columns <= rows - self._reach
            mask = torch.zeros(hidden.shape, dtype=self.model.dtype, device=positions.device)
            masks[kind] = mask.masked_fill_(hidden, torch.finfo(mask.dtype).min)
        return masks if len(masks) > 1 else masks.popitem()[1]


def _kinds(config: Any) -> set[str]:
    kinds = getattr(config, "layer_types", None)
    if kinds is not None:
        return set(kinds)
    if getattr(config, "sliding_window", None) is not None:
        return {_SLIDING}
    return {"chunked_attention" if getattr(config, "attention_chunk_size", None) else _FULL}
