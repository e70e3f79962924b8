"""What `checkup` finds at model servers: those that work, and each way in which they do not."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gym_enterprise.harness.checkup import Finding, checkup
from tests.engines.server import Asked, Reply, chat, choice, serving
from tests.harness.checked import FORBIDDEN, LISTED, NOT_FOUND, by_check, healthy

SHOP = "tests.shop:make_domain"


def found(url: str, template: str | None = None, timeout: float = 30.0) -> dict[str, Finding]:
    player = f"openai:m@{url}"
    return by_check(checkup([player], domain=SHOP, template=template, timeout=timeout), player)


def served(reply: Callable[[Asked], Reply], **settings: Any) -> dict[str, Finding]:
    with serving(lambda number, asked: reply(asked)) as server:
        return found(server.url, **settings)


def test_a_server_without_faults_passes_every_check() -> None:
    told = served(healthy)
    assert {name: one.status for name, one in told.items()} == dict.fromkeys(
        ["answers", "listed", "tools", "tokens"], "ok"
    )
    assert told["answers"].detail.endswith(" s, 10 tokens read, 3 written: 'Good morning to you!'")
    assert told["listed"].detail == "a window of 4096 tokens"
    assert told["tools"].detail == """the model called tell_time with {"city": "Oslo"}"""


@pytest.fixture
def dead() -> str:
    """Where nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1"


def test_a_dead_server_is_one_failure_at_once(dead: str) -> None:
    told = found(dead)
    assert list(told) == ["answers"]
    assert told["answers"].status == "failed"
    assert "broke off" in told["answers"].detail
    assert told["answers"].cure == f"start the server, or correct the URL {dead}, which usually ends in /v1"


def test_a_server_that_does_not_answer_in_time_is_one_failure() -> None:
    told = served(lambda asked: Reply(stall=True), timeout=0.2)
    assert list(told) == ["answers"]
    assert "was not answered within" in told["answers"].detail
    assert "--timeout" in told["answers"].cure


def test_a_missing_key_and_a_wrong_one_are_told_apart_and_never_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    told = served(lambda asked: FORBIDDEN)
    assert list(told) == ["answers"]
    assert told["answers"].cure == "OPENAI_API_KEY is not set: set it to a key of this server"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-1234")
    told = served(lambda asked: FORBIDDEN)
    assert told["answers"].cure == "OPENAI_API_KEY does not open it: correct it to a key of this server"
    assert "Invalid API key ***" in told["answers"].detail
    assert "sk-secret-1234" not in str(told)


def test_a_wrong_name_of_a_model_is_one_failure_that_names_those_that_there_are() -> None:
    told = served(lambda asked: Reply(LISTED) if asked.path.endswith("/models") else NOT_FOUND)
    assert list(told) == ["answers"]
    assert told["answers"].detail.endswith("answered 404: The model `m` does not exist.")
    assert told["answers"].cure == "correct the name of the model; the server lists: m, other"


def test_a_wrong_path_is_one_failure_that_names_the_url() -> None:
    told = served(lambda asked: Reply({"detail": "Not Found"}, status=404))
    assert list(told) == ["answers"]
    assert "which usually ends in /v1" in told["answers"].cure


@pytest.mark.parametrize(("status", "words"), [(500, "the server's log"), (400, "change the argument")])
def test_a_server_that_fails_or_refuses_is_one_failure(status: int, words: str) -> None:
    told = served(lambda asked: Reply({"error": {"message": "No."}}, status=status))
    assert list(told) == ["answers"]
    assert told["answers"].detail.endswith(f"answered {status}: No.")
    assert words in told["answers"].cure


