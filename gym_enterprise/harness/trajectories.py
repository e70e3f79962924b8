r"""`RUN/trajectories.jsonl`: one JSON object a line, only ever appended to.

A line is everything up to a line feed, and nothing else ends one: text in it may hold other separators such
as U+2028. Lines are written in ASCII, so that readers that do split there still find whole records.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from gym_enterprise.errors import UsageError
from gym_enterprise.harness.disk import naming
from gym_enterprise.harness.forms import RecordForm, fault
from gym_enterprise.harness.rollout import Record

NAME = "trajectories.jsonl"


def read_lines(path: Path, start: int = 0) -> Iterator[bytes]:
    """Yield the whole lines of a file, each with its line feed.

    What follows the last line feed is still being written, or torn, and is left out.

    Args:
        path: The file.
        start: Offset of the first line to yield.
    """
    with path.open("rb") as file:
        file.seek(start)
        for line in file:  # a binary file is split at line feeds only
            if not line.endswith(b"\n"):
                return
            yield line


def parse_record(text: bytes) -> Record:
    """Read a record from one line.

    Raises:
        ValueError: It is not one; the message says why, and names the field.
    """
    try:
        data = json.loads(text)
        RecordForm.model_validate(data)
        return Record.from_dict(data)
    except ValidationError as error:
        raise ValueError(fault(error)) from None
    except RecursionError as error:
        raise ValueError(f"it is nested too deep: {error}") from None


def format_record(record: Record) -> bytes:
    """Write a record as one line, with its line feed.

    Raises:
        UsageError: It holds something that is not JSON, such as NaN among the logprobs.
    """
    try:
        text = json.dumps(record.to_dict(), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"the record of task {record.task_id!r} trial {record.trial} is not JSON: {error}; keep NaN, "
            "infinities and objects out of usage, timings, segments and grade"
        ) from None
    return text.encode() + b"\n"


def repair(path: Path, end: int) -> str | None:
    """Mend the end of a file whose writer was killed: drop a torn line, or end a whole one.

    Args:
        path: The file; its caller holds the run's lock.
        end: Offset of what follows the last line feed.

    Returns:
        What was done; None when nothing follows the last line feed.
    """
    with naming(path), path.open("r+b") as file:
        file.seek(end)
        text = file.read()
        if not text:
            return None
        try:
            parse_record(text)
        except ValueError:
            file.truncate(end)
            done = f"dropped {len(text)} bytes of a line cut short, whose episode is run again"
        else:
            file.write(b"\n")
            done = "ended a whole line that had no line feed"
        file.flush()
        os.fsync(file.fileno())
    return f"{done}: it begins {text[:60].decode('ascii', 'backslashreplace')!r}"


class Appender:
    """Appends lines to a file; each is there whole or not at all, unless the process dies in the middle.

    Args:
        path: The file; made if it is not there. Its caller holds the run's lock.
        sync: Wait for the disk after each line, so that a loss of power costs no finished line. A killed
            process costs none either way.
    """

    def __init__(self, path: Path, *, sync: bool) -> None:
        self._path, self._sync = path, sync
        self._file = path.open("ab", buffering=0)
        self.end = self._file.seek(0, os.SEEK_END)
        """Offset at which the next line begins."""
        self._torn = False

    def append(self, line: bytes) -> None:
        """Write one line; if that fails, for want of space say, take back what was written and raise."""
        with naming(self._path):
            if self._torn:
                self._take_back()
            try:
                rest = memoryview(line)
                while rest:
                    rest = rest[self._file.write(rest) :]
                if self._sync:
                    _sync(self._file.fileno())
                self.end += len(line)  # here, so that an interrupt finds the line counted or takes it back
            except BaseException:
                self._torn = True
                self._take_back()
                raise

    def _take_back(self) -> None:
        self._file.truncate(self.end)
        self._torn = False

    def close(self) -> None:
        """Wait for the disk, and close."""
        if not self._file.closed:
            with naming(self._path), self._file:
                os.fsync(self._file.fileno())


_sync = getattr(os, "fdatasync", os.fsync)
"""fdatasync leaves out timestamps, which nobody reads here; not every system has it."""
