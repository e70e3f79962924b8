"""What tests of the checkup check: a model server with faults, and players of this module by name."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from gym_enterprise.harness.checkup import Finding
from simulators import Completion, FatalError, LLMPlayer
from tests.engines.server import Asked, Reply, called, chat, choice

LISTED = {"data": [{"id": "m", "max_model_len": 4096}, {"id": "other"}]}
NOT_FOUND = Reply({"error": {"message": "The model `m` does not exist.", "code": 404}}, status=404)
FORBIDDEN = Reply({"error": {"message": "Invalid API key sk-secret-1234."}}, status=401)


def by_check(findings: Iterable[Finding], prefix: str = "") -> dict[str, Finding]:
    """Findings by the name of their check, those that begin like this, without the beginning."""
    return {
        one.check.removeprefix(prefix).lstrip(": "): one for one in findings if one.check.startswith(prefix)
    }


def tells(prompt: list[int], sampled: list[int]) -> dict[str, Any]:
    """The fields by which vLLM tells tokens, for a choice."""
    logprobs = {"content": [{"token": f"token_id:{token}", "logprob": -0.5} for token in sampled]}
    return {"prompt_token_ids": prompt, "token_ids": sampled, "logprobs": logprobs}


def healthy(asked: Asked, write: Callable[[Any], list[int]] = lambda messages: [1, 2, 3]) -> Reply:
    """What a server without faults answers; `write` gives the tokens of a chat."""
    if asked.path.endswith("/models"):
        return Reply(LISTED)
    if asked.path.endswith("/chat/completions"):
        if "tools" in asked.body:
            call = called("tell_time", {"city": "Oslo"})
            return Reply(chat(choice(None, tool_calls=[call], finish_reason="tool_calls")))
        told = tells(write(asked.body["messages"]), [4, 5]) if asked.body.get("return_token_ids") else {}
        return Reply(chat(choice("Good morning to you!", **told)))
    logprobs = {"tokens": ["token_id:4", "token_id:5"], "token_logprobs": [-0.5, -0.5]}
    # Bytes are the tokens of `tiny_tokenizer`, in the order of their signs: 4 and 5 are "%&".
    spoken = {"index": 0, "text": "%&", "finish_reason": "stop", "token_ids": [4, 5], "logprobs": logprobs}
    return Reply({"choices": [spoken]})


class _Says:
    """An engine that always says the same, or fails, or waits."""

    def __init__(self, said: Completion | Exception | None) -> None:
        self.said = said

    async def complete(self, request: Any) -> Completion:
        if isinstance(self.said, Exception):
            raise self.said
        if self.said is None:
            await asyncio.sleep(3600)
        assert isinstance(self.said, Completion)
        return self.said


talker = partial(LLMPlayer, engine=_Says(Completion("Good morning.")))
silent = partial(LLMPlayer, engine=_Says(Completion(" ", finish_reason="length")))
broken = partial(LLMPlayer, engine=_Says(FatalError("The model is on fire. Put it out.")))
stuck = partial(LLMPlayer, engine=_Says(None))
lying = partial(LLMPlayer, engine=_Says(Completion("Hm.", token_ids=(4, 5), logprobs=(-0.5, 5.0))))
short = partial(LLMPlayer, engine=_Says(Completion("Hm.", token_ids=(4, 5), logprobs=(-0.5,))))


def unmakeable(view: Any, seed: int) -> Any:
    raise ValueError("there is no such weather")


def tokened(view: Any, seed: int) -> LLMPlayer:
    """A model in this process, with a template; it calls the tool that it is asked to call."""
    from tests.simulators.token_engines import Tokens

    call = '<tool_call>\n{"name": "tell_time", "arguments": {"city": "Oslo"}}\n</tool_call><|im_end|>'
    return LLMPlayer(view, seed, engine=Tokens("Good morning.<|im_end|>", call))