def test_a_page_of_another_service_is_one_failure() -> None:
    told = served(lambda asked: Reply(b"<html>Welcome</html>"))
    assert list(told) == ["answers"]
    assert "answered what is no completion" in told["answers"].detail
    assert "the server's log" in told["answers"].cure


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply({"data": [{"id": "b"}, {"id": "a"}]}), "it lists: a, b"),
        (Reply({"data": []}), "it lists: none"),
        (Reply(status=404), "answered 404 and no list of models"),
        (Reply(b"<html>"), "failed: JSONDecodeError"),
    ],
)
def test_a_model_that_is_not_listed_but_answers_is_a_warning(reply: Reply, words: str) -> None:
    told = served(lambda asked: reply if asked.path.endswith("/models") else healthy(asked))
    assert {name: one.status for name, one in told.items() if one.status != "ok"} == {"listed": "warning"}
    assert words in told["listed"].detail


def test_a_server_that_refuses_tools_fails_and_a_model_that_does_not_call_is_a_warning() -> None:
    def refuses(asked: Asked) -> Reply:
        return (
            Reply({"message": '"auto" needs a parser'}, status=400)
            if "tools" in asked.body
            else healthy(asked)
        )

    def talks(asked: Asked) -> Reply:
        return Reply(chat(choice("It is noon."))) if "tools" in asked.body else healthy(asked)

    told = served(refuses)
    assert (told["tools"].status, told["tokens"].status) == ("failed", "ok")
    assert "--tool-call-parser" in told["tools"].cure
    told = served(talks)
    assert told["tools"].status == "warning"
    assert told["tools"].detail == "the model did not call the tool: it wrote 'It is noon.'"


def test_a_server_that_hangs_with_tools_is_cured_by_time_and_the_rest_is_checked() -> None:
    told = served(lambda asked: Reply(stall=True) if "tools" in asked.body else healthy(asked), timeout=0.5)
    assert (told["tools"].status, told["tokens"].status) == ("failed", "ok")
    assert "--timeout" in told["tools"].cure


def test_a_server_that_tells_no_tokens_is_a_warning() -> None:
    def plain(asked: Asked) -> Reply:
        asked.body.pop("return_token_ids", None)
        return healthy(asked)

    def strict(asked: Asked) -> Reply:
        unknown = "return_token_ids" in asked.body
        return Reply({"message": "Unknown argument."}, status=400) if unknown else healthy(asked)

    told = served(plain)["tokens"]
    assert told.status == "warning"
    assert told.detail == (
        "the server does not tell: sampled tokens, log-probabilities, tokens of the prompt"
    )
    assert "vLLM 0.10.2" in told.cure
    told = served(strict)["tokens"]
    assert told.status == "warning"
    assert told.detail.endswith("answered 400: Unknown argument.")


# -- with the model's template -----------------------------------------------------------------------------


@pytest.fixture
def tiny(tmp_path: Path) -> str:
    """A folder with a tokenizer that writes ChatML."""
    pytest.importorskip("transformers", reason="needs transformers: pip install 'gym-enterprise[hf]'")
    from tests.simulators.tiny_tokenizer import tokenizer

    tokenizer().save_pretrained(tmp_path)
    return str(tmp_path)


def writer(path: str, kind: str | None = None) -> Callable[[Any], list[int]]:
    from simulators.template import ChatTemplate
    from tests.simulators.tiny_tokenizer import CHATML, tokenizer

    template = ChatTemplate(tokenizer(kind or CHATML))
    return lambda messages: list(template.prompt(messages))


def test_a_server_that_writes_as_the_template_does_and_continues_tokens_passes(tiny: str) -> None:
    write = writer(tiny)
    told = served(lambda asked: healthy(asked, write), template=tiny)
    assert {one.status for one in told.values()} == {"ok"}
    assert told["prompt"].detail.endswith(" tokens of a chat are the template's")
    assert told["continues"].status == "ok"


