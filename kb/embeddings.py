"""The vectors of passages and queries: checked, of length 1, kept in memory and, where wanted, on disk."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kb.encoder import Encoder

Directions = npt.NDArray[np.float64]
"""Vectors of length 1, or of zeros; shape [texts, dimensions]."""


KEPT = 8
"""Most sets of passages whose vectors a process keeps: a domain that is made again encodes nothing."""

_kept: dict[str, Directions] = {}
_lock = threading.Lock()


class Embeddings:
    """Asks an encoder, unless the answer is in memory or in a folder already.

    Answers are kept by a hash of the encoder's name and the texts.

    Args:
        encoder: Gives the vectors.
        cache: The folder; None keeps nothing on disk.
    """

    def __init__(self, encoder: Encoder, cache: str | Path | None = None) -> None:
        self._encoder = encoder
        self._cache = None if cache is None else Path(cache)

    def of_passages(self, texts: Sequence[str], owners: Sequence[str]) -> Directions:
        """Return one direction a passage.

        Args:
            texts: The passages.
            owners: For messages, the id of the document that each is of.

        Raises:
            ValueError: The encoder gave something other than one finite vector a text; names the document.
        """
        if not texts:
            return np.zeros((0, 0))
        key = hashlib.sha256(json.dumps([self._encoder.name, list(texts)]).encode()).hexdigest()
        path = None if self._cache is None else self._cache / f"{key}.npy"
        with _lock:
            saved = None if path is None else _read(path, len(texts))
            found = _kept.pop(key, saved)
            if found is None:
                found = self._encoded(texts, owners)
            _kept[key] = found  # last in line to go
            for oldest in list(_kept)[:-KEPT]:
                del _kept[oldest]
            if path is not None and saved is None:
                _write(path, found)
        return found

    def of_query(self, query: str, dimensions: int) -> Directions:
        """Return the direction of a query; it is encoded alone, so that nothing else shifts its digits.

        Raises:
            ValueError: The encoder gave something other than one finite vector of that many dimensions.
        """
        found = np.asarray(self._encoder.encode([query]), dtype=np.float64)
        _check_shape(found, 1, self._encoder)
        if found.shape[1] != dimensions or not np.isfinite(found).all():
            raise ValueError(
                f"query {query!r:.80}: the encoder {self._encoder.name!r} should give {dimensions} finite "
                f"numbers, as for the documents, and gave {found.shape[1]}, finite or not"
            )
        direction: Directions = _directions(found)[0]
        return direction

    def _encoded(self, texts: Sequence[str], owners: Sequence[str]) -> Directions:
        found = np.asarray(self._encoder.encode(texts), dtype=np.float64)
        _check_shape(found, len(texts), self._encoder)
        for row in np.flatnonzero(~np.isfinite(found).all(axis=1)).tolist():
            raise ValueError(
                f"document {owners[row]!r}: the encoder {self._encoder.name!r} gave a vector that is not "
                "finite; it would outrank every other, so mend the encoder or leave the document out"
            )
        return _directions(found)


def _check_shape(found: Directions, texts: int, encoder: Encoder) -> None:
    if found.ndim != 2 or len(found) != texts:
        raise ValueError(
            f"the encoder {encoder.name!r} gave numbers of shape {found.shape} for {texts} texts; it should "
            "give one vector a text"
        )


def _directions(vectors: Directions) -> Directions:
    """Divide by the length; where that is 0 there is nothing to divide."""
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    scaled = np.divide(vectors, largest, out=np.zeros_like(vectors), where=largest > 0)  # no overflow below
    length = np.sqrt((scaled**2).sum(axis=1, keepdims=True))
    directions: Directions = np.divide(scaled, length, out=scaled, where=length > 0)
    return directions


def _read(path: Path, texts: int) -> Directions | None:
    """Return what a file holds, or None where there is none, or one that is no use."""
    try:
        found = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    usable = (
        isinstance(found, np.ndarray)
        and found.dtype == np.float64
        and found.ndim == 2
        and len(found) == texts
        and bool(np.isfinite(found).all())
    )
    return found if usable else None


def _write(path: Path, vectors: Directions) -> None:
    """Write a file under another name and move it into place, so that no reader sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, part = tempfile.mkstemp(dir=path.parent, prefix=path.stem, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            np.save(file, vectors, allow_pickle=False)
        os.replace(part, path)
    except BaseException:
        os.unlink(part)
        raise
