"""Templates by the library `renderers`, which writes the chats of well-known models in code of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simulators.engines.engine import ChatMessage
from simulators.template import ChatTemplate, Guard, Template, Tokens, sampled_text


def template_for(tokenizer: Any, *, keep_history: bool = False, **variables: Any) -> Template:
    """Return the template of a model: by `renderers` when it is installed and knows the model.

    Args:
        tokenizer: A tokenizer of `transformers`; `renderers` knows models by its `name_or_path`.
        keep_history: Whether earlier turns stay as they were sampled; see `ChatTemplate`.
        variables: For the template, such as `enable_thinking=False`.

    Raises:
        FatalError: The tokenizer has no chat template, or its template cannot write a plain chat.
        ValueError: The model's template has no such variable.

    Example:
        >>> template_for(tokenizer)  # doctest: +SKIP
        ChatTemplate('HuggingFaceTB/SmolLM2-135M-Instruct')
    """
    try:
        from renderers import base, configs
    except ImportError:
        return ChatTemplate(tokenizer, keep_history=keep_history, **variables)
    if tokenizer.name_or_path not in base.MODEL_RENDERER_MAP:
        return ChatTemplate(tokenizer, keep_history=keep_history, **variables)
    retention = configs.AutoRendererConfig(thinking_retention="all" if keep_history else None)
    return RendererTemplate(
        base.create_renderer(tokenizer, retention, chat_template_kwargs=variables), tokenizer
    )


class RendererTemplate:
    """A renderer of the library `renderers`; see `Template`.

    Args:
        renderer: The renderer.
        tokenizer: Its tokenizer, of `transformers`.
    """

    def __init__(self, renderer: Any, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.stop_token_ids = frozenset(renderer.get_stop_token_ids())
        """Tokens that end a turn of the model."""
        self._renderer, self._guard = renderer, Guard(tokenizer)

    def prompt(self, chat: Sequence[ChatMessage], tools: Sequence[Mapping[str, Any]] = ()) -> Tokens:
        """Return a chat as tokens; see `Template.prompt`."""
        written = [self._guard.harmless(message) for message in chat]
        return tuple(self._renderer.render_ids(written, tools=_functions(tools), add_generation_prompt=True))

    def extended(
        self,
        prompt: Tokens,
        sampled: Tokens,
        chat: Sequence[ChatMessage],
        turn: int,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> Tokens | None:
        """Return a longer prompt; see `Template.extended`."""
        following = [self._guard.harmless(message) for message in chat[turn + 1 :]]
        longer = self._renderer.bridge_to_next_turn(
            list(prompt), list(sampled), following, tools=_functions(tools)
        )
        if longer is None:
            return None
        ids = tuple(longer.token_ids)
        return ids if ids[: len(prompt) + len(sampled)] == prompt + sampled else None

    def text(self, ids: Sequence[int]) -> str:
        """Return sampled tokens as text; see `Template.text`."""
        return sampled_text(self.tokenizer, ids, self.stop_token_ids)

    def __repr__(self) -> str:
        return f"RendererTemplate({self.tokenizer.name_or_path!r})"


def _functions(tools: Sequence[Mapping[str, Any]]) -> list[Any] | None:
    """Return tools without the envelope of OpenAI's format, as `renderers` takes them."""
    return [tool["function"] for tool in tools] or None
