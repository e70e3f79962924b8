"""Short ways to ask an engine, with a clock that only waiting moves."""

from __future__ import annotations

import asyncio
from typing import Any

from simulators import ChatRequest, Completion, OpenAIEngine
from tests.engines.server import Reply, chat, choice

HELLO = ChatRequest(({"role": "user", "content": "Hi"},))
GOOD = Reply(chat(choice("Hello.")))


class Clock:
    """Time that passes only by waiting."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waits: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds

    def __call__(self) -> float:
        return self.now


def make(url: str, clock: Clock | None = None, **settings: Any) -> OpenAIEngine:
    clock = clock or Clock()
    return OpenAIEngine("m", url, sleep=clock.sleep, clock=clock, **settings)


def ask(engine: OpenAIEngine, request: Any = HELLO) -> Completion:
    async def once() -> Completion:
        async with engine:
            return await engine.complete(request)

    return asyncio.run(once())
