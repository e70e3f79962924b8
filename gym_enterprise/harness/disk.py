"""Files on disk: replaced as a whole, brought to the disk, and errors that say which file they are about."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Give an `OSError` that names no file, such as one of a full disk, the name of this one."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


@contextmanager
def replacing(path: Path, part: Path | None = None) -> Iterator[Path]:
    """Write a file so that a reader, or a crash, sees the old one or the new one and nothing between.

    Args:
        path: The file.
        part: What is written first, and takes its place at the end; by default beside it, ending in ".part".
    """
    part = part or path.with_name(f"{path.name}.part")
    try:
        with naming(part):
            yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a loss of power, where the system can do that."""
    if os.name == "nt":
        return
    with naming(folder):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
