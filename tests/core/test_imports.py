"""What importing loads, and which package may import which: the arrows point down (docs/concepts.md)."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import gym_enterprise

ROOT = Path(__file__).parents[2]
OURS = {"gym_enterprise", "kb", "simulators", "train"}
HEAVY = ["torch", "transformers", "vllm", "sentence_transformers", "pettingzoo", "httpx", "typer", "rich"]


def test_importing_the_gym_loads_nothing_heavy() -> None:
    code = f"import sys, gym_enterprise; print(sorted(set({HEAVY}) & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def imports(package: str) -> Iterator[tuple[Path, str]]:
    """Every top-level name that any file of a package imports, lazily or not."""
    for path in sorted((ROOT / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield path, alias.name.partition(".")[0]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path}: relative import"
                yield path, str(node.module).partition(".")[0]


@pytest.mark.parametrize(
    ("package", "allowed"),
    [
        ("kb", {"kb"}),
        ("simulators", {"simulators"}),
        ("gym_enterprise", {"gym_enterprise", "kb", "simulators"}),
    ],
)
def test_the_arrows_between_the_packages_point_down(package: str, allowed: set[str]) -> None:
    files = list(imports(package))
    assert files, f"no file of {package} was found"
    wrong = [f"{path.relative_to(ROOT)} imports {name}" for path, name in files if name in OURS - allowed]
    assert wrong == []


def test_the_leaves_import_at_load_time_only_what_their_package_may() -> None:
    may = {"kb": {"numpy", "rank_bm25"}, "simulators": set()}
    local = ROOT / "simulators" / "engines" / "local"  # loaded by the engine that needs it
    for package, outside in may.items():
        for path in sorted((ROOT / package).rglob("*.py")):
            if local in path.parents:
                continue
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
                for name in names:
                    top = name.partition(".")[0]
                    assert top in sys.stdlib_module_names or top in outside | {package}, (
                        f"{path} imports {name}"
                    )


def test_every_public_name_is_there() -> None:
    for name in gym_enterprise.__all__:
        assert getattr(gym_enterprise, name) is not None
        assert name in dir(gym_enterprise)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        gym_enterprise.nothing  # noqa: B018


def test_type_checkers_and_programs_see_the_same_names() -> None:
    stub = (ROOT / "gym_enterprise" / "__init__.pyi").read_text()
    seen = {
        alias.asname
        for node in ast.parse(stub).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen | {"__version__"} == set(gym_enterprise.__all__)
