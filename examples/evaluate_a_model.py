"""Evaluate an agent on Banking-v0: save every episode, print the pass rate, grade again, compare.

Run: python examples/evaluate_a_model.py

It needs no network: the agents are the oracle, and one that only talks. For a model, start a server and give
"openai:MODEL@http://localhost:8000/v1" in place of the agent.
"""

import asyncio
import tempfile
from pathlib import Path

from gym_enterprise import Observation, View, compare, evaluate, load_domain, read_run, regrade_run


class OnlyTalks:
    """Your policy goes here: built from what the agent may know of a task, and a seed."""

    def __init__(self, view: View, seed: int) -> None:
        self.tools = view.tools

    def act(self, observation: Observation) -> dict[str, str]:
        """Return an action; a policy that waits for a model has `async def aact` besides."""
        return {"type": "message", "content": "Of course, that is done. Anything else?"}


def main() -> None:
    domain = load_domain("banking")
    tasks = list(domain.tasks["test"].values())
    with tempfile.TemporaryDirectory() as folder:
        for name, agent in {"talks": OnlyTalks, "oracle": "oracle"}.items():
            summary = asyncio.run(evaluate(Path(folder, name), domain, tasks, agent, trials=2, concurrency=8))
            print(f"{name}: {summary.headline}")
        talks, oracle = read_run(Path(folder, "talks")), read_run(Path(folder, "oracle"))
        print(f"graded again: {len(regrade_run(oracle).differences)} differ")
        found = compare(talks, oracle)
        print(f"the oracle is better on {found.better} of {found.tasks} tasks, p = {found.p_value:.3f}")


if __name__ == "__main__":
    main()
