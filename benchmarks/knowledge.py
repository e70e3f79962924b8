"""How long the bank's knowledge base takes to load, as a ratio to reading its documents alone.

Run: python benchmarks/knowledge.py

A process loads it once. Aim: under 50 ms, and less than ten times what reading the Markdown files takes.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

import kb

ROUNDS = 15
FOLDER = Path(kb.__file__).parent / "banking"


def seconds(load: Callable[[Path], object]) -> float:
    """Return the seconds that one load takes."""
    start = time.perf_counter()
    load(FOLDER)
    return time.perf_counter() - start


def main() -> None:
    rounds = [(seconds(kb.load_documents), seconds(kb.load_knowledge_base)) for _ in range(ROUNDS)]
    read, loaded = (statistics.median(column) for column in zip(*rounds, strict=True))
    ratio = statistics.median(mine / theirs for theirs, mine in rounds)
    print(f"reading the documents    {read * 1000:6.1f} ms (median of {ROUNDS})")
    print(f"loading, facts compiled  {loaded * 1000:6.1f} ms (aim: under 50)")
    print(f"ratio                    {ratio:6.2f} (aim: at most 10)")


if __name__ == "__main__":
    main()
