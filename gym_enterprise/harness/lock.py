"""`FileLock`: one holder at a time, released by the system when the holder dies, however it dies."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from pathlib import Path
from typing import IO

from gym_enterprise.errors import RunLocked, UsageError
from gym_enterprise.harness.disk import naming


class FileLock:
    """An exclusive lock on a file, held from construction until `release`.

    The file names its holder (process id and host), and stays when it is released.

    Args:
        path: The lock file; made if it is not there.

    Raises:
        RunLocked: Another process, or another writer in this one, holds it; the message names the holder.
        UsageError: The file system offers no locks.
        OSError: The file cannot be opened or written: it is a folder, say, or the disk is full.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o644), "r+b", buffering=0)
        try:
            taken = _take(self._file)
        except OSError as error:
            self._file.close()
            raise UsageError(
                f"{path}: the file system cannot lock files ({error.strerror}): put the run on another one"
            ) from error
        if not taken:
            holder = self._holder()
            self._file.close()
            raise RunLocked(
                f"{path.parent} is being written by {holder}: a run has one writer at a time; let it finish, "
                "stop it, or choose another folder (reading is always possible)"
            )
        try:
            self._write({"pid": os.getpid(), "host": socket.gethostname()})
        except OSError:
            self._file.close()
            raise

    def release(self) -> None:
        """Let others have it."""
        if not self._file.closed:
            with self._file:
                self._write(None)

    def _write(self, holder: dict[str, object] | None) -> None:
        with naming(self._path):
            self._file.seek(0)
            self._file.truncate()
            if holder:
                self._file.write(json.dumps(holder).encode())

    def _holder(self) -> str:
        for _ in range(100):  # who has just taken the lock is about to write its name
            self._file.seek(0)
            try:
                holder = json.loads(self._file.read())
                return f"process {holder['pid']} on {holder['host']}"
            except (ValueError, KeyError, TypeError):
                time.sleep(0.001)
        return "another process"


if sys.platform == "win32":
    import msvcrt

    _FAR = 1 << 30
    """The locked byte: far behind the text, which others must be able to read."""

    def _take(file: IO[bytes]) -> bool:
        file.seek(_FAR)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        finally:
            file.seek(0)
        return True

else:
    import fcntl

    def _take(file: IO[bytes]) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
