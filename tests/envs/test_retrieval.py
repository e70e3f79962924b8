"""How searches rank, chosen by name where an environment or a domain is made; part of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from typer.testing import CliRunner

from gym_enterprise import Domain, RunChanged, UsageError, banking_v0, load_domain, register_domain
from gym_enterprise.cli.app import make_app
from gym_enterprise.envs import aec
from kb import BM25Retriever, DenseRetriever, HybridRetriever, retrievals
from tests.kb.vectors import Listed
from tests.shop import make_domain

SEARCH = {"type": "tool_call", "name": "kb_search", "arguments": {"query": "money back", "k": 1}}


def make_library(retrieval: str = "bm25") -> Domain:
    shop = make_domain()
    tasks = [task.model_copy(update={"domain": "reading_room"}) for task in shop.tasks["train"].values()]
    tools = {tool.name: tool for seat in ("agent", "user") for tool in shop.toolset(seat)}
    own = [tool for name, tool in tools.items() if not name.startswith("kb_")]
    splits = {"train": tasks}
    return Domain(
        "reading_room", shop.image, own, "Be kind.", splits, documents=shop.documents, retriever=retrieval
    )


register_domain("reading_room", f"{__name__}:make_library")


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch) -> Listed:
    """In place of a model: "money back", which no document has, means refunds."""
    vectors = {document.content.split("\n")[-1]: [0.0, 1.0] for document in make_domain().documents}
    vectors["Cancelled orders are refunded."] = vectors["money back"] = [1.0, 0.0]
    listed = Listed(vectors)
    monkeypatch.setattr(retrievals, "DenseRetriever", lambda found, cache: DenseRetriever(found, listed))
    return listed


def first_hit(env: Any) -> list[str]:
    env.reset(seed=0)
    turn = [{"type": "message", "content": "Hello"}] * (getattr(env, "agent_selection", "") == "user_0")
    for action in [*turn, SEARCH]:
        env.step(dict(action))
    result = env.unwrapped.episode.observe("agent")["messages"][-1].result
    return [hit["document_id"] for hit in result["result"]]


@pytest.mark.usefixtures("encoder")
@pytest.mark.parametrize(
    ("name", "kind", "hits"),
    [
        ("bm25", BM25Retriever, []),
        ("dense", DenseRetriever, ["refunds"]),
        ("hybrid", HybridRetriever, ["refunds"]),
    ],
)
def test_environments_take_a_retrieval_by_name(name: str, kind: type, hits: list[str]) -> None:
    gymnasium.register(
        "ReadingRoom-v0", "gym_enterprise.envs.single:SingleAgentEnv", kwargs={"domain": "reading_room"}
    )
    try:
        env = gymnasium.make("ReadingRoom-v0", retrieval=name)
        assert first_hit(env) == hits
        assert isinstance(env.unwrapped.domain.retriever, kind)
        assert first_hit(aec.env("reading_room", retrieval=name)) == hits
    finally:
        del gymnasium.registry["ReadingRoom-v0"]
        from gym_enterprise import registry

        for key in [key for key in registry._loaded if key[0] == "reading_room"]:
            del registry._loaded[key]


def test_the_default_is_bm25_and_naming_it_gives_the_same_domain() -> None:
    bank = load_domain("banking")
    assert load_domain("banking", retrieval="bm25") is bank
    assert banking_v0.raw_env(retrieval="bm25").domain is bank
    assert bank.retrieval == "bm25 (positive, 1.5, 0.75, title+content)"


def test_an_unknown_name_is_refused_when_the_domain_is_made() -> None:
    with pytest.raises(
        UsageError, match=r"'reading_room': retrieval is 'colbert'; choose one of bm25, dense, hybrid"
    ):
        load_domain("reading_room", retrieval="colbert")


def test_what_is_missing_is_told_when_the_domain_is_made_not_to_a_player(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from kb import encoder as encoders

    encoders.default_encoder.cache_clear()
    monkeypatch.setattr(encoders.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'gym-enterprise\[retrieval\]'"):
        make_library("dense")


def run_eval(out: Path, *more: str) -> Any:
    command = ["eval", "reading_room", "--agent", "oracle", "--split", "train", "--out", str(out), *more]
    result = CliRunner().invoke(make_app(), command)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.mark.parametrize("retrieval", [None, 3, ["dense"]], ids=str)
def test_what_can_not_rank_is_refused_when_the_domain_is_made(retrieval: Any) -> None:
    with pytest.raises(UsageError, match=r"retriever is .*; give one of bm25, dense, hybrid, or an object"):
        make_library(retrieval)


@pytest.mark.usefixtures("encoder")
def test_a_run_cannot_be_resumed_with_another_retrieval(tmp_path: Path) -> None:
    from gym_enterprise import registry

    out = tmp_path / "run"
    assert run_eval(out, "--retrieval", "hybrid").exit_code == 0
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["configuration"]["retrieval"] == "hybrid"
    assert manifest["content"]["retrieval"].startswith("hybrid (60, 100): bm25")
    assert run_eval(out, "--retrieval", "hybrid", "--resume").exit_code == 0
    with pytest.raises(RunChanged, match=r"content.retrieval: \"hybrid .* -> \"bm25 "):
        run_eval(out, "--resume")
    del manifest["content"]["retrieval"]  # as older versions wrote it
    (out / "manifest.json").write_text(json.dumps(manifest))
    assert run_eval(out, "--retrieval", "hybrid", "--resume").exit_code == 0
    for key in [key for key in registry._loaded if key[0] == "reading_room"]:
        del registry._loaded[key]


def test_kb_eval_counts_what_the_openings_and_the_searches_find() -> None:
    """The bank's references search before they read, so that all is found; openings are vague."""
    result = CliRunner().invoke(make_app(), ["kb", "eval", "banking", "--split", "test", "--json"])
    found = json.loads(result.output)
    assert found["retrieval"] == load_domain("banking").retrieval
    for kind in ("opening", "oracle"):
        recall = [found[kind][f"recall@{k}"] for k in (1, 3, 5, 10)]
        assert recall == sorted(recall)
        assert 0 <= recall[0] <= found[kind]["mrr"] <= 1
    assert found["oracle"]["recall@10"] > found["opening"]["recall@10"]
    text = CliRunner().invoke(make_app(), ["kb", "eval", "banking", "--split", "test"]).output
    assert f"mrr {found['opening']['mrr']:.3f}" in text
