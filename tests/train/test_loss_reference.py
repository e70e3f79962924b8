"""The policy loss against plain loops, and what it must not depend on: split, order, padding, packing."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gym_enterprise.errors import UsageError
from tests.train.loop_reference import ANYTHING, Rollout, Token, made_up, reference_loss

torch = pytest.importorskip("torch")
from train.losses import KL, loss_totals, merged, policy_loss  # noqa: E402

Row = tuple[Rollout, list[Token]]

OPTIONS: list[dict[str, Any]] = [
    {},
    {"normaliser": "batch"},
    {"importance": "off", "clip_high": 0.28},
    {"importance": "truncated", "importance_cap": 1.1, "dual_clip": 1.5},
    {"importance": "truncated", "importance_cap": (0.8, 1.2), "geometric_delta": 0.1},
    {"importance": "icepop", "importance_cap": (0.7, 1.5), "geometric_delta": (0.2, 0.05)},
    {"geometric_delta": 0.05, "normaliser": "batch"},
    {"level": "sequence"},
    {"level": "sequence", "normaliser": "batch", "importance": "truncated", "importance_cap": 1.02},
    {"level": "sequence", "importance": "icepop", "importance_cap": (0.9, 1.1), "geometric_delta": 0.2},
    {"kl": ("k1", 0.1), "clip_low": 0.1},
    {"kl": ("k2", 0.3), "geometric_delta": 0.05},
    {"kl": ("k3", 0.5), "level": "sequence", "dual_clip": 3.0},
]


def named(options: dict[str, Any]) -> str:
    return ",".join(f"{name}={value}" for name, value in options.items()) or "default"


each_option = pytest.mark.parametrize("options", OPTIONS, ids=named)


def rows_of(rollouts: list[Rollout]) -> list[Row]:
    return [(rollout, segment) for rollout in rollouts for segment in rollout.segments]


def laid_out(rows: list[Row], rng: random.Random, side: str = "either", dtype: Any = None) -> dict[str, Any]:
    """Rows as padded tensors; padding and tokens that do not count hold anything."""
    width = max((len(tokens) for _, tokens in rows), default=0) + rng.randrange(3)
    columns: dict[str, list[list[float]]] = {name: [] for name in ("new", "old", "engine", "reference")}
    mask, places = [], {}
    for number, (_, tokens) in enumerate(rows):
        left = side == "left" or (side == "either" and rng.random() < 0.5)
        start = width - len(tokens) if left else 0
        cells: list[Token | None] = [None] * width
        cells[start : start + len(tokens)] = tokens
        mask.append([cell is not None and cell.counts for cell in cells])
        places |= {id(token): (number, start + at) for at, token in enumerate(tokens) if token.counts}
        for name, column in columns.items():
            column.append(
                [getattr(cell, name) if cell and cell.counts else rng.choice(ANYTHING) for cell in cells]
            )
    real = {name: torch.tensor(column, dtype=dtype or torch.float64) for name, column in columns.items()}
    shape = (len(rows), width)
    return {
        **{name: tensor.reshape(shape) for name, tensor in real.items()},
        "mask": torch.tensor(mask, dtype=torch.bool).reshape(shape),
        "advantages": torch.tensor([rollout.advantage for rollout, _ in rows], dtype=dtype or torch.float64),
        "groups": [rollout.group for rollout, _ in rows],
        "names": [rollout.name for rollout, _ in rows],
        "places": places,
    }


def totals_of(rows: list[Row], rng: random.Random) -> Any:
    batch = laid_out(rows, rng)
    return loss_totals(
        batch["mask"],
        batch["groups"],
        rollout_ids=batch["names"],
        old_logp=batch["old"],
        rollout_logp=batch["engine"],
    )


def run(batch: dict[str, Any], options: dict[str, Any], **more: Any) -> tuple[Any, dict[int, float]]:
    """The loss of a batch, and its gradient by token; what does not count has none."""
    chosen = dict(options) | more
    if "kl" in chosen:
        kind, weight = chosen["kl"]
        chosen["kl"] = KL(batch["reference"], weight, kind)
    new = batch["new"].clone().requires_grad_()
    result = policy_loss(
        new,
        batch["old"],
        batch["engine"],
        batch["advantages"],
        batch["mask"],
        batch["groups"],
        rollout_ids=batch["names"],
        **chosen,
    )
    result.loss.backward()
    assert torch.equal(new.grad[~batch["mask"]], torch.zeros_like(new.grad[~batch["mask"]]))
    return result, {token: new.grad[place].item() for token, place in batch["places"].items()}


def parts_of(rows: list[Row], rng: random.Random, whole_rollouts: bool) -> list[list[Row]]:
    """A random split into micro-batches, some of them empty of tokens."""
    number = rng.randrange(1, 6)
    part_of: dict[str, int] = {}
    parts: list[list[Row]] = [[] for _ in range(number)]
    for rollout, tokens in rows:
        drawn = rng.randrange(number)
        part = part_of.setdefault(rollout.name, drawn) if whole_rollouts else drawn
        parts[part].append((rollout, tokens))
    return [part for part in parts if part]


@each_option
@pytest.mark.parametrize("seed", range(6))
def test_loss_and_gradient_are_those_of_the_loops(options: dict[str, Any], seed: int) -> None:
    rng = random.Random(seed)
    rollouts = made_up(rng)
    expected, slopes = reference_loss(rollouts, **options)
    result, gradient = run(laid_out(rows_of(rollouts), rng), options)
    assert result.loss.item() == pytest.approx(expected, abs=1e-12)
    assert gradient == pytest.approx(slopes, abs=1e-12)


@each_option
@pytest.mark.parametrize("seed", range(6))
def test_micro_batches_sum_to_the_whole(options: dict[str, Any], seed: int) -> None:
    rng = random.Random(100 + seed)
    rollouts = made_up(rng)
    rows = rows_of(rollouts)
    expected, slopes = reference_loss(rollouts, **options)
    whole, _ = run(laid_out(rows, rng), options)
    totals = totals_of(rows, rng)
    rng.shuffle(rows)
    loss, gradient, metrics = 0.0, {}, []
    for part in parts_of(rows, rng, whole_rollouts=options.get("level") == "sequence"):
        result, slopes_here = run(laid_out(part, rng), options, totals=totals)
        loss += result.loss.item()
        gradient |= slopes_here
        metrics.append(result.metrics)
    assert loss == pytest.approx(expected, abs=1e-12)
    assert gradient == pytest.approx(slopes, abs=1e-12)
    together = merged(metrics)
    assert together.keys() == whole.metrics.keys()
    for name, metric in whole.metrics.items():
        assert together[name].value == pytest.approx(metric.value, nan_ok=True), name
        assert together[name].denominator == pytest.approx(metric.denominator), name


@pytest.mark.parametrize("seed", range(5))
def test_totals_of_ranks_add_up_to_those_of_the_whole(seed: int) -> None:
    rng = random.Random(200 + seed)
    rows = rows_of(made_up(rng))
    first, *others = parts_of(rows, rng, whole_rollouts=False)
    added = totals_of(first, rng)
    for other in others:
        added += totals_of(other, rng)
    whole = totals_of(rows, rng)
    assert added.counts() == whole.counts()
    assert added.counts("sequence") == whole.counts("sequence")
    assert added.rollouts.keys() == whole.rollouts.keys()
    for name, facts in whole.rollouts.items():
        assert added.rollouts[name].log_weight == pytest.approx(facts.log_weight, nan_ok=True)


@pytest.mark.parametrize("seed", range(5))
def test_rows_without_ids_are_rollouts_and_split_likewise(seed: int) -> None:
    rng = random.Random(300 + seed)
    rollouts = made_up(rng, segments=1)
    rows = rows_of(rollouts)
    expected, _ = reference_loss(rollouts, geometric_delta=0.1)
    batch = laid_out(rows, rng)
    totals = loss_totals(batch["mask"], batch["groups"])
    middle = len(rows) // 2
    parts = [
        {key: value[at] for key, value in batch.items() if key != "places"}
        for at in (slice(middle), slice(middle, None))
    ]
    for chosen in ([batch], parts):
        losses = [
            policy_loss(
                *(part[name] for name in ("new", "old", "engine", "advantages", "mask", "groups")),
                totals=totals,
                geometric_delta=0.1,
            ).loss.item()
            for part in chosen
        ]
        assert sum(losses) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(OPTIONS), st.sampled_from(["left", "right"]))
def test_order_of_rows_and_groups_side_and_width_of_padding_change_nothing(
    seed: int, options: dict[str, Any], side: str
) -> None:
    rng = random.Random(seed)
    rows = rows_of(made_up(rng))
    one, slopes = run(laid_out(rows, rng, "right"), options)
    other, same = run(laid_out(rng.sample(rows, len(rows)), rng, side), options)
    assert other.loss.item() == pytest.approx(one.loss.item(), abs=1e-12)
    assert same == pytest.approx(slopes, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(OPTIONS))
def test_a_hundred_tokens_that_do_not_count_change_nothing_wherever_they_stand(
    seed: int, options: dict[str, Any]
) -> None:
    rng = random.Random(seed)
    rollouts = made_up(rng)
    before, slopes = run(laid_out(rows_of(rollouts), rng), options)
    segments = [segment for rollout in rollouts for segment in rollout.segments]
    for _ in range(100):
        segment = rng.choice(segments)
        segment.insert(rng.randrange(len(segment) + 1), Token(*rng.choices(ANYTHING, k=4), counts=False))
    after, same = run(laid_out(rows_of(rollouts), rng), options)
    assert after.loss.item() == pytest.approx(before.loss.item(), abs=1e-12)
    assert same == pytest.approx(slopes, abs=1e-12)
    assert after.metrics["tokens"] == before.metrics["tokens"]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(OPTIONS))
def test_segments_packed_into_one_row_are_the_same_rollout(seed: int, options: dict[str, Any]) -> None:
    rng = random.Random(seed)
    rollouts = made_up(rng)
    apart, slopes = run(laid_out(rows_of(rollouts), rng), options)
    packed = [(rollout, [token for segment in rollout.segments for token in segment]) for rollout in rollouts]
    together, same = run(laid_out(packed, rng), options)
    assert together.loss.item() == pytest.approx(apart.loss.item(), abs=1e-12)
    assert same == pytest.approx(slopes, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_rows_that_were_packed_for_the_model_are_unpacked_for_the_loss(seed: int) -> None:
    # One long row of all log-probabilities; the padded view is an index into it, and the gradient flows back.
    rng = random.Random(400 + seed)
    rollouts = made_up(rng)
    batch = laid_out(rows_of(rollouts), rng)
    _, slopes = reference_loss(rollouts)
    places = list(batch["places"].items())
    flat = torch.stack([batch["new"][place] for _, place in places]).requires_grad_()
    index = torch.zeros(batch["mask"].shape, dtype=torch.long)
    for at, (_, place) in enumerate(places):
        index[place] = at
    batch["new"] = flat[index]
    policy_loss(
        *(batch[name] for name in ("new", "old", "engine", "advantages", "mask", "groups")),
        rollout_ids=batch["names"],
    ).loss.backward()
    assert flat.grad.tolist() == pytest.approx([slopes[token] for token, _ in places], abs=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_narrow_log_probabilities_are_summed_in_float32(dtype: Any) -> None:
    # What is narrow is rounded on entry and then treated exactly: the loops get the rounded numbers.
    rng = random.Random(7)
    rollouts = made_up(rng)
    for rollout in rollouts:
        rollout.advantage = torch.tensor(rollout.advantage).to(dtype).item()
        for token in rollout.counted:
            token.new, token.old, token.engine = (
                torch.tensor([token.new, token.old, token.engine]).to(dtype).tolist()
            )
    expected, slopes = reference_loss(rollouts)
    result, gradient = run(laid_out(rows_of(rollouts), rng, dtype=dtype), {})
    assert result.loss.dtype == torch.float32
    assert result.loss.item() == pytest.approx(expected, rel=1e-5)
    assert gradient == pytest.approx(slopes, rel=1e-2 if dtype is torch.bfloat16 else 1e-5, abs=1e-6)


# The gradient of a KL penalty is that of its expectation, not of its value: `test_losses.py` has it.
@pytest.mark.parametrize("options", [OPTIONS[0], OPTIONS[3], OPTIONS[7]], ids=named)
def test_the_gradient_is_the_derivative_of_the_loss(options: dict[str, Any]) -> None:
    rng = random.Random(11)
    batch = laid_out(rows_of(made_up(rng)[:3]), rng)
    new = torch.where(batch["mask"], batch["new"], 0.0).requires_grad_()

    def loss(logp: Any) -> Any:
        rest = (batch[name] for name in ("old", "engine", "advantages", "mask", "groups"))
        return policy_loss(logp, *rest, rollout_ids=batch["names"], **options).loss

    assert torch.autograd.gradcheck(loss, (new,), eps=1e-7, atol=1e-6)


def test_a_rollout_cut_over_micro_batches_needs_what_is_elsewhere() -> None:
    tokens = [[Token(-1, -1, -1.1, -1)], [Token(-1, -1, -0.9, -1)]]
    rows = rows_of([Rollout("r", "g", 1.0, tokens)])
    rng = random.Random(0)
    first = laid_out(rows[:1], rng)
    both = laid_out(rows, rng)
    counted = loss_totals(both["mask"], both["groups"], rollout_ids=both["names"])
    # Half of the objective's one group: w = e^0.1 over two tokens. Without m the counts are enough.
    result, _ = run(first, {}, totals=counted)
    assert result.loss.item() == pytest.approx(-1.105171 / 2, abs=1e-6)
    with pytest.raises(UsageError, match="geometric_delta looks at all of them: give loss_totals old_logp"):
        run(first, {"geometric_delta": 0.05}, totals=counted)
    # Alone this segment is out of bounds; the rollout, 0.1 and -0.1, is not.
    result, _ = run(first, {"geometric_delta": 0.05}, totals=totals_of(rows, rng))
    assert result.metrics["dropped"].value == 0
    assert run(first, {"geometric_delta": 0.05})[0].metrics["dropped"].value == 1
    # A rollout that is dropped counts once, however many segments it has.
    far = Rollout("s", "g", 1.0, [[Token(-1, -1, -2, -1)] for _ in range(3)])
    result, _ = run(laid_out(rows_of([far]) + rows, rng), {"geometric_delta": 0.05})
    assert (result.metrics["dropped"].value, result.metrics["rollouts"].value) == (0.5, 2)
    with pytest.raises(
        UsageError, match="'r' has 1 of its 2 tokens here: level 'sequence' needs all segments"
    ):
        run(first, {"level": "sequence"}, totals=counted)
