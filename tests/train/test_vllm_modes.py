"""The modes of the trainer in which vLLM samples, on the CPU: new weights arrive, and old ones are noticed.

The reward is a matter of chance, so that every round has something to learn; the learning rate is such that
one round moves the log-probability of a token by 0.1 and more.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'gym-enterprise[train]'")
pytest.importorskip("transformers", reason="needs transformers: pip install 'gym-enterprise[train]'")

import torch
from transformers import LlamaForCausalLM

from tests.models.vllm_server import serving
from train import actors, journal
from train.config import GrpoConfig, read
from train.grpo import Stale, train
from train.scratch import make_model, make_tokenizer

pytestmark = [pytest.mark.vllm, pytest.mark.filterwarnings("default")]
if importlib.util.find_spec("vllm") is None:
    pytest.skip("needs vLLM: see `make test-vllm`", allow_module_level=True)

_WINDOW = 512
_ROUNDING = 1e-4
"""Of float32, in which both sides compute here."""


def save_policy(folder: Path) -> None:
    """Save a model whose words are no uniform noise, and that asks servers to sample otherwise than we do."""
    tokenizer = make_tokenizer(["Serve.", "My parcel came."] * 3)
    settings = make_model(tokenizer, layers=2, window=_WINDOW).config
    settings.tie_word_embeddings = False  # on a CPU, vLLM 0.32 keeps the old head of a tied model
    torch.manual_seed(0)
    model = LlamaForCausalLM(settings)
    with torch.no_grad():
        for one in model.parameters():
            one.mul_(4 if one.ndim > 1 else 1)
    model.generation_config.update(do_sample=True, top_k=5, top_p=0.9)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The configuration file; its `out` is to be overridden."""
    folder = tmp_path_factory.mktemp("vllm")
    save_policy(folder / "policy")
    (folder / "prompt.md").write_text("Serve. " * 80)  # more than a block of the prefix cache
    (folder / "run.toml").write_text(
        f"""
        out = "-"
        domain = "tests.train.tiny_policy:fickle"
        steps = 3
        optim.lr = 3e-3
        model.path = "{folder / "policy"}"
        evaluate.every = 0
        [rollout]
        user = "tests.train.tiny_policy:Fickle"
        format = "json"
        prompt = "{folder / "prompt.md"}"
        max_tokens = 12
        max_steps = 6
        max_segment_tokens = {_WINDOW}
        tasks_per_step = 4
        group_size = 4
        """
    )
    return folder / "run.toml"


@pytest.fixture(scope="module")
def urls(config: Path) -> Iterator[str]:
    """A server of the policy, as the value of `rollout.urls`."""
    arguments = ("--dtype", "float32", "--max-model-len", str(_WINDOW), "--max-num-batched-tokens", "4096")
    settings = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_SERVER_DEV_MODE": "1"}
    with serving(config.parent / "policy", config.parent / "server.log", arguments, settings) as address:
        yield f'["{address}"]'


def go(config: Path, out: Path, *overrides: str) -> list[dict[str, Any]]:
    train(read(GrpoConfig, config, f"out={out}", *overrides))
    return journal.read(out)


def check(lines: list[dict[str, Any]]) -> None:
    assert [line["step"] for line in lines] == [0, 1, 2]
    for line in lines:
        assert line["updates"] == 2
        assert line["invalid"] == 0
        assert line["logp_error"] < _ROUNDING


def test_vllm_in_this_process_samples_with_the_newest_weights(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    check(go(config, tmp_path / "run", "rollout.mode=vllm"))


def test_servers_sample_with_the_newest_weights(config: Path, tmp_path: Path, urls: str) -> None:
    check(go(config, tmp_path / "run", "rollout.mode=servers", f"rollout.urls={urls}"))


def test_servers_get_what_adapters_add(config: Path, tmp_path: Path, urls: str) -> None:
    pytest.importorskip("peft", reason="peft is not installed")
    check(go(config, tmp_path / "run", "rollout.mode=servers", f"rollout.urls={urls}", "model.lora.rank=4"))


def lost(config: Path, out: Path, urls: str) -> None:
    """Run until the canary stops it, after the first sync."""
    with pytest.raises(Stale, match="the weights did not reach the engine"):
        go(config, out, "rollout.mode=servers", f"rollout.urls={urls}")
    first, second = journal.read(out)
    assert first["logp_error"] < _ROUNDING
    assert second["logp_error"] > 0.1


def test_a_server_that_did_not_get_the_weights_stops_the_run(
    config: Path, tmp_path: Path, urls: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reload, told = actors._reload, []

    def once(*arguments: Any) -> None:
        told.append(arguments)
        if len(told) == 1:  # at the start; later ones are lost
            reload(*arguments)

    monkeypatch.setattr(actors, "_reload", once)
    lost(config, tmp_path / "run", urls)


def test_a_server_that_kept_keys_and_values_of_the_old_weights_stops_the_run(
    config: Path, tmp_path: Path, urls: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    post = actors._post

    def post_but_no_reset(url: str, body: Any) -> dict[str, Any]:
        return {"success": True} if "reset_prefix_cache" in url else post(url, body)

    monkeypatch.setattr(actors, "_post", post_but_no_reset)
    lost(config, tmp_path / "run", urls)
