"""A policy that two processes hold together is the same policy."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
from tests.engines.tiny_model import tiny_model, tiny_tokenizer  # noqa: E402
from tests.train import sharded  # noqa: E402
from train.model import save_policy  # noqa: E402

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("adapters", "tied", "apart"), [(False, True, False), (False, False, True), (True, True, False)]
)
def test_it_scores_learns_and_is_saved_as_if_it_were_whole(
    adapters: bool, tied: bool, apart: bool, tmp_path: Path
) -> None:
    if adapters:
        pytest.importorskip("peft")
    save_policy(tiny_model(tie_word_embeddings=tied), tiny_tokenizer(), tmp_path / "start")
    torch.multiprocessing.spawn(sharded.run, (tmp_path / "start", adapters, apart), nprocs=2)
