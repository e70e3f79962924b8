"""What samples, without vLLM: how servers get weights and share the work, and what memory vLLM gets."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'gym-enterprise[train]'")
pytest.importorskip("transformers", reason="needs transformers: pip install 'gym-enterprise[train]'")

import torch

from gym_enterprise.errors import UsageError
from simulators import Completion, TokenRequest
from tests.engines.server import Reply, serving
from tests.engines.tiny_model import tiny_model
from train.actors import Turns, _beside, _on_cpu, _reload

DONE = Reply({"results": [None]})


def test_a_server_reads_the_weights_and_then_forgets_what_it_computed_with_the_old_ones() -> None:
    with serving([DONE, Reply({"success": True})]) as server:
        _reload(f"{server.url}/", "/weights")
    assert [asked.path for asked in server.asked] == [
        "/collective_rpc",
        "/reset_prefix_cache?reset_running_requests=true",
    ]
    assert server.asked[0].body == {"method": "reload_weights", "kwargs": {"weights_path": "/weights"}}


@pytest.mark.parametrize(
    ("replies", "message"),
    [
        ([Reply({"detail": "Not Found"}, 404)], r"answered 404: .*Not Found.*VLLM_SERVER_DEV_MODE=1"),
        ([DONE, Reply({"success": False})], "kept keys and values of the old weights"),
        ([DONE, Reply(b"")], "is a vLLM server running there"),
        ([Reply(drop=True)], "is a vLLM server running there"),
    ],
)
def test_a_server_that_did_not_take_the_weights_is_an_error_that_says_why(
    replies: list[Reply], message: str
) -> None:
    with serving(replies) as server, pytest.raises(UsageError, match=message):
        _reload(server.url, "/weights")


class Named:
    """An engine that says who it is."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def complete(self, request: Any) -> Completion:
        await asyncio.sleep(0)
        return Completion(self.name)


def test_tasks_get_servers_in_turn_and_each_stays_with_its_own() -> None:
    engines: list[Any] = [Named("a"), Named("b")]
    shared = Turns(engines)

    async def converse() -> str:
        return "".join([(await shared.complete(TokenRequest((1,)))).text for _ in range(3)])

    async def together() -> list[str]:
        return await asyncio.gather(*(converse() for _ in range(4)))

    assert asyncio.run(together()) == ["aaa", "bbb", "aaa", "bbb"]


def test_vllm_gets_nine_tenths_of_what_model_and_optimiser_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    model = torch.nn.Linear(1000, 250, bias=False)  # a megabyte in float32, so its moments are two
    model.device = torch.device("cuda")
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (8_000_000, 12_000_000))
    assert _beside(model)["gpu_memory_utilization"] == pytest.approx(0.9 * (8 - 2) / 12)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (1_900_000, 12_000_000))
    with pytest.raises(UsageError, match=r"leaves vLLM none: train adapters"):
        _beside(model)
    model.requires_grad_(False)
    assert _beside(model)["gpu_memory_utilization"] == pytest.approx(0.9 * 1.9 / 12)


def test_vllm_on_a_cpu_refuses_a_model_whose_head_it_would_not_renew() -> None:
    with pytest.raises(UsageError, match="goes on with the old head of a model"):
        _on_cpu(tiny_model(tie_word_embeddings=True), 512)
    assert _on_cpu(tiny_model(), 512)["max_num_batched_tokens"] >= 512
