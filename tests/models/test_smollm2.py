"""A real model in both seats, in this process: SmolLM2-135M-Instruct, on the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.models.playing import check, model, played, told
from tests.models.smollm2 import MISSING, gguf

pytestmark = pytest.mark.slow
pytest.importorskip("transformers", reason=MISSING)


@pytest.fixture(scope="module")
def engine() -> Iterator[Any]:
    from simulators.engines.transformers import TransformersEngine

    file = gguf()
    if file is None:
        pytest.skip(MISSING)
    it = TransformersEngine.load(file)
    yield it
    it.close()


def test_it_plays_ten_episodes_as_agent_against_the_scripted_customer(engine: Any, tmp_path: Path) -> None:
    summary, records = played(tmp_path / "run", model(engine), "scripted", 10, "agent")
    check(records, "agent")
    assert summary.drift == 0
    assert summary.overall.scored == 10
    print(told(records))


def test_it_plays_five_episodes_as_customer_against_the_oracle(engine: Any, tmp_path: Path) -> None:
    summary, records = played(tmp_path / "run", "oracle", model(engine), 5, "user")
    check(records, "user")
    assert summary.drift == 0
    print(told(records))
