"""A policy of nine tokens, some of them whole turns: it meets rewards by chance, and learns in seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from simulators import Synchronous
from tests.shop import make_domain, task

CANCEL = '{"name":"cancel_order","arguments":{"order_id":"O1"}}'
LOOK = '{"name":"get_order","arguments":{"order_id":"O1"}}'
WORDS = ("[UNK]", "<|im_start|>", "<|im_end|>", "system", "user", "assistant", "Hello.", CANCEL, LOOK)
TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|> ' + message['role'] + ' ' + message['content'] + ' <|im_end|> ' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|> assistant ' }}{% endif %}"
)


class Brief(Synchronous):
    """A customer that asks, and leaves when the agent has said something."""

    def __init__(self, view: Any, seed: int) -> None:
        pass

    def act(self, observation: Any) -> dict[str, Any]:
        if len(observation["messages"]) == 1:
            return {"type": "message", "content": "Please cancel O1."}
        return {"type": "stop"}


class Unwell(Brief):
    """A customer of whom about half break down."""

    def __init__(self, view: Any, seed: int) -> None:
        self._breaks = seed % 2 == 0

    def act(self, observation: Any) -> dict[str, Any]:
        if self._breaks and len(observation["messages"]) > 1:
            raise ConnectionError("the customer's line is dead")
        return super().act(observation)


class Absent(Brief):
    """A customer that never comes."""

    def act(self, observation: Any) -> dict[str, Any]:
        raise ConnectionError("nobody is there")


class Fickle(Brief):
    """A customer that confirms its parcel when the agent's words have an even number of letters."""

    def act(self, observation: Any) -> dict[str, Any]:
        last = observation["messages"][-1]
        if last.role == "agent" and len(last.content) % 2 == 0:
            arguments = {"order_id": "O1", "code": "XK-7"}
            return {"type": "tool_call", "name": "confirm_order", "arguments": arguments}
        return super().act(observation)


def save_tiny_policy(folder: Path, seed: int = 0) -> Path:
    """Write the model and its tokenizer as a folder."""
    core = Tokenizer(models.WordLevel({word: place for place, word in enumerate(WORDS)}, unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<|im_end|>", unk_token="[UNK]")
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>"]})
    tokenizer.chat_template = TEMPLATE
    torch.manual_seed(seed)
    config = transformers.LlamaConfig(
        vocab_size=len(WORDS),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=2,
        pad_token_id=2,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def one_task() -> Any:
    """The shop with one task: cancel O1."""
    return make_domain(tasks={"train": [task("cancel")]})


def fickle() -> Any:
    """The shop with one task, in which the customer confirms a parcel."""
    confirm = {"seat": "user", "name": "confirm_order", "arguments": {"order_id": "O1", "code": "XK-7"}}
    user = {"script": {"opening": "My parcel came."}, "tools": ["confirm_order"]}
    return make_domain(tasks={"train": [task("confirm", reference=[confirm], user=user)]})
