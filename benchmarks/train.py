"""An optimisation step of GRPO against TRL's, side by side: tokens a second and peak memory.

Run: python benchmarks/train.py [--rounds 5] [--rows 32] [--length 400] [--batch 8] [--vocabulary 1000 32000]

Needs the packages of training, and TRL, which the project does not depend on: pip install trl

Both sides have a copy of one Llama with random weights and the same rows: dialogues of several turns, in
which what the agent sampled counts and the rest is only read. A step goes through all rows in micro-batches
of so many rows, the same for both, and ends with one update by AdamW after the gradients were clipped.

=====  ===================================================================================================
ours   token_logprobs, policy_loss, backward and Optimiser.step, as in the loop of `train.grpo`
trl    `GRPOTrainer.compute_loss` (loss_type "dapo", beta 0, token weights of vLLM), backward, clipping and
       the trainer's own optimiser, without the rest of its loop; micro-batches padded as TRL pads them,
       prompts on the left and completions on the right
=====  ===================================================================================================

The losses and gradients of the two are compared first, and have to agree. Then the sides take turns in every
round; printed are medians over the rounds of tokens (without padding) a second of processor time, and of the
ratio of the two. Aim: 1.2. On a CPU, TRL 1.16 puts every position through the output head, and we those that
count; on GPUs with Triton it leaves the others out too, so that the ratio there is another one.

Memory is measured in a process of its own for each side: how far its resident set grows at its peak over
three steps, above what it was before them, with the model loaded.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.pop(0)  # this folder, in which this file has the name of the package

AIM = 1.2
SIDES = ("ours", "trl")
LR = 1e-6


def main() -> None:
    options = parse(sys.argv[1:])
    try:
        import torch
        import trl
    except ImportError as error:
        print(f"skipped: {error}; pip install 'gym-enterprise[train]' trl")
        return
    torch.set_num_threads(options.threads)
    if options.grow:
        print(json.dumps(grow(options, options.vocabulary[0])))
        return
    print(f"TRL {trl.__version__}; {options.rows} rows of up to {options.length}, {options.batch} at once")
    for vocabulary in options.vocabulary:
        compare(options, vocabulary)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5, help="how often each side is measured")
    parser.add_argument("--rows", type=int, default=32, help="dialogues of a step")
    parser.add_argument("--length", type=int, default=400, help="most tokens of a dialogue")
    parser.add_argument("--batch", type=int, default=8, help="dialogues of a micro-batch")
    parser.add_argument(
        "--vocabulary",
        type=int,
        nargs="+",
        default=[1000, 32000],
        help="tokens of the models, one after another",
    )
    parser.add_argument("--width", type=int, default=128, help="of the models")
    parser.add_argument("--layers", type=int, default=4, help="of the models")
    parser.add_argument("--threads", type=int, default=1, help="of torch")
    parser.add_argument("--grow", choices=SIDES, help=argparse.SUPPRESS)  # in a process for the memory
    return parser.parse_args(arguments)


def compare(options: argparse.Namespace, vocabulary: int) -> None:
    """Print the table of one model."""
    model, batches = make_model(options, vocabulary), make_batches(options, vocabulary)
    steps = {"ours": ours(copy.deepcopy(model), batches), "trl": theirs(copy.deepcopy(model), batches)}
    agree(*(step(update=False) for step in steps.values()))
    tokens = sum(len(row.ids) for batch in batches for row in batch.rows)
    seconds: dict[str, list[float]] = {side: [] for side in SIDES}
    for number in range(options.rounds + 1):
        for side in SIDES if number % 2 else reversed(SIDES):
            start = time.process_time()
            steps[side](update=True)
            seconds[side] += [time.process_time() - start] if number else []  # the first round warms up
    memory = {side: measured_growth(options, vocabulary, side) for side in SIDES}
    share = sum(int(batch.mask.sum()) for batch in batches) / tokens
    size = sum(one.numel() for one in model.parameters()) / 1e6
    print(f"\nvocabulary {vocabulary}, {size:.1f} M parameters, {share:.0%} of the tokens count")
    for side in SIDES:
        rate = tokens / statistics.median(seconds[side])
        print(f"  {side:5} {rate:9,.0f} tokens/s   {memory[side]:7.1f} MiB above the model at the peak")
    faster = statistics.median(b / a for a, b in zip(seconds["ours"], seconds["trl"], strict=True))
    spread = sorted(b / a for a, b in zip(seconds["ours"], seconds["trl"], strict=True))
    print(
        f"  ratio {faster:.2f} (aim: {AIM}), from {spread[0]:.2f} to {spread[-1]:.2f} over the rounds;",
        end=" ",
    )
    print(f"memory {memory['ours'] / memory['trl']:.2f} of TRL's")


# -- what both sides get ----------------------------------------------------------------------------------


def make_model(options: argparse.Namespace, vocabulary: int) -> Any:
    """Return a Llama with random weights, of 4 heads and tied embeddings."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=options.width,
        intermediate_size=8 * options.width // 3 // 8 * 8,
        num_hidden_layers=options.layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=2 * options.length,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=1,
        pad_token_id=0,
    )
    return LlamaForCausalLM(config)


