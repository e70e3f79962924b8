"""`RUN/manifest.json`: what was run, on what, with which versions."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from gym_enterprise import strict_json
from gym_enterprise.errors import UsageError
from gym_enterprise.harness.disk import replacing, sync_folder
from gym_enterprise.harness.forms import ManifestForm, fault
from gym_enterprise.tasks import Task

if TYPE_CHECKING:
    from gym_enterprise.domain import Domain

NAME = "manifest.json"
SCHEMA_VERSION = 1
"""Of the run folder; raised when a reader of the old form would misread the new one."""

_LIBRARIES = ("gymnasium", "numpy", "pydantic", "apsw", "rank-bm25", "httpx")
_MODEL_LIBRARIES = ("torch", "transformers", "tokenizers", "renderers", "vllm", "sentence-transformers")
_MOST_SHOWN = 20

Manifest = dict[str, Any]


def new_manifest(
    configuration: Mapping[str, Any],
    *,
    seed: int,
    trials: int,
    domain: Domain | None,
    tasks: Iterable[Task],
    players: Mapping[str, Mapping[str, str]],
) -> Manifest:
    """Describe a run.

    Args:
        configuration: JSON values; no keys or passwords, they would be saved.
        seed: Of the run.
        trials: How often each task is played.
        domain: The domain, for the hashes of its image and documents.
        tasks: The tasks that are played.
        players: By seat, what its player is made of; see `fingerprint`.

    Raises:
        UsageError: The configuration is not JSON, or trials is below 1.
    """
    if type(trials) is not int or trials < 1:
        raise UsageError(f"trials should be a whole number of at least 1, got {trials!r}")
    try:
        saved = json.loads(json.dumps(dict(configuration), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise UsageError(f"the configuration should hold JSON values only: {error}") from None
    return {
        "schema_version": SCHEMA_VERSION,
        "configuration": saved,
        "seed": seed,
        "trials": trials,
        "content": {
            "domain": domain.name if domain else None,
            "image": domain.image.digest if domain else None,
            "documents": documents_hash(domain) if domain else None,
            "retrieval": domain.retrieval if domain else None,
            "tasks": {task.id: task.hash for task in tasks},
            "players": {seat: dict(hashes) for seat, hashes in players.items()},
        },
        "versions": versions(),
        "resumed": [],
    }


def documents_hash(domain: Domain) -> str:
    """Return a SHA-256 (hex) over id, title and content of a domain's documents, in their order."""
    listed = [[document.id, document.title, document.content] for document in domain.documents]
    return hashlib.sha256(strict_json.canonical(listed).encode()).hexdigest()


def versions() -> dict[str, str]:
    """Return the versions of Python, this package and the libraries that are installed; imports none."""
    from gym_enterprise import __version__

    found = {"python": platform.python_version(), "gym-enterprise": __version__}
    for name in _LIBRARIES + _MODEL_LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def read_manifest(folder: Path) -> Manifest:
    """Read a run's manifest.

    Raises:
        UsageError: There is none, it is not JSON, or it is of a form that this version does not know; the
            message names the field.
    """
    path = folder / NAME
    try:
        manifest = json.loads(path.read_bytes())
        version = manifest.get("schema_version", SCHEMA_VERSION)  # a missing one is told below
    except FileNotFoundError:
        raise UsageError(f"{folder} is not a run: it has no {NAME}") from None
    except AttributeError:
        raise UsageError(f"{path} is not a manifest: it should be a JSON object") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not a manifest: it is not JSON ({error})") from None
    if version != SCHEMA_VERSION:
        raise UsageError(
            f"{path} has schema_version {version!r}; this version reads {SCHEMA_VERSION}: use the version of "
            "gym-enterprise that wrote it"
        )
    try:
        ManifestForm.model_validate(manifest)
    except ValidationError as error:
        raise UsageError(
            f"{path} is not a manifest: {fault(error)}. Mend it, or take a copy from before it was edited"
        ) from None
    return manifest  # type: ignore[no-any-return]


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write a manifest so that a reader, or a crash, sees the old one or the new one and nothing between."""
    with replacing(folder / NAME) as part, part.open("wb") as file:
        file.write(json.dumps(manifest, indent=2, ensure_ascii=True).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
    sync_folder(folder)


def settings(manifest: Manifest) -> dict[str, Any]:
    """Return the part of a manifest that has to stay as it is: configuration, seed, trials, content."""
    return {key: manifest.get(key) for key in ("configuration", "seed", "trials", "content")}


def same_settings(saved: Manifest, wanted: Manifest) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settings of two manifests; what older ones did not save is left out of both."""
    old, new = settings(saved), settings(wanted)
    new["content"] = {
        key: value
        for key, value in new["content"].items()
        if key not in ("players", "retrieval") or key in old["content"]
    }
    return old, new


def changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Say, one line each, what differs between two nested dictionaries of JSON values.

    Returns:
        Lines such as `configuration.agent: "a" -> "b"`, in order of name; long lists are cut.
    """
    before, after = dict(_leaves(old)), dict(_leaves(new))
    lines = [
        f"{name}: {_short(before.get(name))} -> {_short(after.get(name))}"
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]
    if len(lines) > _MOST_SHOWN:
        lines[_MOST_SHOWN:] = [f"and {len(lines) - _MOST_SHOWN} more"]
    return lines


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from _leaves(item, f"{name}.{key}" if name else str(key))
    else:
        yield name, strict_json.canonical(value)


def _short(text: str | None) -> str:
    if text is None:
        return "(absent)"
    return text if len(text) <= 80 else f"{text[:77]}..."
