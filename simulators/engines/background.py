"""Coroutines from code that cannot wait: one event loop in a thread of its own, for the whole process.

A loop of its own, and one that stays, because connections belong to the loop that opened them: they are used
again by the next call, and a caller may itself stand inside a running loop, as in a notebook.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")

_lock = threading.Lock()
_running: tuple[int, threading.Thread, asyncio.AbstractEventLoop] | None = None


def run(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine in the background loop and wait for its result.

    Args:
        coroutine: It is cancelled when waiting is interrupted.

    Returns:
        Its result.

    Raises:
        RuntimeError: The caller is itself running in the background loop, which would wait for itself.
    """
    thread, loop = _loop()
    if thread is threading.current_thread():
        coroutine.close()
        raise RuntimeError("act() was called by a coroutine of a player or engine: await aact() there")
    future = asyncio.run_coroutine_threadsafe(coroutine, loop)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


async def elsewhere(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Await a coroutine that runs in the background loop, from any loop.

    Args:
        coroutine: It is cancelled when the caller is.

    Returns:
        Its result.
    """
    _, loop = _loop()
    if loop is asyncio.get_running_loop():
        return await coroutine
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, loop))


def _loop() -> tuple[threading.Thread, asyncio.AbstractEventLoop]:
    global _running
    with _lock:
        if _running is None or _running[0] != os.getpid():  # a fork has the object, but not the thread
            loop = asyncio.new_event_loop()
            thread = threading.Thread(target=loop.run_forever, name="simulators", daemon=True)
            thread.start()
            _running = os.getpid(), thread, loop
        return _running[1], _running[2]