def make_batches(options: argparse.Namespace, vocabulary: int) -> list[Any]:
    """Return the micro-batches: dialogues in groups of 8, a third of each the prompt, then turns."""
    from train.batching import Batch, Row

    rng = random.Random(0)

    def dialogue(number: int) -> Row:
        length = rng.randint(options.length // 2, options.length)
        sampled = [0] * (length // 3)
        while len(sampled) < length:
            sampled += [1] * rng.randint(10, 40) + [0] * rng.randint(10, 60)
        mask = tuple(sampled[:length])
        ids = tuple(rng.randrange(2, vocabulary) for _ in mask)
        return Row(ids, mask, (0.0,) * length, number // 8, number, rng.choice((-1.0, 0.5, 1.2)))

    rows = sorted(map(dialogue, range(options.rows)), key=lambda row: -len(row.ids))
    return [Batch.of(rows[start : start + options.batch]) for start in range(0, len(rows), options.batch)]


def behind(model: Any, batches: list[Any]) -> list[tuple[Any, Any]]:
    """Return for each batch the log-probabilities before the step, and by an engine that is a little off."""
    import torch

    from train.logprobs import token_logprobs

    torch.manual_seed(0)
    with torch.no_grad():
        old = [token_logprobs(model, batch.ids, batch.attention, batch.mask) for batch in batches]
    return [(one, (one + 0.01 * torch.randn_like(one)).where(one != 0, 0.0)) for one in old]


def agree(one: tuple[float, list[Any]], other: tuple[float, list[Any]]) -> None:
    """Stop unless two losses, and their gradients, are the same but for rounding."""
    apart = max(float((a - b).norm() / b.norm()) for a, b in zip(one[1], other[1], strict=True))
    if abs(one[0] - other[0]) > 1e-5 or apart > 1e-3:
        raise SystemExit(
            f"the two do not compute the same: losses {one[0]} and {other[0]}, gradients {apart}"
        )


# -- the two sides ----------------------------------------------------------------------------------------

Step = Callable[..., tuple[float, list[Any]]]


def ours(model: Any, batches: list[Any]) -> Step:
    """Return what makes a step, and tells the loss and, without an update, the gradients."""
    from train.batching import Batch
    from train.config import Optim
    from train.logprobs import token_logprobs
    from train.losses import loss_totals, policy_loss
    from train.optim import Optimiser

    optimiser = Optimiser(model, Optim(lr=LR, weight_decay=0.0, betas=(0.9, 0.999)), steps=10**6)
    before = behind(model, batches)
    every = Batch.of([row for batch in batches for row in batch.rows])

    def step(*, update: bool) -> tuple[float, list[Any]]:
        totals = loss_totals(every.mask, every.group_ids, rollout_ids=every.rollout_ids)
        loss = 0.0
        for batch, (old, engine) in zip(batches, before, strict=True):
            logp = token_logprobs(model, batch.ids, batch.attention, batch.mask)
            result = policy_loss(
                *(logp, old, engine, batch.advantages, batch.mask, batch.group_ids),
                rollout_ids=batch.rollout_ids,
                totals=totals,
                normaliser="batch",
            )
            result.loss.backward()
            loss += result.loss.item()
        gradients = [] if update else [one.grad.clone() for one in model.parameters()]
        if update:
            optimiser.step()
        optimiser.zero_grad()
        return loss, gradients

    return step


def theirs(model: Any, batches: list[Any]) -> Step:
    """Return the same of TRL."""
    import torch

    before = behind(model, batches)
    trainer = make_trainer(model, len(batches), len(batches[0].rows))
    counted = torch.stack([batch.mask.sum() for batch in batches]).sum()
    inputs = [trl_inputs(batch, *logprobs, counted) for batch, logprobs in zip(batches, before, strict=True)]
    optimiser = trainer.create_optimizer()
    model.train()

    def step(*, update: bool) -> tuple[float, list[Any]]:
        total = 0.0
        for one in inputs:
            loss = trainer.compute_loss(model, one)
            loss.backward()
            total += loss.item()
        gradients = [] if update else [one.grad.clone() for one in model.parameters()]
        if update:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
        optimiser.zero_grad()
        return total, gradients

    return step


def make_trainer(model: Any, micro_batches: int, rows: int) -> Any:
    """Return TRL's trainer, of which only the loss and the optimiser are used."""
    from datasets import Dataset
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast
    from trl import GRPOConfig, GRPOTrainer

    words = {f"w{number}": number for number in range(model.config.vocab_size)}
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordLevel(words, unk_token="w0")), pad_token="w0", eos_token="w1"
    )
    settings: dict[str, Any] = {
        "output_dir": tempfile.gettempdir(),  # where nothing is written
        "per_device_train_batch_size": rows,
        "gradient_accumulation_steps": micro_batches,
        "steps_per_generation": micro_batches,
        "num_generations": 8,
        "loss_type": "dapo",
        "beta": 0.0,
        "learning_rate": LR,
        "use_cpu": True,
        "bf16": False,
        "gradient_checkpointing": False,
        "report_to": "none",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer = GRPOTrainer(
            model,
            reward_funcs=lambda completions, **_: [0.0] * len(completions),
            args=GRPOConfig(**settings),
            train_dataset=Dataset.from_list([{"prompt": "w2"}] * micro_batches * rows),
            processing_class=tokenizer,
        )
    trainer.current_gradient_accumulation_steps = micro_batches
    trainer.use_vllm = trainer.vllm_importance_sampling_correction = True  # so that the weights count
    return trainer


def trl_inputs(batch: Any, old: Any, engine: Any, counted: Any) -> dict[str, Any]:
    """Return a micro-batch as TRL's trainer has it."""
    import torch

    prompts = [row.sampled.index(1) for row in batch.rows]
    left, right = max(prompts), max(len(row.ids) - at for row, at in zip(batch.rows, prompts, strict=True))
    size = len(batch.rows)
    made: dict[str, Any] = {
        "prompt_ids": torch.zeros(size, left, dtype=torch.long),
        "prompt_mask": torch.zeros(size, left, dtype=torch.long),
        "completion_ids": torch.zeros(size, right, dtype=torch.long),
        "completion_mask": torch.zeros(size, right, dtype=torch.long),
        "tool_mask": torch.zeros(size, right, dtype=torch.long),
        "old_per_token_logps": torch.zeros(size, right),
        "importance_sampling_ratio": torch.ones(size, right),
    }
    for place, (row, at) in enumerate(zip(batch.rows, prompts, strict=True)):
        end = len(row.ids)
        made["prompt_ids"][place, left - at :] = batch.ids[place, :at]
        made["prompt_mask"][place, left - at :] = 1
        made["completion_ids"][place, : end - at] = batch.ids[place, at:end]
        made["completion_mask"][place, : end - at] = 1
        made["tool_mask"][place, : end - at] = batch.mask[place, at:end]
        made["old_per_token_logps"][place, : end - at] = old[place, at:end]
        made["importance_sampling_ratio"][place, : end - at] = (old - engine).exp()[place, at:end]
    return made | {"advantages": batch.advantages, "num_items_in_batch": counted}


# -- memory -----------------------------------------------------------------------------------------------


def measured_growth(options: argparse.Namespace, vocabulary: int, side: str) -> float:
    """Return in MiB what `grow` measures, in a process of its own."""
    given = vars(options) | {"vocabulary": vocabulary, "grow": side}
    arguments = itertools.chain.from_iterable((f"--{name}", str(value)) for name, value in given.items())
    done = subprocess.run(
        [sys.executable, __file__, *arguments], capture_output=True, text=True, check=False, env=os.environ
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return float(json.loads(done.stdout.splitlines()[-1]))


def grow(options: argparse.Namespace, vocabulary: int) -> float:
    """Return how far the resident set grows in three steps, in MiB."""
    model, batches = make_model(options, vocabulary), make_batches(options, vocabulary)
    step = (ours if options.grow == "ours" else theirs)(model, batches)
    before = resident("VmRSS")
    for _ in range(3):
        step(update=True)
    return resident("VmHWM") - before


def resident(name: str) -> float:
    """Return a line of /proc/self/status, in MiB; ru_maxrss would count the process that started this one."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{name}:"))


if __name__ == "__main__":
    main()
