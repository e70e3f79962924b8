"""A process that writes a run: `python writer.py FOLDER TASKS TRIALS BYTES`; it ends when its input does."""

from __future__ import annotations

import sys

from gym_enterprise import RunLocked, open_run
from tests.harness.records import record, said


def main(folder: str, tasks: int, trials: int, size: int) -> None:
    """Append what is missing, each record of about `size` bytes, and wait for the end of the input."""
    try:
        run = open_run(folder, {"agent": "oracle"}, resume=True, trials=trials)
    except RunLocked as error:
        print(f"refused: {error}", flush=True)
        return
    with run:
        print("opened", flush=True)
        transcript = tuple(said("agent", "x" * size))
        for task_id, trial in run.missing([f"t{number}" for number in range(tasks)], trials):
            run.append(record(task_id, trial, transcript=transcript))
        print("done", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1], *(int(argument) for argument in sys.argv[2:]))