def test_a_server_that_writes_otherwise_fails_at_the_first_token_that_differs(tiny: str) -> None:
    from tests.simulators.tiny_tokenizer import CHATML

    write = writer(tiny, CHATML.replace("<|im_end|>\n", "<|im_end|>"))
    told = served(lambda asked: healthy(asked, write), template=tiny)["prompt"]
    assert told.status == "failed"
    # A byte a token: <|im_start|>, "system\n", "You are the clerk of a small shop.", <|im_end|>; then "\n".
    assert "token 43 is the first to differ" in told.detail
    assert r"'<|im_start|>use') there" in told.detail
    assert r"'\n<|im_start|>us') here" in told.detail


def test_with_a_template_a_server_without_tokens_fails(tiny: str) -> None:
    def plain(asked: Asked) -> Reply:
        asked.body.pop("return_token_ids", None)
        return NOT_FOUND if asked.path == "/v1/completions" else healthy(asked)

    told = served(plain, template=tiny)
    assert (told["tokens"].status, told["continues"].status) == ("failed", "failed")
    assert "prompt" not in told
    assert told["answers"].status == "ok"


@pytest.mark.parametrize(
    ("text", "ids", "words"),
    [
        ("Good morning!", [258, 257, 4], "the text is 'Good morning!', and its tokens say "),
        ("%", [4, 10**9], "the server samples token 1000000000, and the template has 2"),
        ("", [4, 5], "the text is '', and its tokens say '%&'"),
        (" %", [258, 4, 257], ""),  # special tokens left out, and blanks
    ],
)
def test_a_text_that_is_not_that_of_its_tokens_is_warned_of(
    tiny: str, text: str, ids: list[int], words: str
) -> None:
    write = writer(tiny)
    logprobs = {"tokens": [f"token_id:{one}" for one in ids], "token_logprobs": [-0.5] * len(ids)}
    said = {"index": 0, "text": text, "finish_reason": "stop", "token_ids": ids, "logprobs": logprobs}

    def disagrees(asked: Asked) -> Reply:
        return Reply({"choices": [said]}) if asked.path == "/v1/completions" else healthy(asked, write)

    told = served(disagrees, template=tiny)["continues"]
    assert told.status == ("warning" if words else "ok")
    assert words in told.detail


def test_log_probabilities_above_0_are_a_failure_with_and_without_a_template(tiny: str) -> None:
    def lies(asked: Asked) -> Reply:
        reply = healthy(asked)
        text = json.dumps(reply.body).replace("-0.5", "5.0")
        return Reply(json.loads(text))

    for template in (None, tiny):
        told = served(lies, template=template)
        assert told["answers"].status == "ok"
        assert told["tokens"].status == "failed"
        assert "a logprob is 5.0: " in told["tokens"].detail


def test_a_window_without_room_for_the_first_prompt_is_warned_of_and_one_below_1_is_unknown() -> None:
    def sized(window: int) -> Callable[[Asked], Reply]:
        models = {"data": [{"id": "m", "max_model_len": window}]}
        return lambda asked: Reply(models) if asked.path.endswith("/models") else healthy(asked)

    told = served(sized(10))["listed"]
    assert told.status == "warning"
    assert told.detail.startswith(
        "a window of 10 tokens, and the first prompt of the agent in task cancel has "
    )
    assert told.detail.endswith(" tokens by an estimate of 4 characters a token")
    assert "--max-model-len" in told.cure
    told = served(sized(-5))["listed"]
    assert (told.status, told.detail) == ("ok", "a window of unknown size")


def test_every_player_is_checked_whatever_the_others_are(dead: str) -> None:
    with serving(lambda number, asked: healthy(asked)) as server:
        players = [f"openai:m@{dead}", "nosuch", f"openai:m@{server.url}", "oracle"]
        findings = list(checkup(players, domain=SHOP, template="/nowhere/at-all"))
    failures = [one for one in findings if one.status == "failed"]
    assert [one.check for one in failures] == [
        "template /nowhere/at-all",
        f"openai:m@{dead}: answers",
        "nosuch",
    ]
    assert all(one.cure for one in failures)
    told = by_check(findings)
    assert told[f"openai:m@{server.url}: answers"].status == told["oracle"].status == "ok"
