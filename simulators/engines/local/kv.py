"""`KVCache`: keys and values of the rows of a batch, side by side in buffers that stay.

A row's token at position p has its place in column p, whatever its neighbours' lengths: nothing is shifted or
concatenated as rows grow, come and go, and attention reads the buffers where they lie.
"""

from __future__ import annotations

from typing import Any

import torch
from transformers.cache_utils import Cache, DynamicLayer

KV = list[tuple[torch.Tensor, torch.Tensor]]
"""Keys and values of one sequence, a pair a layer: (heads, tokens, size of a head)."""


class _Aim:
    """Where the layers write and read during one pass; the size that their buffers should have."""

    rows: torch.Tensor  # (rows, 1)
    columns: torch.Tensor  # (rows, tokens)
    first, last, length, before = 0, 0, 0, 0
    height, width = 0, 0


class _Layer(DynamicLayer):
    keys: torch.Tensor  # (rows, heads, columns, size of a head)
    values: torch.Tensor
    is_initialized: bool

    def __init__(self, aim: _Aim) -> None:
        super().__init__()
        self._aim = aim

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        aim = self._aim
        self.fit(key_states, value_states)
        self.keys[aim.rows, :, aim.columns] = key_states.transpose(1, 2)
        self.values[aim.rows, :, aim.columns] = value_states.transpose(1, 2)
        rows, columns = slice(aim.first, aim.last), slice(aim.length)
        return self.keys[rows, :, columns], self.values[rows, :, columns]

    def get_seq_length(self) -> int:
        return self._aim.before

    def fit(self, keys: torch.Tensor, values: torch.Tensor) -> None:
        """Make the buffers as large as they should be; the arguments show heads and their size."""
        if not self.is_initialized:
            self.keys, self.values = keys.new_zeros(0), values.new_zeros(0)
            self.is_initialized = True
        if self.keys.shape[:1] + self.keys.shape[2:3] != (self._aim.height, self._aim.width):
            self.keys = self._grown(self.keys, keys)
            self.values = self._grown(self.values, values)

    def _grown(self, old: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
        shape = self._aim.height, like.shape[-3], self._aim.width, like.shape[-1]
        new = like.new_zeros(shape)  # zeros: what is masked still meets the arithmetic, and NaN would spread
        if old.numel():
            new[: old.shape[0], :, : old.shape[2]] = old
        return new


class KVCache(Cache):
    """Keys and values of a batch, as models of `transformers` fill and read them.

    Args:
        layers: Number of layers of the model.
        max_rows: Most rows that there will be.
    """

    def __init__(self, layers: int, max_rows: int) -> None:
        self._aim, self._max_rows = _Aim(), max_rows
        self._mine = [_Layer(self._aim) for _ in range(layers)]
        super().__init__(layers=[*self._mine])

    def reserve(self, rows: int, length: int) -> None:
        """Make room for rows of a length in tokens, with some to spare; it never shrinks."""
        aim = self._aim
        if rows > aim.height:
            aim.height = min(rows + rows // 2, self._max_rows)
        if length >= aim.width:
            aim.width = length + length // 4 + 64  # the last column takes what belongs nowhere

    def aim(self, first: int, positions: torch.Tensor, length: int) -> None:
        """Say what the next pass is about.

        Args:
            first: Its first row.
            positions: Positions of its tokens, (rows, tokens), each row's last one at the end; -1 where there
                is none.
            length: Of the longest row, in tokens, with those of the pass.
        """
        aim = self._aim
        aim.first, aim.last = first, first + positions.shape[0]
        aim.length, aim.before = length, length - positions.shape[1]
        aim.rows = torch.arange(aim.first, aim.last, device=positions.device)[:, None]
        aim.columns = torch.where(positions < 0, aim.width - 1, positions)

    def load(self, row: int, kv: KV, length: int) -> None:
        """Begin a row with the first tokens of a sequence."""
        for layer, (keys, values) in zip(self._mine, kv, strict=True):
            layer.fit(keys, values)
            layer.keys[row, :, :length] = keys[:, :length]
            layer.values[row, :, :length] = values[:, :length]

    def save(self, row: int, length: int) -> KV:
        """Return a copy of the first tokens of a row."""
        return [
            (layer.keys[row, :, :length].clone(), layer.values[row, :, :length].clone())
            for layer in self._mine
        ]

    def move(self, source: int, target: int, length: int) -> None:
        """Put the first tokens of one row into another one's place."""
        for layer in self._mine:
            layer.keys[target, :, :length] = layer.keys[source, :, :length]
            layer.values[target, :, :length] = layer.values[source, :, :length]

    def wipe(self, row: int) -> None:
        """Set a row to zeros, so that what is not finite in it reaches no other row."""
        for layer in self._mine:
            layer.keys[row].zero_()
            layer.values[row].zero_()
