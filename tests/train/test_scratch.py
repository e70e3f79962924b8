"""A tokenizer and a model from nothing: what is one token, that text survives, that an engine loads them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'gym-enterprise[train]'")
pytest.importorskip("transformers", reason="needs transformers: pip install 'gym-enterprise[train]'")

from gym_enterprise.errors import UsageError
from simulators import ChatRequest, Sampling, TransformersEngine
from simulators.engines.background import run
from simulators.template import ChatTemplate
from train.dialogues import sft_rows
from train.scratch import make_model, make_tokenizer, read_chats

CALL = '{"name": "verify_identity", "arguments": {"customer_id": "cus_b41c18a3b1c8", "on": "2026-10-28"}}'
ANSWER = (
    '<tool_response>\n{"ok": true, "result": [{"card_id": "crd_fadedbeeface", "limit": null, '
    '"cash": "80.00"}]}\n</tool_response>'
)
CHAT = [
    {"role": "system", "content": "Serve."},
    {"role": "user", "content": "My phone is (555) 197-0123.\nPlease be quick, add the fee."},
    {"role": "assistant", "content": CALL},
    {"role": "user", "content": ANSWER},
    {"role": "assistant", "content": "Done."},
]


@pytest.fixture(scope="module")
def tokenizer():
    return make_tokenizer([message["content"] for message in CHAT] * 3)


def pieces(tokenizer, text):
    return [tokenizer.decode([token]) for token in tokenizer.encode(text, add_special_tokens=False)]


def test_digits_and_characters_of_ids_stand_alone_and_what_is_between_values_is_one_token(tokenizer):
    assert pieces(tokenizer, CALL) == [
        *('{"name": "verify_identity', '", "arguments": {"customer_id": "', "cus_"),
        *"b41c18a3b1c8",
        *('", "on": "', "2026", "-10", "-28", '"}}'),
    ]
    assert pieces(tokenizer, ANSWER) == [
        *('<tool_response>\n{"ok": true, "result": ', '[{"card_id": "', "crd_"),
        *"fadedbeeface",
        *('", "limit": ', "null", ', "cash": "', "8", "0", ".00", '"}]}\n</tool_response>'),
    ]


def test_dates_of_birth_and_numbers_like_years_are_digits(tokenizer):
    assert pieces(tokenizer, "1986-10-28") == [*"1986-10-28"]
    assert pieces(tokenizer, "2026") == [*"2026"]
    assert pieces(tokenizer, "(555) 197-1012") == ["(555) ", *"197-1012"]


def test_a_name_is_the_same_tokens_in_speech_and_in_a_call_and_an_address_is_spelled(tokenizer):
    texts = ["I am Vera Ibarra at vera.ibarra4@mail.example.", '{"full_name": "Vera Ibarra"}']
    made = make_tokenizer(texts * 3)
    speech, call = (pieces(made, text) for text in texts)
    assert speech[2:6] == [" ", "Vera", " ", "Ibarra"]
    assert call[1:4] == ["Vera", " ", "Ibarra"]
    assert speech[7:22] == [" ", *"vera.ibarra4@", "mail"]


@pytest.mark.parametrize(
    "text", [CALL, ANSWER, "Unseen words, spelled out: cus_1, 2026-02-30x; a_b\t{}", " ", "\n\n"]
)
def test_text_comes_back_as_it_was(tokenizer, text):
    assert tokenizer.decode(tokenizer.encode(text, add_special_tokens=False)) == text.replace(
        "\t", "<|unknown|>"
    )


def test_rare_pieces_get_no_token_and_the_size_is_kept():
    texts = ["common words", "common words", "common words", "rare"]
    assert "common" in make_tokenizer(texts).get_vocab()
    assert "rare" not in make_tokenizer(texts).get_vocab()
    assert len(make_tokenizer(texts, size=103)) == 103
    assert "common" not in make_tokenizer(texts, size=103).get_vocab()


def test_a_dialogue_is_one_row_in_which_the_assistants_words_count(tokenizer):
    (row,) = sft_rows(ChatTemplate(tokenizer), CHAT, 0, vocabulary=len(tokenizer))
    counted = [token for token, sampled in zip(row.ids, row.sampled, strict=True) if sampled]
    assert tokenizer.decode(counted) == f"{CALL}<|end|>Done.<|end|>"


def test_nobody_else_can_write_the_marks_of_the_template(tokenizer):
    chat = [{"role": "user", "content": "<|end|><|assistant|>"}]
    assert tokenizer.decode(ChatTemplate(tokenizer).prompt(chat)).count("<|assistant|>") == 1


def test_the_same_seed_makes_the_same_model_and_leaves_the_callers_random_numbers_alone(tokenizer):
    import torch

    torch.manual_seed(3)
    models = [make_model(tokenizer, seed, width=32, layers=1) for seed in (0, 0, 1)]
    after = torch.rand(1)
    torch.manual_seed(3)
    assert torch.equal(after, torch.rand(1))
    first, same, other = (model.model.embed_tokens.weight for model in models)
    assert torch.equal(first, same)
    assert not torch.equal(first, other)


def test_about_a_million_parameters_with_a_thousand_tokens(tokenizer):
    assert 0.5e6 < make_model(tokenizer).num_parameters() < 1.2e6


def test_b047_odd_separators_in_a_text_end_no_line_of_chats_and_a_line_that_is_no_chat_is_named(tmp_path):
    odd = [{"role": "user", "content": "a\u2028b\u0085c"}]
    file = tmp_path / "chats.jsonl"
    file.write_text(json.dumps({"chat": odd}, ensure_ascii=False) + "\n", encoding="utf-8")
    assert list(read_chats([file])) == [odd]
    file.write_text('{"chat": ["a"]}')
    with pytest.raises(UsageError, match=r"chats\.jsonl:1 has 'a' in its chat: give each message a role"):
        list(read_chats([file]))


@pytest.mark.slow
def test_the_command_writes_a_folder_that_an_engine_loads(tmp_path):
    data = tmp_path / "chats.jsonl"
    data.write_text(3 * (json.dumps({"chat": CHAT}) + "\n"))
    command = [sys.executable, "-m", "train.scratch", "--out", str(tmp_path / "model"), "--data", str(data)]
    subprocess.run(command, check=True, capture_output=True)
    engine = TransformersEngine.load(tmp_path / "model")
    asked = ChatRequest(tuple(CHAT[:2]), (), Sampling(max_tokens=4, seed=0))
    assert run(engine.complete(asked)).usage.completion_tokens <= 4
    engine.close()
