"""A vLLM server on the CPU: tokens and log-probabilities come back, and prompts extend without drift."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

from simulators import ChatRequest, ChatTemplate, OpenAIEngine, Sampling, TokenRequest
from tests.models.playing import check, model, played, told
from tests.models.smollm2 import MISSING, gguf, save
from tests.models.vllm_server import serving

pytestmark = pytest.mark.vllm
if importlib.util.find_spec("vllm") is None:
    pytest.skip("needs vLLM: see `make test-vllm`", allow_module_level=True)

_NAME = "smollm2"
_ARGUMENTS = (
    *("--served-model-name", _NAME, "--max-model-len", "8192", "--dtype", "bfloat16"),
    *("--max-num-batched-tokens", "8192"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = gguf()
    if file is None:
        pytest.skip(MISSING)
    out = tmp_path_factory.mktemp(_NAME)
    save(file, out)
    return out


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    with serving(folder, folder / "server.log", _ARGUMENTS, {"VLLM_CPU_KVCACHE_SPACE": "2"}) as address:
        yield address


def engine(url: str) -> OpenAIEngine:
    return OpenAIEngine(_NAME, url, token_ids=True, timeout=600, deadline=1200)


def test_the_template_writes_what_the_server_writes_and_tokens_come_back(url: str, folder: Path) -> None:
    template = ChatTemplate.load(folder)
    chat = [{"role": "user", "content": "Say hello."}]

    async def ask() -> None:
        async with engine(url) as it:
            greedy = Sampling(temperature=0.0, max_tokens=16)
            answer = await it.complete(ChatRequest(tuple(chat), sampling=greedy))
            assert answer.prompt_token_ids == template.prompt(chat)
            assert answer.token_ids is not None
            assert answer.logprobs is not None
            assert len(answer.token_ids) == len(answer.logprobs)
            again = await it.complete(TokenRequest(template.prompt(chat), greedy))
            assert (again.token_ids, again.finish_reason) == (answer.token_ids, answer.finish_reason)
            assert template.text(answer.token_ids).strip() == answer.text.strip()

    asyncio.run(ask())


def test_the_model_plays_ten_episodes_as_agent(url: str, folder: Path, tmp_path: Path) -> None:
    it = engine(url)
    player = model(it, ChatTemplate.load(folder))
    summary, records = played(tmp_path / "run", player, "scripted", 10, "agent", it)
    check(records, "agent")
    assert summary.drift == 0
    assert summary.overall.scored == 10
    print(told(records))


def test_the_model_plays_five_episodes_as_customer(url: str, folder: Path, tmp_path: Path) -> None:
    it = engine(url)
    player = model(it, ChatTemplate.load(folder))
    summary, records = played(tmp_path / "run", "oracle", player, 5, "user", it)
    check(records, "user")
    assert summary.drift == 0
    print(told(records))
