"""`ChatTemplate`: chats as tokens, each longer prompt an extension of what was read and sampled before."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from simulators.calls import PYTHON_TAG
from simulators.engines.engine import ChatMessage
from simulators.engines.errors import FatalError

Tokens = tuple[int, ...]

_MARK = "gym-enterprise-assistant-turn"
"""What stands for a model's words where only the text around them is wanted."""


class Template(Protocol):
    """Writes chats as one model reads them."""

    @property
    def stop_token_ids(self) -> frozenset[int]:
        """Tokens that end a turn of the model."""
        ...

    def prompt(self, chat: Sequence[ChatMessage], tools: Sequence[Mapping[str, Any]] = ()) -> Tokens:
        """Return a chat as tokens, up to where the model's next words begin."""
        ...

    def extended(
        self,
        prompt: Tokens,
        sampled: Tokens,
        chat: Sequence[ChatMessage],
        turn: int,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> Tokens | None:
        """Return prompt and sampled tokens as they are, and the rest of the chat to the model's next words.

        Args:
            prompt: Tokens that the model was asked with: the chat before `turn`.
            sampled: What it sampled.
            chat: The chat by now.
            turn: Index in it of the message that was sampled, whose content is the text of `sampled`.
            tools: Functions, in OpenAI's format.

        Returns:
            The longer prompt; None when the template writes the turns so far otherwise than they stand there.
        """
        ...

    def text(self, ids: Sequence[int]) -> str:
        """Return sampled tokens as text, without the token that ended the turn."""
        ...


class ChatTemplate:
    """A tokenizer of `transformers` with its chat template.

    Texts in messages that spell a special token, such as ``<|im_start|>``, get a blank after their first
    character, so that nobody can write the template's own marks into a model's prompt. What the model itself
    sampled stays as it was, as it is not encoded again.

    Args:
        tokenizer: The tokenizer; it has a chat template.
        keep_history: Whether earlier turns stay as they were sampled even where the template would write them
            otherwise, such as without their reasoning. By default the template is followed, and a stream of
            tokens is split there.
        variables: For the template, such as `enable_thinking=False`.

    Raises:
        FatalError: The tokenizer has no chat template or no token that ends a turn, or its template cannot
            write a plain chat.

    Example:
        >>> template = ChatTemplate.load("models/SmolLM2-135M-Instruct")  # doctest: +SKIP
        >>> template.prompt([{"role": "user", "content": "Hello"}])[:3]  # doctest: +SKIP
        (1, 9690, 198)
    """

    def __init__(self, tokenizer: Any, *, keep_history: bool = False, **variables: Any) -> None:
        self.tokenizer = tokenizer
        self._keep, self._variables = keep_history, variables
        if not getattr(tokenizer, "chat_template", None):
            raise FatalError(
                f"The tokenizer {tokenizer.name_or_path!r} has no chat template: use an instruction-tuned "
                "model, or set tokenizer.chat_template."
            )
        self._guard = Guard(tokenizer)
        self.stop_token_ids = self._stop_tokens()
        """Tokens that end a turn of the model: the tokenizer's, and the one that the template puts there."""
        if not self.stop_token_ids:
            raise FatalError(
                f"The tokenizer {tokenizer.name_or_path!r} has no token that ends a turn: set its eos_token."
            )

    @classmethod
    def load(cls, path: str | Path, **settings: Any) -> ChatTemplate:
        """Load the tokenizer of a model.

        Args:
            path: A folder, a name on the model hub, or a .gguf file.
            settings: Further arguments of the class.

        Raises:
            FatalError: `transformers` is not installed, or there is no such tokenizer.
        """
        return cls(load_tokenizer(path), **settings)

    def prompt(self, chat: Sequence[ChatMessage], tools: Sequence[Mapping[str, Any]] = ()) -> Tokens:
        """Return a chat as tokens; see `Template.prompt`."""
        return self._encoded(self._written(chat, tools))

    def extended(
        self,
        prompt: Tokens,
        sampled: Tokens,
        chat: Sequence[ChatMessage],
        turn: int,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> Tokens | None:
        """Return a longer prompt; see `Template.extended`."""
        if self._keep:
            mark = _mark(chat)
            marked = [*chat[:turn], {**chat[turn], "content": mark}, *chat[turn + 1 :]]
            following: str | None = self._written(marked, tools).rpartition(mark)[2]
        else:
            following = self._following(chat, turn, tools)
        if following is None:
            return None
        if sampled and sampled[-1] in self.stop_token_ids:
            following = following.removeprefix(decoded(self.tokenizer, sampled[-1:]))
        return (*prompt, *sampled, *self._encoded(following))

    def text(self, ids: Sequence[int]) -> str:
        """Return sampled tokens as text; see `Template.text`."""
        return sampled_text(self.tokenizer, ids, self.stop_token_ids)

    def _following(
        self, chat: Sequence[ChatMessage], turn: int, tools: Sequence[Mapping[str, Any]]
    ) -> str | None:
        """Return what the template writes after a turn; None when it changes anything up to its end."""
        before, whole = self._written(chat[:turn], tools), self._written(chat, tools)
        if not whole.startswith(before):
            return None
        content, rest = self._guard.harmless(chat[turn])["content"], whole[len(before) :]
        if rest.startswith(content):
            return rest[len(content) :]
        bare, rest = content.strip(), rest.lstrip()  # many templates take the blanks around it away
        if not rest.startswith(bare):
            return None
        return rest[len(bare) :].removeprefix(content[len(content.rstrip()) :])

    def _written(self, chat: Sequence[ChatMessage], tools: Sequence[Mapping[str, Any]]) -> str:
        try:
            return str(
                self.tokenizer.apply_chat_template(
                    [self._guard.harmless(message) for message in chat],
                    tools=list(tools) or None,
                    tokenize=False,
                    add_generation_prompt=True,
                    **self._variables,
                )
            )
        except Exception as error:  # a template is a program of its own
            raise FatalError(
                f"The chat template of {self.tokenizer.name_or_path!r} cannot write a chat of the roles "
                f"{[message['role'] for message in chat]}: {error}. Use another model or template."
            ) from error

    def _stop_tokens(self) -> frozenset[int]:
        asked = {"role": "user", "content": "?"}
        closed = self._written([asked, {"role": "assistant", "content": _MARK}, asked], ())
        following = self._encoded(closed.partition(_MARK)[2].lstrip())
        special = {token for token, added in self.tokenizer.added_tokens_decoder.items() if added.special}
        found = {self.tokenizer.eos_token_id, *following[:1]} & {*special, self.tokenizer.eos_token_id}
        return frozenset(found - {None})

    def _encoded(self, text: str) -> Tokens:
        return tuple(self.tokenizer.encode(text, add_special_tokens=False))

    def __repr__(self) -> str:
        return f"ChatTemplate({self.tokenizer.name_or_path!r})"


def load_tokenizer(path: str | Path) -> Any:
    """Load a tokenizer of `transformers`.

    Args:
        path: A folder, a name on the model hub, or a .gguf file.

    Raises:
        FatalError: `transformers` is not installed, or there is no such tokenizer.
    """
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        raise FatalError(
            f"A model in this process needs transformers: {error}. pip install 'gym-enterprise[hf]'"
        ) from error
    folder, arguments = source(path)
    try:
        return AutoTokenizer.from_pretrained(folder, **arguments)
    except (OSError, ValueError, ImportError) as error:
        raise FatalError(f"There is no tokenizer at {str(path)!r}: {error}") from error


def source(path: str | Path) -> tuple[str, dict[str, str]]:
    """Return what `from_pretrained` takes for a path: a folder or name, and the name of a .gguf file in it.

    Example:
        >>> source("models/small.gguf")
        ('models', {'gguf_file': 'small.gguf'})
    """
    if str(path).endswith(".gguf"):
        return str(Path(path).parent), {"gguf_file": Path(path).name}
    return str(path), {}


def decoded(tokenizer: Any, ids: Sequence[int]) -> str:
    """Return tokens as the text that they stand for, special ones included."""
    return str(tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False))


def sampled_text(tokenizer: Any, ids: Sequence[int], stop_token_ids: Collection[int]) -> str:
    """Return sampled tokens as text, without the token that ended the turn."""
    return decoded(tokenizer, ids[:-1] if ids and ids[-1] in stop_token_ids else ids)


class Guard:
    """Keeps a model's special tokens out of what is written in messages.

    Args:
        tokenizer: The model's tokenizer, of `transformers`.
    """

    def __init__(self, tokenizer: Any) -> None:
        special = {str(token) for token in tokenizer.added_tokens_decoder.values() if token.special}
        texts = {text for text in (*special, *tokenizer.all_special_tokens) if len(text) > 1} - {PYTHON_TAG}
        ordered = sorted(texts, key=lambda text: (-len(text), text))  # the longest first
        self._found = re.compile("|".join(map(re.escape, ordered)) or r"(?!)")
        self._normalizer = getattr(getattr(tokenizer, "backend_tokenizer", None), "normalizer", None)

    def harmless(self, message: ChatMessage) -> dict[str, Any]:
        """Return a message that is safe to encode."""
        content = message["content"]
        if self._normalizer is not None and self._found.search(
            normal := self._normalizer.normalize_str(content)
        ):
            content = normal  # which spells a token that the text itself does not
        return {**message, "content": self._found.sub(lambda found: f"{found[0][0]} {found[0][1:]}", content)}


def _mark(chat: Sequence[ChatMessage]) -> str:
    """Return a text that stands in no message."""
    mark = _MARK
    while any(mark in message["content"] for message in chat):
        mark += "-turn"
    return mark
