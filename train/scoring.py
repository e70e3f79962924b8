"""What the policy thinks of the tokens of rows, before anything is updated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from train import ranks
from train.batching import Batch, Row
from train.config import GrpoConfig
from train.logprobs import token_logprobs
from train.run import precision


def scores(config: GrpoConfig, model: Any, rows: Sequence[Row]) -> dict[int, Tensor]:
    """Return the log-probabilities of the tokens of rows, by `id` of the row; ranks share the work."""
    places = {id(row): place for place, row in enumerate(rows)}
    own: dict[int, Tensor] = {}
    with torch.no_grad(), precision(config.model, model):
        for batch in ranks.share(rows, config.optim.micro_batch_tokens):
            here = batch.to(model.device)
            logp = token_logprobs(model, here.ids, here.attention, here.mask, config.rollout.temperature)
            found = zip(batch.rows, logp if ranks.count() == 1 else logp.cpu(), strict=True)
            own |= {places[id(row)]: one[: len(row.ids)] for row, one in found if id(row) in places}
    return {id(rows[place]): one for part in ranks.gathered(own) for place, one in part.items()}


def padded(old: Mapping[int, Tensor], batch: Batch) -> Tensor:
    """Return log-probabilities of rows as [N, T], on the device of the batch."""
    whole = torch.zeros_like(batch.rollout_logp)
    for place, row in enumerate(batch.rows):
        if row is not ranks.NOTHING:
            whole[place, : len(row.ids)] = old[id(row)]
    return whole
