"""A small model from nothing: a tokenizer made for its dialogues, and a Llama with random weights.

    python -m train.scratch --out FOLDER --data CHATS.jsonl ...     lines {"chat": [{"role", "content"}, ...]}

The tokenizer cuts text so that a small model can copy, which it learns for small alphabets first: digits, and
characters of ids and of email addresses, stand alone. Capitalised words are the same tokens wherever they
stand, other words have the blank before them, a date from 2010 on is three tokens, and what JSON puts between
two values is one, as is the tool that is called. What is rare is spelled in characters. It decodes to the
very text that it encoded, but for characters that are neither ASCII nor in the data.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from gym_enterprise.errors import GymEnterpriseError
from train.dialogues import read_dialogues

PAD, UNKNOWN, END = "<|pad|>", "<|unknown|>", "<|end|>"
ROLES = ("<|system|>", "<|user|>", "<|assistant|>")
TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
CUTS = "|".join(
    (
        r'<tool_response>\n\{"ok": (?:true|false), "(?:result|error)": ',
        r'"?[\]}]*\n</tool_response>',
        r'\{"name": "[a-z_]+(?=", "arguments")',  # which tool is called
        r'(?:"?[\]}]*, )?[\[{]*"[a-z_]+": (?:\[?\{"[a-z_]+": )?"?',  # from one value to the next
        r'"?[\]}]+',
        r"[a-z]{3}_(?=[0-9a-f]{12}(?![0-9a-z]))",  # the prefix of an id
        # a date
        r"20[12]\d(?=-\d\d-\d\d(?!\d))|(?<=20[12]\d)-\d\d(?=-\d\d(?!\d))|(?<=20[12]\d-\d\d)-\d\d(?!\d)",
        r"\(555\) ",  # the area code of every phone
        r"\. (?=[A-Z])",
        r"[A-Z][a-z]*",  # a name is the same token wherever it stands
        r" (?=[a-z]+\.[a-z]+\d*@)|[a-z](?=[a-z]*\.?[a-z]*\d*@)",  # an email address is spelled
        r" ?[a-z]+(?:_[a-z]+)*",
        r"(?:00)?\.00(?!\d)",
        r"\s+",
        r".",
    )
)
"""What stays together, the first that fits."""
_HEX = re.compile(r"[a-f]{2,}")


def make_tokenizer(texts: Iterable[str], size: int = 1000, least: int = 3) -> Any:
    """Return a tokenizer with a chat template.

    Args:
        texts: What the model will read and say, as it is encoded: one string a message.
        size: Most tokens.
        least: How often a piece occurs that becomes a token.
    """
    cutting = pre_tokenizers.Split(Regex(CUTS), "isolated")
    pieces: Counter[str] = Counter()
    for text in texts:
        pieces.update(piece for piece, _ in cutting.pre_tokenize_str(text))
    characters = ["\n", *map(chr, range(32, 127))]
    ordered = sorted(pieces.items(), key=lambda one: (-one[1], one[0]))
    whole = [piece for piece, count in ordered if count >= least and not _HEX.fullmatch(piece)]
    entries = list(dict.fromkeys((PAD, UNKNOWN, END, *ROLES, *characters, *whole)))[:size]
    core = Tokenizer(
        models.WordPiece(
            {entry: place for place, entry in enumerate(entries)},
            unk_token=UNKNOWN,
            continuing_subword_prefix="",
        )
    )
    core.pre_tokenizer = cutting
    core.decoder = decoders.Fuse()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token=PAD,
        unk_token=UNKNOWN,
        eos_token=END,
        clean_up_tokenization_spaces=False,
    )
    tokenizer.add_special_tokens({"additional_special_tokens": list(ROLES)})
    tokenizer.chat_template = TEMPLATE
    return tokenizer


def make_model(tokenizer: Any, seed: int = 0, *, width: int = 128, layers: int = 4, window: int = 512) -> Any:
    """Return a Llama with random weights: 4 heads, 2 of keys and values, tied embeddings.

    Args:
        tokenizer: Its tokenizer.
        seed: Of the weights; the random numbers of the caller go on as if nothing had been drawn.
        width: Of the residual stream.
        layers: How many.
        window: Most tokens of a dialogue.
    """
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=8 * width // 3 // 8 * 8,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=window,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        return LlamaForCausalLM(config)


def read_chats(paths: Sequence[str | Path]) -> Iterator[list[dict[str, str]]]:
    """Yield the chats of files, in order."""
    for path in paths:
        for _, line in read_dialogues(Path(path)):
            yield line["chat"]


def main() -> None:
    """Make both and save them in one folder, which `train.sft` and `TransformersEngine.load` take."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", required=True, help="folder of the model")
    parser.add_argument("--data", required=True, nargs="+", help="files of chats, for the vocabulary")
    parser.add_argument("--seed", type=int, default=0, help="of the weights")
    parser.add_argument("--size", type=int, default=1000, help="most tokens of the vocabulary")
    arguments = parser.parse_args()
    texts = (message["content"] for chat in read_chats(arguments.data) for message in chat)
    tokenizer = make_tokenizer(texts, arguments.size)
    make_model(tokenizer, arguments.seed).save_pretrained(arguments.out)
    tokenizer.save_pretrained(arguments.out)


if __name__ == "__main__":
    try:
        main()
    except (GymEnterpriseError, OSError) as error:
        raise SystemExit(f"error: {error}") from None
