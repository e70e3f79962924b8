"""How long `import gym_enterprise` takes, as a ratio to `import gymnasium`.

Run: python benchmarks/import.py

Each import runs in a fresh process, in turn, so that both see the same machine. Aim: at most 2.
"""

from __future__ import annotations

import statistics
import subprocess
import sys

ROUNDS = 9
PROGRAM = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"


def seconds(package: str) -> float:
    """Return the seconds that importing a package takes in a new interpreter."""
    output = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(package)], check=True, capture_output=True, text=True
    )
    return float(output.stdout)


def main() -> None:
    packages = ("gymnasium", "gym_enterprise")
    for package in packages:
        seconds(package)
    rounds = [[seconds(package) for package in packages] for _ in range(ROUNDS)]
    base, ours = (statistics.median(column) for column in zip(*rounds, strict=True))
    ratio = statistics.median(mine / theirs for theirs, mine in rounds)
    print(f"import gymnasium       {base * 1000:7.0f} ms (median of {ROUNDS})")
    print(f"import gym_enterprise  {ours * 1000:7.0f} ms")
    print(f"ratio                  {ratio:7.2f} (aim: at most 2)")


if __name__ == "__main__":
    main()
