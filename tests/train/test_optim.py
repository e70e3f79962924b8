"""AdamW and Muon as one optimiser: who gets which parameter, the schedule, clipping, and its state."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gym_enterprise.errors import UsageError

torch = pytest.importorskip("torch")
from train.config import Optim  # noqa: E402
from train.optim import Optimiser, lr_factor, split  # noqa: E402

ROOT = Path(__file__).parents[2]


class Body(torch.nn.Module):
    """The kinds of parameters that a transformer has."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(7, 4)
        self.up = torch.nn.Linear(4, 6)
        self.down = torch.nn.Linear(6, 4, bias=False)
        self.down.lora_A = torch.nn.Linear(6, 2, bias=False)
        self.experts = torch.nn.Parameter(torch.randn(2, 4, 4))
        self.norm = torch.nn.LayerNorm(4)
        self.lm_head = torch.nn.Linear(4, 7, bias=False)


def body(seed: int = 0) -> Body:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return Body()


def give_gradients(model: torch.nn.Module, seed: int = 0) -> None:
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=generator).to(parameter.dtype)


def values(model: torch.nn.Module) -> dict[str, Any]:
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}


def names(kind: str) -> list[set[str]]:
    return [set(part) for part in split(body(), kind)]


MATRICES = {"embed.weight", "lm_head.weight", "down.lora_A.weight", "experts"}
VECTORS = {"up.bias", "norm.weight", "norm.bias"}


def test_muon_gets_the_matrices_of_the_body_and_adamw_all_else() -> None:
    assert names("muon") == [{"up.weight", "down.weight"}, MATRICES, VECTORS]
    assert names("adamw") == [set(), MATRICES | {"up.weight", "down.weight"}, VECTORS]


def test_a_head_that_shares_the_embedding_is_no_matrix_of_the_body() -> None:
    model = body()
    model.lm_head.weight = model.embed.weight
    assert set(split(model, "muon")[0]) == {"up.weight", "down.weight"}


def test_what_is_frozen_is_not_trained() -> None:
    model = body()
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    with pytest.raises(UsageError, match="no parameter of the model requires a gradient: unfreeze some"):
        Optimiser(model, Optim(), steps=1)
    model.up.weight.requires_grad_(True)
    before = values(model)
    optimiser = Optimiser(model, Optim(kind="muon", lr=0.1), steps=1)
    give_gradients(model)
    optimiser.step()
    assert [name for name, value in values(model).items() if not value.equal(before[name])] == ["up.weight"]


@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_only_matrices_decay(kind: str) -> None:
    model = body()
    before = values(model)
    optimiser = Optimiser(model, Optim(kind=kind, lr=0.1, weight_decay=0.5), steps=1)
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimiser.step()
    for name, value in values(model).items():  # lr times decay is 0.05
        torch.testing.assert_close(value, before[name] * (1.0 if name in VECTORS else 0.95))


def test_adamw_is_that_of_torch() -> None:
    model, reference = body(), body()
    optimiser = Optimiser(model, Optim(lr=0.01, betas=(0.8, 0.9), clip_norm=None), steps=3)
    expected = torch.optim.AdamW(reference.parameters(), lr=0.01, betas=(0.8, 0.9), weight_decay=0.0)
    for seed in range(3):
        for each in (model, reference):
            give_gradients(each, seed)
        optimiser.step()
        expected.step()
    for name, value in values(model).items():
        assert value.equal(values(reference)[name]), name


def orthogonalised(matrix: Any) -> Any:
    """Five steps of Newton-Schulz with the coefficients of Jordan et al. (2024), in float64."""
    x = matrix.double() / matrix.double().norm()
    for _ in range(5):
        gram = x @ x.T
        x = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x
    return x


@pytest.mark.parametrize("shape", [(6, 6), (48, 16), (16, 48)])
@pytest.mark.parametrize(("adjust", "scale"), [("original", 1.0), ("match_rms_adamw", 0.2)])
def test_muon_is_that_of_torch_but_for_the_precision_of_newton_schulz(
    shape: tuple[int, int], adjust: Any, scale: float
) -> None:
    model = torch.nn.Linear(*shape[::-1], bias=False)
    torch.nn.init.zeros_(model.weight)
    twin = torch.nn.Parameter(torch.zeros(shape))
    settings = Optim(kind="muon", muon_lr=1.0, muon_adjust=adjust, clip_norm=None)
    optimiser, theirs = (
        Optimiser(model, settings, steps=1),
        torch.optim.Muon([twin], 1.0, 0.0, adjust_lr_fn=adjust),
    )
    give_gradients(model)
    twin.grad = model.weight.grad.clone()
    optimiser.step()
    theirs.step()
    # The first momentum is 0.05 g, and so the look-ahead is along g. A wide matrix is its own transpose's.
    size = math.sqrt(max(1, shape[0] / shape[1])) if adjust == "original" else math.sqrt(max(shape))
    expected = -scale * size * orthogonalised(twin.grad)
    assert (model.weight.double() - expected).norm() < 1e-5 * expected.norm()
    gap = (twin.double() - expected).norm() / expected.norm()
    assert 1e-4 < gap < 0.03, "torch's own runs in bfloat16, 8 bits; if it does no more, drop our float32"


