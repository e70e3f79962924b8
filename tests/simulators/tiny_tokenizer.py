"""A tokenizer of `transformers` made in memory: a token a byte, marks as in ChatML, any chat template."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

CHATML = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
TRIMMED = CHATML.replace("message['content']", "message['content'] | trim")
FORGETS = CHATML.replace("message['content']", "message['content'].split('</think>')[-1]")
"""As Qwen3 and others do it: the reasoning of earlier turns is not shown again."""


def tokenizer(template: str | None = CHATML, name: str = "tiny", marks: Sequence[str] = ()) -> Any:
    """Make one; without a template it cannot write chats. Marks are tokens of their own, and not special."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    core = Tokenizer(models.BPE(vocab={letter: place for place, letter in enumerate(alphabet)}, merges=[]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    made = PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<|endoftext|>", name_or_path=name)
    made.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]})
    made.add_tokens(list(marks))
    if template is not None:
        made.chat_template = template
    return made
