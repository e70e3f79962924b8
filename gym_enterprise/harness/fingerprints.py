"""`fingerprint`: what a player is made of, so that a resumed run is of the same one.

======================  ====================================================================================
a player's name         what is hashed
======================  ====================================================================================
`module:NAME`           the source file of the module, and of the one in the same package that defines NAME
`hf:PATH`, `vllm:PATH`  the files of a local model: configuration, tokenizer, templates, weights
any other               nothing: the gym's own come with its version, and what a server or a model hub holds
                        under a name cannot be seen
======================  ====================================================================================
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import inspect
from pathlib import Path
from typing import Any

PIECE, PIECES = 1 << 20, 16
"""Bytes of a piece of a large file that is read, and how many pieces are, from its first to its last."""

_OF_A_MODEL = {
    ".json",
    ".jinja",
    ".txt",
    ".model",
    ".py",
    ".safetensors",
    ".bin",
    ".pt",
    ".pth",
    ".gguf",
}


def fingerprint(player: Any) -> dict[str, str]:
    """Return hashes of what a player that is given by name is made of, by module or file.

    Args:
        player: As given to `evaluate`, and known to be one.

    Returns:
        SHA-256 (hex) of the source of modules; size and SHA-256 of a model's files, for a large file of
        pieces of it. Empty for a player that is not a name, or when there is nothing to be read.
    """
    if not isinstance(player, str):
        return {}
    kind, _, rest = player.partition(":")
    if kind in ("hf", "vllm"):
        return _model(Path(rest))
    if kind == "openai" or not rest:
        return {}
    return _sources(kind, getattr(importlib.import_module(kind), rest))


def _sources(module: str, player: Any) -> dict[str, str]:
    while isinstance(player, functools.partial):
        player = player.func
    definer = str(getattr(player, "__module__", module))
    names = [module, definer] if definer.split(".")[0] == module.split(".")[0] else [module]
    found = {}
    for name in dict.fromkeys(names):
        try:
            source = inspect.getsourcefile(importlib.import_module(name))
        except (TypeError, ImportError):  # built in, or made while the program runs
            continue
        if source is not None and Path(source).is_file():
            found[name] = hashlib.sha256(Path(source).read_bytes()).hexdigest()
    return found


def _model(path: Path) -> dict[str, str]:
    if path.is_file():
        return {path.name: _file(path)}
    files = sorted(path.iterdir()) if path.is_dir() else []
    return {file.name: _file(file) for file in files if file.suffix in _OF_A_MODEL and file.is_file()}


def _file(path: Path) -> str:
    size = path.stat().st_size
    digest = hashlib.sha256()
    with path.open("rb") as file:
        if size <= PIECE * PIECES:
            digest.update(file.read())
        else:
            for number in range(PIECES):
                file.seek((size - PIECE) * number // (PIECES - 1))
                digest.update(file.read(PIECE))
    return f"{size} bytes, {digest.hexdigest()}"
