"""The parts of benchmarks/gpu.sh, each a process of its own: python benchmarks/gpu_parts.py PART FOLDER."""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path[0] = str(Path(__file__).parents[1])  # not this folder, where train.py hides the package

TINY, DEVICE = os.environ.get("SIZE") == "tiny", os.environ.get("DEVICE", "cuda")
DTYPE = "bfloat16" if DEVICE == "cuda" else "float32"
PEAK_TFLOPS = {
    "B200": 2250,
    "H100 PCIe": 756,
    "H200": 989,
    "H100": 989,
    "A100": 312,
    "L40S": 362,
    "4090": 165,
    "A10": 125,
    "L4": 121,
}
"""Of dense products in bfloat16, as the maker says; the first name that is in the device's counts."""
SHAPE: dict[str, Any] = {  # of Qwen2.5-0.5B
    "vocab_size": 151_936,
    "hidden_size": 896,
    "intermediate_size": 4864,
    "num_hidden_layers": 24,
    "num_attention_heads": 14,
    "num_key_value_heads": 2,
    "tie_word_embeddings": True,
}
if TINY:
    SHAPE |= {"vocab_size": 300, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2}
    SHAPE |= {
        "num_attention_heads": 4,
        "tie_word_embeddings": False,
    }  # vLLM on CPUs does not renew a tied head
WINDOW, ROWS, PASS = (512, 8, 1024) if TINY else (4096, 16, 16384)
"""Tokens of the longest dialogue, dialogues of an update, tokens of a forward pass."""
ASKED = {
    "transformers": (4, 64, 8) if TINY else (64, 512, 128),
    "vllm": (4, 64, 8) if TINY else (256, 512, 256),
}
"""Requests at once, tokens of each prompt, tokens to sample."""

# -- what they share --------------------------------------------------------------------------------------


