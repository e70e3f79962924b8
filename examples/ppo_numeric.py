"""Masked PPO learns two families of bank tasks from scratch: no language model, one file, two CPU cores.

Run (each seed takes about seven minutes; a run that was stopped goes on where it was when started again):

    python examples/ppo_numeric.py --seed 1
    python examples/ppo_numeric.py --seed 2
    python examples/ppo_numeric.py --seed 3
    python examples/ppo_numeric.py --plot docs/ppo_numeric.png

The agent sees a conversation as some 380 numbers and picks from a menu of 310 entries (`NumericView`); the
scripted customer answers. It has to ask for what it needs, find and verify the customer, list the right card,
and make the one right change: freeze it for the reason that follows from the customer's story, or lower the
limit that the customer named to the amount named. The reward is 1 if the records are then exactly as they
should be, 0 otherwise. Customers of training and of evaluation share no name; evaluation takes the most
likely entry.

The manner is that of CleanRL's `ppo.py`; the paper is https://arxiv.org/abs/1707.06347. Where it differs:

* Closed entries get a logit of minus infinity, in acting and in learning (https://arxiv.org/abs/2006.14171).
* Before learning, the tools are equally likely, not the entries: one with 77 entries would drown the rest.
* Among the open entries of the tool that was taken, those that the policy has given up are held open by the
  divergence from an even choice. Else the first limit that earns a reward is kept, and taken for everybody:
  where it is wrong nothing better is expected, so nothing speaks against it.
* Exploration is paid by counts, beta / sqrt(n), as in https://arxiv.org/abs/1611.04717: for each value that
  comes to be known and each tool that works for the first time in an episode, where n is how often that was
  so before. It fades by itself; success, as printed and plotted, is the reward alone.
* Advantages are not divided by their deviation while there is nothing to tell apart.
* The budget of steps ends an episode for good, as the share of it that is left is among the numbers seen.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium.vector import AsyncVectorEnv, AutoresetMode
from torch import Tensor, nn

from gym_enterprise import load_domain
from gym_enterprise.domains.banking import procedures
from gym_enterprise.envs import NumericView, SingleAgentEnv

FAMILIES = ("freeze_card", "lower_limit")
ENVS, STEPS = 16, 128
"""Environments, and steps of each between two updates."""
EPOCHS, MINIBATCHES = 4, 4
GAMMA, LAMBDA, CLIP, VALUE_WEIGHT, ENTROPY_WEIGHT, MAX_NORM = 0.99, 0.95, 0.2, 0.5, 0.01, 0.5
LEARNING_RATE = 1e-3
"""At the start; it falls to zero in the end."""
EVEN_WEIGHT = 0.1
"""Of the divergence from an even choice among the entries of a tool."""
BONUS = 0.1
"""Beta of the exploration bonus."""
MAX_STEPS = 40
"""Budget of messages and calls of an episode."""
TRAIN_TASKS, TEST_TASKS = 128, 200
"""Customers of training for each environment, and of evaluation."""
EVALUATE_EVERY = 20
"""Updates between two evaluations, each of which also saves."""


class Policy(nn.Module):
    """Two networks: one scores the entries of the menu, the other one values the state."""

    def __init__(self, features: int, labels: list[str], width: int = 256) -> None:
        super().__init__()
        self.actor = _network(features, width, len(labels), 0.01)
        self.critic = _network(features, width, 1, 1.0)
        tools = [" ".join(label.split()[:2]) for label in labels]
        sizes = Counter(tools)
        self.actor[-1].bias.data = torch.tensor([-math.log(sizes[tool]) for tool in tools])
        self.same_tool = torch.tensor([[one == other for other in tools] for one in tools])

    def act(self, seen: Tensor, mask: Tensor) -> torch.distributions.Categorical:
        """Return the distribution over the open entries."""
        return torch.distributions.Categorical(logits=self.actor(seen).masked_fill(~mask, -1e9))

    def divergence(self, logits: Tensor, mask: Tensor, taken: Tensor) -> Tensor:
        """Return how far the choice among the open entries of the tool that was taken is from an even one."""
        alike = self.same_tool[taken] & mask
        inside = logits.masked_fill(~alike, -math.inf).log_softmax(-1).masked_fill(~alike, 0.0)
        count = alike.sum(-1)
        return -inside.sum(-1) / count - count.log()


def _network(features: int, width: int, outputs: int, gain: float) -> nn.Sequential:
    layers = [nn.Linear(features, width), nn.Linear(width, width), nn.Linear(width, outputs)]
    for layer, scale in zip(layers, (math.sqrt(2), math.sqrt(2), gain), strict=True):
        nn.init.orthogonal_(layer.weight, scale)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(layers[0], nn.Tanh(), layers[1], nn.Tanh(), layers[2])


class Curiosity:
    """Pays for what is new in an episode, the less the more often that was new in others."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.columns = [place for place, name in enumerate(names) if name.startswith(("known", "worked"))]
        self.counts = np.zeros(len(self.columns))

    def bonus(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Return what each environment earns by a step, and count it."""
        new = (after[:, self.columns] > 0) & (before[:, self.columns] == 0)
        self.counts += new.sum(axis=0)
        return BONUS * (new / np.sqrt(np.maximum(self.counts, 1))).sum(axis=1)


def make_env(tasks: Path) -> NumericView:
    return NumericView(SingleAgentEnv("banking", tasks=tasks, max_steps=MAX_STEPS), mask_in_obs=True)


def write_tasks(path: Path, seed: int, count: int, split: Any) -> Path:
    made = procedures.tasks(seed, count, FAMILIES, split=split, research=False)
    path.write_text("".join(task.model_dump_json() + "\n" for task in made))
    return path


def evaluate(policy: Policy, env: NumericView, tasks: list[str]) -> dict[str, float]:
    """Play each task once with the most likely entries; return the share of successes of each family."""
    won: dict[str, list[float]] = {family: [] for family in FAMILIES}
    for number, task in enumerate(tasks):
        seen, _ = env.reset(seed=number, options={"task_id": task})
        over, reward = False, 0.0
        while not over:
            with torch.no_grad():
                logits = policy.act(*tensors(seen)).logits
            seen, reward, terminated, truncated, _ = env.step(int(logits.argmax()))
            over = terminated or truncated
        won[task.partition("-")[0]].append(reward)
    return {family: float(np.mean(rewards)) for family, rewards in won.items()}


def tensors(seen: dict[str, np.ndarray]) -> tuple[Tensor, Tensor]:
    return torch.from_numpy(seen["observation"]), torch.from_numpy(seen["action_mask"]).bool()


def train(seed: int, total: int, out: Path) -> None:
    torch.manual_seed(seed)
    torch.set_num_threads(1)  # the networks are small: threads would wait for each other
    out.mkdir(parents=True, exist_ok=True)
    saved = out / "checkpoint.pt"
    folder = Path(tempfile.mkdtemp())
    load_domain("banking")  # once, before it is shared by all processes
    makers = [
        partial(make_env, write_tasks(folder / f"{number}.jsonl", seed * 100 + number, TRAIN_TASKS, "train"))
        for number in range(ENVS)  # customers of its own for each environment
    ]
    envs = AsyncVectorEnv(makers, autoreset_mode=AutoresetMode.SAME_STEP)  # a process each
    test_env = make_env(write_tasks(folder / "test.jsonl", 0, TEST_TASKS, "test"))
    held_out = [json.loads(line)["id"] for line in (folder / "test.jsonl").read_text().splitlines()]
    labels = [test_env.describe(entry) for entry in range(int(test_env.action_space.n))]
    policy = Policy(len(test_env.feature_names), labels)
    optimizer = torch.optim.Adam(policy.parameters(), lr=LEARNING_RATE, eps=1e-5)
    curiosity = Curiosity(test_env.feature_names)
    update, spent, curve = 0, 0.0, []
    if saved.exists():
        state = torch.load(saved, weights_only=False)
        policy.load_state_dict(state["policy"])
        optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["rng"])
        curiosity.counts, update, spent, curve = (
            state["counts"],
            state["update"],
            state["spent"],
            state["curve"],
        )
        print(f"goes on after update {update}, {spent / 60:.1f} minutes")

    shape = (STEPS, ENVS)
    observations = torch.zeros(*shape, len(test_env.feature_names))
    masks = torch.zeros(*shape, len(labels), dtype=torch.bool)
    actions, log_probs = torch.zeros(shape, dtype=torch.long), torch.zeros(shape)
    rewards, dones, values = torch.zeros(shape), torch.zeros(shape), torch.zeros(shape)
    seen, _ = envs.reset(seed=seed * 1_000 + update)
    started = time.perf_counter() - spent

    while True:
        spent = time.perf_counter() - started
        over = update * ENVS * STEPS >= total
        if over or update % EVALUATE_EVERY == 0:
            success = evaluate(policy, test_env, held_out)
            point = {"update": update, "steps": update * ENVS * STEPS, "minutes": spent / 60, **success}
            if not curve or curve[-1]["update"] < update:
                curve.append(point)
            shares = ", ".join(f"{family} {share:.1%}" for family, share in success.items())
            print(
                f"seed {seed}, {spent / 60:.1f} min, {point['steps']:,} steps, held out: {shares}", flush=True
            )
            state = {"policy": policy.state_dict(), "optimizer": optimizer.state_dict(), "update": update}
            state |= {
                "rng": torch.get_rng_state(),
                "counts": curiosity.counts,
                "spent": spent,
                "curve": curve,
            }
            torch.save(state, saved.with_suffix(".new"))
            saved.with_suffix(".new").replace(saved)
            (out / "curve.json").write_text(json.dumps(curve, indent=1))
        if over:
            break

        # -- play -------------------------------------------------------------------------------------
        for step in range(STEPS):
            observations[step], masks[step] = tensors(seen)
            with torch.no_grad():
                distribution = policy.act(observations[step], masks[step])
                actions[step] = distribution.sample()
                log_probs[step] = distribution.log_prob(actions[step])
                values[step] = policy.critic(observations[step]).squeeze(-1)
            before = seen["observation"]
            seen, earned, terminated, truncated, _ = envs.step(actions[step].numpy())
            ended = terminated | truncated
            bonus = curiosity.bonus(before, np.where(ended[:, None], 0.0, seen["observation"]))
            rewards[step] = torch.from_numpy(earned + bonus)
            dones[step] = torch.from_numpy(ended)

        # -- advantages -------------------------------------------------------------------------------
        with torch.no_grad():
            following = policy.critic(tensors(seen)[0]).squeeze(-1)
        advantages, advantage = torch.zeros(shape), torch.zeros(ENVS)
        for step in reversed(range(STEPS)):
            alive = 1.0 - dones[step]
            delta = rewards[step] + GAMMA * following * alive - values[step]
            advantages[step] = advantage = delta + GAMMA * LAMBDA * alive * advantage
            following = values[step]
        returns = advantages + values

        # -- learn ------------------------------------------------------------------------------------
        for group in optimizer.param_groups:
            group["lr"] = LEARNING_RATE * (1 - update * ENVS * STEPS / total)
        parts = (observations, masks, actions, log_probs, advantages, returns)
        batch = [part.flatten(0, 1) for part in parts]
        for _ in range(EPOCHS):
            for chosen in torch.randperm(ENVS * STEPS).chunk(MINIBATCHES):
                x, mask, action, old, advantage, target = (part[chosen] for part in batch)
                distribution = policy.act(x, mask)
                ratio = (distribution.log_prob(action) - old).exp()
                advantage = (advantage - advantage.mean()) / advantage.std().clamp(min=0.05)
                surrogate = torch.min(ratio * advantage, ratio.clamp(1 - CLIP, 1 + CLIP) * advantage).mean()
                value_loss = 0.5 * (policy.critic(x).squeeze(-1) - target).square().mean()
                entropy = distribution.entropy().mean()
                uneven = policy.divergence(distribution.logits, mask, action).mean()
                loss = VALUE_WEIGHT * value_loss - surrogate - ENTROPY_WEIGHT * entropy + EVEN_WEIGHT * uneven
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(policy.parameters(), MAX_NORM)
                optimizer.step()

        update += 1
    envs.close()
    share = np.mean(list(success.values()))
    print(f"seed {seed}: {share:.1%} of {TEST_TASKS} held-out customers, {spent / 60:.1f} minutes")


def plot(runs: Path, picture: Path) -> None:
    """Draw the curves of all seeds under a folder, and print the table."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
    print("| seed | before | after | minutes | steps |", "|---|---:|---:|---:|---:|", sep="\n")
    for path in sorted(runs.glob("seed-*/curve.json")):
        curve = json.loads(path.read_text())
        shares = [100 * np.mean([point[family] for family in FAMILIES]) for point in curve]
        axes.plot([point["minutes"] for point in curve], shares, label=path.parent.name.replace("-", " "))
        last = curve[-1]
        seed = path.parent.name.removeprefix("seed-")
        print(
            f"| {seed} | {shares[0]:.1f} % | {shares[-1]:.1f} % | {last['minutes']:.1f} | {last['steps']:,} |"
        )
    axes.set(xlabel="minutes on two CPU cores", ylabel="held-out customers served, %", ylim=(-2, 102))
    axes.axhline(80, color="grey", linewidth=0.8, linestyle=":")
    axes.legend()
    axes.grid(alpha=0.3)
    figure.savefig(picture, dpi=130)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the run, and of its customers")
    parser.add_argument("--steps", type=int, default=600_000, help="how long to train, all starts together")
    parser.add_argument("--out", type=Path, default=Path("runs/ppo_numeric"), help="where the runs are kept")
    parser.add_argument(
        "--plot", type=Path, help="draw the curves of all runs under --out, and train nothing"
    )
    options = parser.parse_args()
    if options.plot:
        plot(options.out, options.plot)
    else:
        train(options.seed, options.steps, options.out / f"seed-{options.seed}")