def test_the_momentum_of_muon_survives_its_step() -> None:
    # Newton-Schulz works in place, on what float32 does not copy. After one step the momentum is 0.05 g.
    model = torch.nn.Linear(3, 5, bias=False)
    optimiser = Optimiser(model, Optim(kind="muon", clip_norm=None), steps=1)
    give_gradients(model)
    gradient = model.weight.grad.clone()
    optimiser.step()
    torch.testing.assert_close(
        optimiser.state_dict()["moments"]["weight"]["momentum_buffer"], 0.05 * gradient
    )
    assert model.weight.grad.equal(gradient)


@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_weights_in_bfloat16_stay_so_and_finite(kind: str) -> None:
    model = body().bfloat16()
    optimiser = Optimiser(model, Optim(kind=kind, lr=0.1), steps=1)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    before = values(model)
    optimiser.step()
    for name, value in values(model).items():
        assert value.dtype == torch.bfloat16
        assert value.isfinite().all()
        assert not value.equal(before[name]), name


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("constant", [0.25, 0.5, 0.75, 1, 1, 1, 1, 1, 1]),
        ("linear", [0.25, 0.5, 0.75, 1, 1, 0.775, 0.55, 0.325, 0.1]),
        # Half a cosine from 1 to 0.1 at 0, 1/4, 1/2, 3/4 and 1 of the way.
        ("cosine", [0.25, 0.5, 0.75, 1, 1, 0.55 + 0.45 * 0.5**0.5, 0.55, 0.55 - 0.45 * 0.5**0.5, 0.1]),
    ],
)
def test_the_learning_rate_rises_over_the_warm_up_and_then_follows_its_schedule(
    schedule: Any, expected: list[float]
) -> None:
    settings = Optim(schedule=schedule, warmup_steps=4, lr_floor=0.1)
    assert [lr_factor(step, 8, settings) for step in range(9)] == pytest.approx(expected)
    assert lr_factor(100, 8, settings) == pytest.approx(expected[-1])  # whoever goes on stays at the end


def test_without_warm_up_the_first_step_has_the_full_rate() -> None:
    assert lr_factor(0, 3, Optim(schedule="linear")) == 1.0
    assert lr_factor(2, 3, Optim(schedule="linear")) == pytest.approx(1 / 3)  # the last one still moves


def test_both_optimisers_follow_the_schedule() -> None:
    model = body()
    optimiser = Optimiser(model, Optim(kind="muon", lr=0.2, muon_lr=0.4, warmup_steps=2), steps=4)
    rates, moved = [], []
    for _ in range(3):
        before = values(model)
        give_gradients(model)
        rates.append(optimiser.step().lr)
        moved.append((values(model)["up.weight"] - before["up.weight"]).norm().item())
    assert rates == pytest.approx([0.1, 0.2, 0.2])
    assert moved[1] / moved[0] == pytest.approx(2, rel=0.2)  # the same gradient again, at twice the rate


def test_a_warm_up_that_leaves_nothing_to_the_schedule_is_refused() -> None:
    message = r"warmup_steps is 5 of 5 steps, which leaves none for the schedule 'cosine': make it less"
    with pytest.raises(UsageError, match=message):
        Optimiser(body(), Optim(schedule="cosine", warmup_steps=5), steps=5)
    Optimiser(body(), Optim(warmup_steps=5), steps=5)


def test_gradients_are_cut_to_the_norm_all_together() -> None:
    model = torch.nn.Linear(1, 1)
    optimiser = Optimiser(model, Optim(clip_norm=1.0), steps=1)
    model.weight.grad, model.bias.grad = torch.tensor([[3.0]]), torch.tensor([4.0])
    assert optimiser.step().norm == pytest.approx(5.0)
    assert (model.weight.grad.item(), model.bias.grad.item()) == pytest.approx((0.6, 0.8))


def test_without_a_limit_gradients_stay_as_they_are() -> None:
    model = torch.nn.Linear(1, 1)
    optimiser = Optimiser(model, Optim(clip_norm=None), steps=1)
    model.weight.grad, model.bias.grad = torch.tensor([[3e9]]), torch.tensor([4e9])
    assert optimiser.step().norm == pytest.approx(5e9)
    assert (model.weight.grad.item(), model.bias.grad.item()) == (3e9, 4e9)


