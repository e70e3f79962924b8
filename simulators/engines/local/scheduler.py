"""`Scheduler`: the thread that decodes what many callers ask of one model."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager

import torch

from simulators.engines.errors import EngineError, FatalError, TransientError
from simulators.engines.local.decoding import Batch, Row

LINGER = 10.0
"""Seconds that the thread waits for more to do before it ends; the next request starts another one."""


PAUSE = 0.001
"""Seconds after which an event loop looks again whether a pause is over."""


class Scheduler:
    """Decodes rows that are submitted from any thread, in a thread of its own or in an event loop.

    One turn reads the prompts of rows that have come, as far as the batch has room, and samples one token for
    each row of the batch. A failure is that of the rows it happened to; the thread goes on with the others.

    Args:
        batch: What it decodes; nothing else may use it.
    """

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._change = threading.Condition()
        self._thread: threading.Thread | None = None
        self._arrived: list[Row] = []
        self._waiting: list[Row] = []  # the thread's own, in order
        self._cancelled, self._closed = False, False
        self._turning, self._pauses = False, 0
        self._loop: asyncio.AbstractEventLoop | None = None  # where turns are taken, unless in the thread

    def submit(self, row: Row, loop: asyncio.AbstractEventLoop | None = None) -> None:
        """Put a row into the queue.

        Args:
            row: The row.
            loop: The running event loop, when turns are to be taken in it, between what else is ready there.

        Raises:
            FatalError: The scheduler is closed, or at work in another event loop.
        """
        row.future.add_done_callback(self._note)
        with self._change:
            if self._closed:
                raise _closed()
            if loop is not None and self._loop is not loop:
                if self._loop is not None and self._is_used(self._loop):
                    raise FatalError(
                        "An engine that decodes inline was asked from a second event loop while it is at "
                        "work in another: ask it from one loop, or make it with inline=False."
                    )
                self._loop = loop  # of one that has ended, the turns have ended too
                loop.call_soon(self._take_turns, loop)
            self._arrived.append(row)
            if loop is not None:
                return
            # A fork has the object, but not the thread.
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._work, name="decoding", daemon=True)
                atexit.register(self.close)  # a thread that the end of the process meets in a pass aborts it
                self._thread.start()
            self._change.notify_all()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Wait for the end of the turn under way, and let no other one begin meanwhile."""
        with self._change:
            self._pauses += 1
            self._change.wait_for(lambda: not self._turning)
        try:
            yield
        finally:
            with self._change:
                self._pauses -= 1
                self._change.notify_all()

    def reset(self) -> None:
        """Forget all keys and values; rows under way are read again, with what they have sampled."""
        with self.paused():
            self._waiting[:0] = self._batch.clear()

    def close(self) -> None:
        """Fail what is under way, and take nothing more."""
        with self._change:
            self._closed, thread = True, self._thread
            self._change.notify_all()
            if thread is None:
                self._change.wait_for(lambda: not self._turning)  # a turn in the event loop of another thread
        if thread is not None:
            thread.join()
        rows = [*self._batch.clear(), *self._waiting, *self._arrived]
        self._waiting, self._arrived = [], []
        _deliver(rows, _closed)

    def _note(self, future: Future[Row]) -> None:
        if future.cancelled():
            self._cancelled = True

    def _has_work(self) -> bool:
        return bool(self._arrived or self._waiting or self._batch.rows)

    def _is_used(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Return whether an event loop may take turns, or somebody in it waits who could go on."""
        rows = (*self._arrived, *self._waiting, *self._batch.rows)
        return loop.is_running() or (not loop.is_closed() and not all(row.future.done() for row in rows))

    def _work(self) -> None:
        with torch.inference_mode():
            while self._next_turn():
                self._turn()
                with self._change:
                    self._end_turn()

    def _take_turns(self, loop: asyncio.AbstractEventLoop) -> None:
        """Take one turn in an event loop, and the next one when it has done what is ready by then."""
        with self._change:
            if self._loop is not loop or self._closed:
                return
            if self._pauses:
                loop.call_later(PAUSE, self._take_turns, loop)
                return
            self._begin_turn()
        try:
            with torch.inference_mode():
                self._turn()
        finally:  # of an interrupt too, or who closes the engine then would wait for ever
            with self._change:
                self._end_turn()
                if self._has_work():
                    loop.call_soon(self._take_turns, loop)
                else:
                    self._loop = None

    def _next_turn(self) -> bool:
        """Wait until there is something to do; False when the thread should end."""
        with self._change:
            while not self._closed and (self._pauses or not self._has_work()):
                if not self._change.wait(LINGER) and not self._has_work():
                    break
            if self._closed or not self._has_work():
                self._thread = None
                atexit.unregister(self.close)
                return False
            self._begin_turn()
            return True

    def _begin_turn(self) -> None:
        self._turning = True
        self._waiting += self._arrived
        self._arrived = []

    def _end_turn(self) -> None:
        self._turning = False
        self._change.notify_all()

    def _turn(self) -> None:
        try:
            self._read_and_step()
        except Exception as error:  # in the batch itself, so that none of its rows can go on
            self._fail([*self._waiting, *self._batch.rows], error)
            self._waiting = []

    def _read_and_step(self) -> None:
        if self._cancelled:
            self._cancelled = False
            self._batch.drop(lambda row: row.future.cancelled())
            self._waiting = [row for row in self._waiting if not row.future.cancelled()]
        while group := self._batch.next_group(self._waiting):
            self._attempt(group, lambda rows: self._batch.read(rows))
        if self._batch.rows:
            self._attempt(tuple(self._batch.rows), lambda rows: self._batch.step())

    def _attempt(self, rows: Sequence[Row], work: Callable[[Sequence[Row]], list[Row]]) -> None:
        try:
            _deliver(work(rows))
        except Exception as error:
            self._fail(rows, error)

    def _fail(self, rows: Sequence[Row], error: Exception) -> None:
        failed = set(map(id, rows))
        self._batch.drop(lambda row: id(row) in failed)
        if _out_of_memory(error):  # the other rows begin anew, with buffers as small as can be
            self._waiting[:0] = self._batch.clear()
        _deliver(rows, lambda: _meaning(error, len(rows)))


def _deliver(rows: Iterable[Row], error: Callable[[], EngineError] | None = None) -> None:
    """Give rows to those who wait for them, as done or failed."""
    for row in rows:
        if row.future.set_running_or_notify_cancel():
            fault = row.error if error is None else error()
            if fault is None:
                row.future.set_result(row)
            else:
                row.future.set_exception(fault)


def _meaning(error: Exception, rows: int) -> EngineError:
    what = f"{type(error).__name__} {error}".rstrip()
    if _out_of_memory(error):
        meaning: EngineError = TransientError(
            f"There was not enough memory for {rows} rows: {what}. It may do with fewer of them at once "
            "(max_batch) or a smaller cache (cache_tokens)"
        )
    else:
        meaning = FatalError(f"The model failed on {rows} rows: {what}")
    meaning.__cause__ = error
    return meaning


def _out_of_memory(error: Exception) -> bool:
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and "allocate memory" in str(error)  # as torch says it on a CPU


def _closed() -> FatalError:
    return FatalError("The engine is closed: it completes nothing any more. Make a new one.")
