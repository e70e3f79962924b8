"""What `checkup` finds in chat templates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers", reason="needs transformers: pip install 'gym-enterprise[hf]'")

from gym_enterprise.harness.checkup import Finding, checkup
from gym_enterprise.harness.checkup.templates import CONVERSATION, KEEP, difference, template_findings
from simulators.template import ChatTemplate
from tests.harness.checked import by_check
from tests.simulators.tiny_tokenizer import CHATML, FORGETS, TRIMMED, tokenizer

TURNS = [turn.what for turn in CONVERSATION]
OPENS = CHATML.replace("assistant\n' }}{% endif", "assistant\n<think>\n' }}{% endif")
"""Opens the model's reasoning itself, as QwQ and DeepSeek-R1 do."""
PICKY = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}" + CHATML
DEAF = "{% if messages[0]['role'] == 'system' %}{% set messages = messages[1:] %}{% endif %}" + CHATML
SHOUTS = CHATML.replace("message['content']", "message['content'] | replace('sent', 'SENT')")


def found(tokens: Any, **settings: Any) -> dict[str, Finding]:
    return by_check(template_findings("t", ChatTemplate(tokens, **settings)), "t")


@pytest.mark.parametrize("kind", [CHATML, TRIMMED], ids=["chatml", "trimmed"])
def test_a_template_that_keeps_what_was_said_extends_at_every_turn(kind: str) -> None:
    told = found(tokenizer(kind))
    assert list(told) == ["system message", "special tokens", "stop tokens", *TURNS]
    assert {one.status for one in told.values()} == {"ok"}
    assert told["stop tokens"].detail == "'<|endoftext|>' (256), '<|im_end|>' (258)"


def test_a_template_that_drops_reasoning_is_split_there_and_only_there() -> None:
    told = found(tokenizer(FORGETS))
    split = {name for name, one in told.items() if one.status != "ok"}
    assert split == {"reasoning before a call", "reasoning before text"}
    for name in split:
        assert told[name].status == "warning"
        assert told[name].detail == "a new segment begins: the template drops earlier reasoning"
        assert told[name].cure == KEEP
    assert {one.status for one in found(tokenizer(FORGETS), keep_history=True).values()} == {"ok"}


def test_a_template_that_opens_the_reasoning_itself_leaves_it_out_of_later_prompts() -> None:
    """The mark stands in the prompt and not in the turn, so a chat that is written again lacks it."""
    told = found(tokenizer(OPENS))
    assert told["reasoning before text"].status == "warning"
    assert "the template writes earlier turns otherwise: " in told["reasoning before text"].detail


def test_a_template_that_rewrites_a_word_is_shown_where() -> None:
    told = found(tokenizer(SHOUTS))
    assert told["text"].status == "ok"
    assert told["text after a tool result"].status == "warning"
    assert "has been sent" in told["text after a tool result"].detail
    assert "has been SENT" in told["text after a tool result"].detail


def test_a_template_that_refuses_or_drops_system_messages_fails_and_the_turns_are_still_checked() -> None:
    told = found(tokenizer(PICKY))
    assert told["system message"].status == "failed"
    assert "no system" in told["system message"].detail
    assert all(told[turn].status == "ok" for turn in TURNS)
    told = found(tokenizer(DEAF))
    assert (told["system message"].status, told["system message"].detail) == (
        "failed",
        "the template leaves it out",
    )
    assert all(told[turn].status == "ok" for turn in TURNS)


def test_a_template_that_cannot_write_a_conversation_fails() -> None:
    told = found(tokenizer("{% if messages | length > 4 %}{{ raise_exception('long') }}{% endif %}" + CHATML))
    assert told["conversation"].status == "failed"
    assert "long" in told["conversation"].detail


def test_a_tokenizer_that_changes_the_text_fails_and_one_that_changes_blanks_is_warned_of() -> None:
    from tokenizers import normalizers

    lower, tight = tokenizer(), tokenizer()
    lower.backend_tokenizer.normalizer = normalizers.Lowercase()
    tight.backend_tokenizer.normalizer = normalizers.Replace(" ", "")
    told = found(lower)["special tokens"]
    assert told.status == "failed"
    assert "you are the clerk" in told.detail
    assert "You are the clerk" in told.detail
    assert found(tight)["special tokens"].status == "warning"


def test_a_mark_that_is_no_token_of_the_tokenizer_is_told() -> None:
    told = found(tokenizer(CHATML.replace("<|im_end|>", "[end]")))["stop tokens"]
    assert told.status == "warning"
    assert told.detail == "'<|endoftext|>' (256), and the template closes a turn with none of them"


def test_a_tokenizer_without_a_token_that_ends_a_turn_is_one_failure(tmp_path: Path) -> None:
    endless = tokenizer(CHATML.replace("<|im_end|>", "[end]"))
    endless.eos_token = None
    endless.save_pretrained(tmp_path)
    told = by_check(checkup(domain="tests.shop:make_domain", template=str(tmp_path)), f"template {tmp_path}")
    assert [(name, one.status) for name, one in told.items()] == [("", "failed")]
    assert "has no token that ends a turn: set its eos_token" in told[""].detail


def test_a_template_on_disk_is_checked_by_its_path(tmp_path: Path) -> None:
    tokenizer().save_pretrained(tmp_path)
    told = by_check(checkup(domain="tests.shop:make_domain", template=str(tmp_path)), f"template {tmp_path}")
    assert set(TURNS) <= set(told)
    assert {one.status for one in told.values()} == {"ok"}


def test_a_folder_without_a_tokenizer_or_a_template_is_one_failure(tmp_path: Path) -> None:
    tokenizer(None).save_pretrained(tmp_path)
    for path, words in (
        (str(tmp_path), "has no chat template"),
        ("/nowhere/at-all", "There is no tokenizer"),
    ):
        told = by_check(checkup(domain="tests.shop:make_domain", template=path), f"template {path}")
        assert [(name, one.status) for name, one in told.items()] == [("", "failed")]
        assert words in told[""].detail
        assert told[""].cure


def test_the_first_difference_of_two_prompts_is_found() -> None:
    assert difference((1, 2, 3), (1, 2, 3)) is None
    assert difference((1, 2, 3), (1, 5, 3)) == 1
    assert difference((1, 2), (1, 2, 3)) == 2
    assert difference((), (1,)) == 0
