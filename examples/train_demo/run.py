"""The demonstration: all seeds, two at a time, each with one thread; then the table and the picture.

    make train-demo                                    three seeds: about two and a half hours on two cores
    python -m examples.train_demo.run --seeds 1        one seed
    python -m examples.train_demo.run --results        the table of what there is so far

It can be stopped at any time; the same command goes on.
"""

from __future__ import annotations

import argparse
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from examples.train_demo.results import write
from examples.train_demo.stages import Size, run


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        "examples.train_demo.run", description="Teach a small model to serve a bank's customers."
    )
    parser.add_argument(
        "--out", type=Path, default=Path("runs/train-demo"), help="folder of all that is made"
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], metavar="SEED")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="seeds at once, a core each")
    parser.add_argument("--results", action="store_true", help="only write table and picture")
    options = parser.parse_args()
    folders = {seed: options.out.resolve() / f"seed-{seed}" for seed in options.seeds}
    if not options.results:
        spawning = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(options.jobs, mp_context=spawning) as pool:
            started = [pool.submit(run, folder, seed, Size()) for seed, folder in folders.items()]
            for one in started:
                one.result()
    write(options.out, folders)


if __name__ == "__main__":
    main()