@pytest.mark.parametrize("kind", ["adamw", "muon"])
@pytest.mark.parametrize("clip_norm", [None, 1.0])
@pytest.mark.parametrize("poison", [math.nan, math.inf, -math.inf])
def test_a_gradient_that_is_not_finite_reaches_no_parameter_and_no_moment(
    kind: Any, clip_norm: float | None, poison: float
) -> None:
    model, clean = body(), body()
    settings = Optim(kind=kind, lr=0.1, clip_norm=clip_norm)
    optimiser, reference = (Optimiser(each, settings, steps=3) for each in (model, clean))

    def both_step(seed: int) -> None:
        for each, one in ((model, optimiser), (clean, reference)):
            give_gradients(each, seed)
            assert not one.step().skipped

    both_step(1)
    give_gradients(model)
    model.norm.bias.grad[0] = poison
    update = optimiser.step()
    assert update.skipped
    assert not math.isfinite(update.norm)
    assert all(parameter.grad is None for parameter in model.parameters())
    both_step(2)
    assert (optimiser.steps, optimiser.skipped, reference.skipped) == (3, 1, 0)
    for name, value in values(model).items():
        assert value.equal(values(clean)[name]), name


def test_zero_grad_drops_all_gradients() -> None:
    model = body()
    optimiser = Optimiser(model, Optim(kind="muon"), steps=1)
    give_gradients(model)
    optimiser.zero_grad()
    assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_b045_the_state_of_the_optimiser_goes_on_in_another_one(kind: Any, dtype: Any) -> None:
    settings = Optim(kind=kind, lr=0.1, warmup_steps=2, schedule="cosine", weight_decay=0.1)
    model = body().to(dtype)
    optimiser = Optimiser(model, settings, steps=6)
    for seed in range(3):
        give_gradients(model, seed)
        optimiser.step()
    state = optimiser.state_dict()
    other = body(seed=1).to(dtype)
    other.load_state_dict(model.state_dict())
    resumed = Optimiser(other, settings, steps=6)
    resumed.load_state_dict(state)
    for name, moments in resumed.state_dict()["moments"].items():  # the counts of steps are float32 in both
        assert {key: value.dtype for key, value in moments.items()} == {
            key: value.dtype for key, value in state["moments"][name].items()
        }
    for seed in range(3, 6):
        updates = []
        for each, one in ((model, optimiser), (other, resumed)):
            give_gradients(each, seed)
            updates.append(one.step())
        assert updates[0] == updates[1]
    assert resumed.steps == 6
    for name, value in values(model).items():
        assert value.equal(values(other)[name]), name


def test_a_state_of_other_parameters_or_of_another_kind_is_refused_and_changes_nothing() -> None:
    model = body()
    optimiser = Optimiser(model, Optim(kind="muon"), steps=2)
    give_gradients(model)
    optimiser.step()
    adamw = Optimiser(body(), Optim(), steps=2)
    message = (
        r"'down.weight': the saved state of the optimiser has Muon \[4, 6\], this one AdamW \[4, 6\]: resume "
        r"with the model and the optim.kind"
    )
    with pytest.raises(UsageError, match=message):
        adamw.load_state_dict(optimiser.state_dict())
    assert adamw.state_dict()["steps"] == 0
    with pytest.raises(UsageError, match=r"'bias': the saved state .* has None, this one AdamW \[6\]"):
        Optimiser(torch.nn.Linear(4, 6), Optim(kind="muon"), steps=2).load_state_dict(optimiser.state_dict())


def test_a_parameter_without_a_gradient_has_no_state_and_stays() -> None:
    model = body()
    before = values(model)
    optimiser = Optimiser(model, Optim(kind="muon", weight_decay=0.1), steps=1)
    give_gradients(model)
    model.up.weight.grad = model.embed.weight.grad = None
    optimiser.step()
    state = optimiser.state_dict()
    for name in ("up.weight", "embed.weight"):
        assert state["moments"][name] == {}
        assert values(model)[name].equal(before[name])
    Optimiser(body(), Optim(kind="muon"), steps=1).load_state_dict(state)


@pytest.mark.slow
def test_two_ranks_with_sharded_parameters_do_what_one_process_does(tmp_path: Path) -> None:
    from tests.train import sharded_optimiser

    command = [sys.executable, "-m", "tests.train.sharded_optimiser", str(tmp_path)]
    ranks = [subprocess.Popen([*command, str(rank)], cwd=ROOT) for rank in range(2)]
    assert [rank.wait(timeout=120) for rank in ranks] == [0, 0]
    theirs = torch.load(tmp_path / "seen.pt", weights_only=True)
    ours = sharded_optimiser.run(0, sharded=False)
    assert theirs.pop("layout") == ours.pop("layout")
    assert [update["skipped"] for update in theirs["updates"]] == [False, True, False, False, False]
    torch.testing.assert_close(theirs, ours, rtol=1e-5, atol=1e-6, equal_nan=True)