def policy_folder(folder: Path) -> Path:
    """Make the model and its tokenizer, a word for each token, unless they are there; return their folder."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    from tests.train.tiny_policy import TEMPLATE, WORDS

    out = folder / "policy"
    if (out / "tokenizer_config.json").exists():
        return out
    words = [*WORDS, *(f"w{number}" for number in range(len(WORDS), SHAPE["vocab_size"]))]
    core = Tokenizer(models.WordLevel({word: place for place, word in enumerate(words)}, unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<|im_end|>", unk_token="[UNK]")
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>"]})
    tokenizer.chat_template = TEMPLATE
    torch.manual_seed(0)
    ends = {"bos_token_id": None, "eos_token_id": 2, "pad_token_id": 2}
    with torch.device(DEVICE):
        model = LlamaForCausalLM(LlamaConfig(**SHAPE, max_position_embeddings=WINDOW, **ends))
    model.to(getattr(torch, DTYPE)).save_pretrained(out)
    tokenizer.save_pretrained(out)
    return out


def memory() -> dict[str, float]:
    """Return GiB at the peak of this process, and free on the device by now."""
    import torch

    if DEVICE != "cuda":
        return {}
    free = torch.cuda.mem_get_info()[0] / 2**30
    return {"peak_gib": round(torch.cuda.max_memory_allocated() / 2**30, 2), "free_gib": round(free, 2)}


def synchronised() -> float:
    """Return the time, once the device is done."""
    import torch

    if DEVICE == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def config(folder: Path, *overrides: str) -> Any:
    """Return a configuration of train.grpo in which the reward is a matter of chance."""
    from train.config import GrpoConfig, read

    (folder / "prompt.md").write_text("w9 " * 64)
    (folder / "run.toml").write_text(
        f"""
        out = "{folder / "run"}"
        domain = "tests.train.tiny_policy:fickle"
        steps = 3
        evaluate.every = 0
        canary = 10.0
        model.path = "{policy_folder(folder)}"
        model.device = "{DEVICE}"
        model.dtype = "{DTYPE}"
        optim.lr = 1e-4
        optim.micro_batch_tokens = {PASS}
        [rollout]
        mode = "vllm"
        user = "tests.train.tiny_policy:Fickle"
        format = "json"
        prompt = "{folder / "prompt.md"}"
        max_tokens = {8 if TINY else 128}
        max_steps = 6
        max_segment_tokens = {WINDOW}
        tasks_per_step = {2 if TINY else 8}
        group_size = 8
        """
    )
    return read(GrpoConfig, folder / "run.toml", *overrides)


# -- vectors ----------------------------------------------------------------------------------------------


def vectors(_: Path) -> dict[str, Any]:
    """Compare losses and gradients on the device, in float32, with float64 on the CPU."""
    import torch

    from train.advantages import leave_one_out
    from train.losses import policy_loss

    options: list[dict[str, Any]] = [
        {},
        {"importance": "off", "normaliser": "batch", "dual_clip": 3.0},
        {"importance": "truncated", "importance_cap": 2.0, "geometric_delta": 0.02},
        {"importance": "icepop", "importance_cap": (0.5, 5.0), "clip_high": 0.28},
        {"level": "sequence", "geometric_delta": (0.05, 0.1)},
    ]
    torch.manual_seed(0)
    old = -torch.rand(12, 40, dtype=torch.float64) * 5
    new, engine = old + 0.2 * torch.randn_like(old), old + 0.05 * torch.randn_like(old)
    mask, rewards = torch.rand(12, 40) < 0.4, torch.tensor([1.0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 1, 0])
    groups, rollouts = [row // 4 for row in range(12)], [row // 2 for row in range(12)]
    worst = 0.0
    for each in options:
        found = []
        for device, dtype in ((DEVICE, torch.float32), ("cpu", torch.float64)):
            logp = new.clone().to(device, dtype).requires_grad_()
            advantages = leave_one_out(rewards.to(device, dtype), groups).values
            rows = (old.to(device, dtype), engine.to(device, dtype), advantages, mask.to(device))
            loss = policy_loss(logp, *rows, groups, rollout_ids=rollouts, **each).loss
            loss.backward()
            found.append(torch.cat([loss.detach().view(1), logp.grad.flatten()]).double().cpu())
        worst = max(worst, float((found[0] - found[1]).abs().max() / found[1].abs().max()))
    rewards = torch.tensor([1.0, 0, 0, 1], device=DEVICE)  # section 6.1 of the notes on formulas
    by_hand = leave_one_out(rewards, ["g"] * 4).values.tolist()
    off = max(abs(a - b) for a, b in zip(by_hand, (1.154701, -1.154701, -1.154701, 1.154701), strict=True))
    return {"ok": worst < 1e-5 and off < 1e-5, "worst_relative_difference": worst, "by_hand": off}


# -- update -----------------------------------------------------------------------------------------------


def update(folder: Path) -> dict[str, Any]:
    """Measure the update with gradient checkpointing off and on."""
    import torch

    told: dict[str, Any] = {}
    for name, checkpointing in (("plain", False), ("checkpointing", True)):
        if DEVICE == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        try:
            told[name] = updated(policy_folder(folder), checkpointing)
        except torch.OutOfMemoryError as error:
            told[name] = {"error": str(error)[:200]}
    return {"ok": all("error" not in each for each in told.values()), **told}


def updated(path: Path, checkpointing: bool) -> dict[str, Any]:
    """Return figures of three updates, after one that warms up."""
    import torch

    from train.batching import Batch, micro_batches
    from train.config import Optim
    from train.logprobs import token_logprobs
    from train.losses import loss_totals, policy_loss
    from train.model import load_policy
    from train.optim import Optimiser

    model = load_policy(path, dtype=DTYPE, device=DEVICE, gradient_checkpointing=checkpointing)
    optimiser = Optimiser(model, Optim(lr=1e-6), steps=100)
    rows = dialogues()
    batches = [batch.to(DEVICE) for batch in micro_batches(rows, PASS)]
    every = Batch.of(rows)
    seconds = []
    for _ in range(4):
        start = synchronised()
        totals = loss_totals(every.mask, every.group_ids, rollout_ids=every.rollout_ids)
        for batch in batches:
            logp = token_logprobs(model, batch.ids, batch.attention, batch.mask)
            old = logp.detach()
            result = policy_loss(
                *(logp, old, old, batch.advantages, batch.mask, batch.group_ids),
                rollout_ids=batch.rollout_ids,
                totals=totals,
            )
            result.loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        seconds.append(synchronised() - start)
    spent, tokens = sum(seconds[1:]) / 3, sum(len(row.ids) for row in rows)
    done = flops(model, rows) / spent / 1e12
    device = torch.cuda.get_device_name() if DEVICE == "cuda" else "cpu"
    known = next((peak for name, peak in PEAK_TFLOPS.items() if name in device), None)
    peak = float(os.environ.get("PEAK_TFLOPS", 0)) or known
    rate = {"tokens_per_s": round(tokens / spent), "tflops": round(done, 3), "device": device}
    return rate | {"mfu": round(done / peak, 3) if peak else None, **memory()}


def dialogues() -> list[Any]:
    """Return rows in which three tokens of ten count."""
    from train.batching import Row

    rng = random.Random(0)
    rows = []
    for number in range(ROWS):
        length = rng.randint(3 * WINDOW // 4, WINDOW)
        mask = tuple(int(place % 100 >= 70) for place in range(length))
        ids = tuple(rng.randrange(SHAPE["vocab_size"]) for _ in mask)
        rows.append(Row(ids, mask, (0.0,) * length, number // 8, number, rng.choice((-1.0, 1.0))))
    return rows


def flops(model: Any, rows: Sequence[Any]) -> float:
    """Return the products of a forward and a backward pass, once each; the head where tokens count."""
    head = model.get_output_embeddings().weight.numel()
    tables = {id(one): one.numel() for one in (model.get_input_embeddings().weight, model.lm_head.weight)}
    body = sum(one.numel() for one in model.parameters()) - sum(tables.values())
    tokens, counted = sum(len(row.ids) for row in rows), sum(sum(row.sampled) for row in rows)
    pairs = sum(len(row.ids) ** 2 for row in rows) / 2  # that attention looks at
    attention = 4 * pairs * SHAPE["hidden_size"] * SHAPE["num_hidden_layers"]
    return 6 * body * tokens + 6 * head * counted + 3 * attention


# -- rollouts ---------------------------------------------------------------------------------------------


def sampled(engine: Any, name: str) -> tuple[dict[str, Any], list[Any]]:
    """Let an engine complete many prompts at once; return how fast it was, and the completions."""
    from simulators import Sampling, TokenRequest

    count, length, wanted = ASKED[name]
    rng = random.Random(0)
    prompts = [tuple(rng.randrange(9, SHAPE["vocab_size"]) for _ in range(length)) for _ in range(count)]

    async def everything() -> list[Any]:
        requests = [
            TokenRequest(prompt, Sampling(temperature=1.0, max_tokens=wanted, seed=place))
            for place, prompt in enumerate(prompts)
        ]
        return await asyncio.gather(*map(engine.complete, requests))

    start = synchronised()
    answers = asyncio.run(everything())
    spent = synchronised() - start
    made = sum(len(one.token_ids) for one in answers)
    return {"requests": count, "prompt_tokens": count * length, "sampled_per_s": round(made / spent)}, answers


def transformers(folder: Path) -> dict[str, Any]:
    """Measure `TransformersEngine`."""
    from simulators import TransformersEngine

    engine = TransformersEngine.load(policy_folder(folder), device=DEVICE, dtype=DTYPE, max_batch=64)
    sampled(engine, "transformers")  # warms up
    told, _ = sampled(engine, "transformers")
    engine.close()
    return {"ok": True, **told, **memory()}


def apart(model: Any, answers: Sequence[Any]) -> float:
    """Return the canary: mean |log p by the engine - log p by the trainer| of what was sampled."""
    import torch

    from train.batching import Row, micro_batches
    from train.logprobs import token_logprobs

    rows = []
    for place, one in enumerate(answers):
        read = len(one.prompt_token_ids)
        mask = (0,) * read + (1,) * len(one.token_ids)
        rows.append(Row(one.prompt_token_ids + one.token_ids, mask, (0.0,) * read + one.logprobs, 0, place))
    total = 0.0
    with torch.no_grad():
        for batch in (batch.to(DEVICE) for batch in micro_batches(rows, PASS)):
            logp = token_logprobs(model, batch.ids, batch.attention, batch.mask)
            total += float((logp - batch.rollout_logp).abs().sum())
    return total / sum(len(one.token_ids) for one in answers)


def vllm(folder: Path) -> dict[str, Any]:
    """Measure vLLM, and its canary before and after the weights change while it sleeps."""
    import torch

    from simulators.template import load_tokenizer
    from train.actors import open_actor
    from train.model import load_policy

    start = synchronised()
    settings = config(folder, f"rollout.concurrency={ASKED['vllm'][0]}")
    model = load_policy(settings.model.path, dtype=DTYPE, device=DEVICE)
    actor = open_actor(settings, model, load_tokenizer(settings.model.path))
    told: dict[str, Any] = {"start_s": round(synchronised() - start, 1), "awake": memory()}
    sampled(actor.engine, "vllm")  # warms up
    rate, answers = sampled(actor.engine, "vllm")
    told |= rate | {"canary_before": apart(model, answers)}
    start = synchronised()
    with actor.learning(model), torch.no_grad():
        told["asleep"] = memory()
        for one in model.parameters():
            one.mul_(1 + torch.randn_like(one) / 2)
        told["stale"] = apart(model, answers)  # what the canary would be without the sync
    told["sleep_sync_wake_s"] = round(synchronised() - start, 2)
    told["canary_after"] = apart(model, sampled(actor.engine, "vllm")[1])
    actor.close()
    return {"ok": told["canary_after"] < told["stale"] / 5, **told}


def grpo(folder: Path) -> dict[str, Any]:
    """Train three steps."""
    from train import journal
    from train.grpo import train

    settings = config(folder)
    train(settings)
    lines = journal.read(Path(settings.out))
    figures = {
        name: [line.get(name) for line in lines] for name in ("seconds", "logp_error", "updates", "invalid")
    }
    close = all(value is not None and value < 0.1 for value in figures["logp_error"])
    return {"ok": len(lines) == 3 and close, **figures, **memory()}


# -- lines and the table ----------------------------------------------------------------------------------


def line(folder: Path, part: str, status: str) -> None:
    """Print the line of a part that has ended: what it told, or how it failed."""
    out, log = (
        (folder / f"{part}.{kind}").read_text(errors="replace").splitlines() for kind in ("out", "log")
    )
    told = json.loads(out[-1][len(MARK) :]) if status == "0" and out[-1].startswith(MARK) else {"ok": False}
    if status != "0":
        why = "took too long" if status in ("124", "137") else f"ended with {status}"
        told |= {"why": why, "log": log[-8:]}
    print(json.dumps({"part": part, **told}))


def table(folder: Path) -> None:
    """Print the parts, and whether they passed."""
    lines = [json.loads(one) for one in (folder / "lines.jsonl").read_text().splitlines()]
    for one in lines:
        why = f"{one['why']}; {one['log'][-1:]}" if "why" in one else "see its figures"
        print(f"# {one['part']:13} {'ok' if one['ok'] else 'FAILED: ' + why}")
    raise SystemExit(not all(one["ok"] for one in lines))


MARK = "result "
PARTS = {"vectors": vectors, "update": update, "transformers": transformers, "vllm": vllm, "grpo": grpo}

if __name__ == "__main__":
    name, place, *rest = sys.argv[1:] or ("", "")
    if name not in (*PARTS, "line", "table"):
        print("skipped: benchmarks/gpu.sh runs the parts of this file")
    elif name == "line":
        line(Path(place), *rest)
    elif name == "table":
        table(Path(place))
    else:
        began = time.perf_counter()
        result = PARTS[name](Path(place))
        print(MARK + json.dumps({**result, "part_s": round(time.perf_counter() - began, 1)}), flush=True)
