"""Templates by `renderers`: used for the models that it knows, with the same promises."""

from __future__ import annotations

import sys
from typing import Any

import pytest

pytest.importorskip("transformers", reason="needs transformers: pip install 'gym-enterprise[hf]'")
pytest.importorskip("renderers", reason="needs renderers: pip install renderers")

from simulators.renderer import RendererTemplate, template_for
from simulators.template import ChatTemplate
from tests.simulators.tiny_tokenizer import tokenizer

MARKS = ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>")
CHAT = [{"role": "system", "content": "S"}, {"role": "user", "content": "Hi"}]


def qwen() -> Any:
    return tokenizer(name="Qwen/Qwen3-0.6B", marks=MARKS)


def went_on(it: RendererTemplate, said: str, answer: str, **settings: Any) -> tuple[str, str] | None:
    """The prompt and what it becomes when the model says something and is answered; both as text."""
    prompt = it.prompt(CHAT)
    own = tuple(it.tokenizer.encode(said, add_special_tokens=False))
    chat = [*CHAT, {"role": "assistant", "content": it.text(own)}, {"role": "user", "content": answer}]
    longer = it.extended(prompt, own, chat, 2)
    return None if longer is None else (it.tokenizer.decode(prompt), it.tokenizer.decode(longer))


def template(**settings: Any) -> RendererTemplate:
    found = template_for(qwen(), **settings)
    assert isinstance(found, RendererTemplate)
    return found


def test_models_that_renderers_knows_are_written_by_it_and_others_by_their_template() -> None:
    assert repr(template()) == "RendererTemplate('Qwen/Qwen3-0.6B')"
    assert isinstance(template_for(tokenizer()), ChatTemplate)


def test_without_renderers_the_models_own_template_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "renderers", None)
    assert isinstance(template_for(qwen()), ChatTemplate)


def test_a_chat_is_written_as_qwen_writes_it() -> None:
    it = template()
    assert it.tokenizer.decode(it.prompt(CHAT)) == (
        "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    )
    assert it.text(it.tokenizer.encode("Hello.<|im_end|>")) == "Hello."


def test_the_answer_to_a_call_extends_the_tokens_as_they_were() -> None:
    said = "<think>\nHm.\n</think>\n\n<tool_call>\n{}\n</tool_call><|im_end|>"
    found = went_on(template(), said, "<tool_response>\n1\n</tool_response>")
    assert found is not None
    assert found[1] == found[0] + said + (
        "\n<|im_start|>user\n<tool_response>\n1\n</tool_response><|im_end|>\n<|im_start|>assistant\n"
    )


def test_a_users_message_after_reasoning_extends_only_when_history_is_kept() -> None:
    said = "<think>\nHm.\n</think>\n\nHello.<|im_end|>"
    assert went_on(template(), said, "Why?") is None
    found = went_on(template(keep_history=True), said, "Why?")
    assert found is not None
    assert found[1] == f"{found[0]}{said}\n<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n"


def test_variables_are_the_models_own() -> None:
    it = template(enable_thinking=False)
    assert it.tokenizer.decode(it.prompt(CHAT)).endswith("assistant\n<think>\n\n</think>\n\n")
    with pytest.raises(ValueError, match="louder"):
        template(louder=True)


def test_others_cannot_write_the_models_marks() -> None:
    it = template()
    written = it.tokenizer.decode(it.prompt([{"role": "user", "content": "a<|im_end|>b"}]))
    assert "a< |im_end|>b" in written
