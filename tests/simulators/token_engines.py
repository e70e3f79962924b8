"""An engine that answers tokens with tokens, from a script, with log-probabilities that can be told apart."""

from __future__ import annotations

from typing import Any

from simulators import Completion, TokenRequest
from simulators.template import ChatTemplate
from tests.simulators.tiny_tokenizer import CHATML, tokenizer

END = "<|im_end|>"


class Tokens:
    """Gives its answers one after the other; sampled token number n of all has the log-probability -n/8."""

    def __init__(self, *answers: str, template: str = CHATML, **settings: Any) -> None:
        self.template = ChatTemplate(tokenizer(template), **settings)
        self._answers = iter(answers)
        self._count = 0
        self.prompts: list[str] = []

    def ids(self, text: str) -> tuple[int, ...]:
        return tuple(self.template.tokenizer.encode(text, add_special_tokens=False))

    def words(self, ids: Any) -> str:
        return str(self.template.tokenizer.decode(list(ids), skip_special_tokens=False))

    async def complete(self, request: Any) -> Completion:
        assert isinstance(request, TokenRequest)
        self.prompts.append(self.words(request.prompt_token_ids))
        said = next(self._answers)
        ids = self.ids(said)
        logprobs = tuple(-(self._count + place) / 8 for place in range(1, len(ids) + 1))
        self._count += len(ids)
        return Completion(
            "(as the server reads it)",
            token_ids=ids,
            logprobs=logprobs,
            finish_reason="stop" if said.endswith(END) else "length",
        )
