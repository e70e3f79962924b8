"""Importance weights, the geometric-mean mask, the KL penalty and the metrics, by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

torch = pytest.importorskip("torch")
from tests.train.hand import one_rollout, tensor  # noqa: E402
from train.losses import KL, Metric, importance_weights, kl_estimate, merged, policy_loss  # noqa: E402

NAN, INF = math.nan, math.inf


LOG_W = [-0.5, 0, 0.2, 0.9, 2.5]
W = [0.606531, 1, 1.221403, 2.459603, 12.182494]


@pytest.mark.parametrize(
    ("importance", "cap", "expected", "changed"),
    [
        ("off", None, [1] * 5, 0),
        ("raw", None, W, 0),
        ("truncated", 2, [*W[:3], 2, 2], 2),
        ("truncated", (0.8, 1.2), [0.8, 1, 1.2, 1.2, 1.2], 4),
        ("icepop", (0.5, 5), [*W[:4], 0], 1),
        ("icepop", [0.5, 5], [*W[:4], 0], 1),  # as it comes from a file
        ("icepop", 2.0, [*W[:3], 0, 0], 2),
    ],
)
def test_importance_weights_by_hand(importance: Any, cap: Any, expected: list[float], changed: int) -> None:
    log_weight = tensor(LOG_W, requires_grad=True)
    weights, capped = importance_weights(log_weight, importance, cap)
    assert weights.tolist() == pytest.approx(expected, abs=1e-6)
    assert capped.sum() == changed
    assert not weights.requires_grad
    result = one_rollout(LOG_W, importance=importance, importance_cap=cap)
    assert -result.loss.item() == pytest.approx(sum(expected) / 5, abs=1e-6)
    assert result.metrics["weight"].value == pytest.approx(sum(expected) / 5, abs=1e-6)
    assert result.metrics["capped"].value == pytest.approx(changed / 5)


def test_caps_as_another_library_counts_them() -> None:
    # NeMo RL's test: 0.1, 1 and 3 with a cap of 2 have 1/3 out of bounds, with a floor of 0.5 too 2/3.
    log_weight = tensor([0.1, 1, 3]).log()
    weights, capped = importance_weights(log_weight, "truncated", 2)
    assert (weights.tolist(), capped.tolist()) == (pytest.approx([0.1, 1, 2]), [False, False, True])
    weights, capped = importance_weights(log_weight, "truncated", (0.5, 2))
    assert (weights.tolist(), capped.tolist()) == (pytest.approx([0.5, 1, 2]), [True, False, True])


@pytest.mark.parametrize(
    ("importance", "cap"), [("raw", None), ("truncated", (0.5, 2)), ("icepop", (0.5, 2))]
)
def test_a_weight_that_is_not_finite_is_zero_and_counted(importance: Any, cap: Any) -> None:
    result = one_rollout([0.0, NAN, INF, -INF], importance=importance, importance_cap=cap)
    assert result.loss.item() == pytest.approx(-1 / 4)
    assert result.metrics["not_finite"].value == 3
    assert result.metrics["capped"].value == 0
    assert result.metrics["logp_error"] == Metric(0.0, 1)


def test_weights_of_the_engine_and_the_old_policy_carry_no_gradient() -> None:
    leaves = [torch.full((1, 2), -1.0, requires_grad=True) for _ in range(4)]
    advantages = torch.ones(1, requires_grad=True)
    logp, old, engine, reference = leaves
    policy_loss(logp, old, engine, advantages, torch.ones(1, 2), ["g"], kl=KL(reference, 0.1)).loss.backward()
    assert logp.grad is not None
    assert [leaf.grad for leaf in (old, engine, reference, advantages)] == [None] * 4


@pytest.mark.parametrize("level", ["token", "sequence"])
@pytest.mark.parametrize("far", [50.0, 1e4, 1e38])
def test_log_ratios_far_apart_stay_finite(far: float, level: Any) -> None:
    for new, old, engine in ((-1, -far, -1), (-far, -1, -1), (-1, -1, -far), (-1, -far, -1)):
        for advantage in (1.0, -1.0):
            logp = torch.tensor([[new, -1.0]], requires_grad=True)
            rest = (torch.tensor([[old, -1.0]]), torch.tensor([[engine, -1.0]]), torch.tensor([advantage]))
            kl = KL(torch.tensor([[-far, -1.0]]), 0.1)
            result = policy_loss(
                logp, *rest, torch.ones(1, 2), ["g"], kl=kl, level=level, geometric_delta=0.1
            )
            result.loss.backward()
            assert result.loss.isfinite()
            assert logp.grad.isfinite().all()
            assert all(math.isfinite(metric.value) for metric in result.metrics.values())


@pytest.mark.parametrize(
    ("log_weights", "mean", "one_percent", "narrow"),
    [
        (
            [0.3, -0.3, 0],
            1.0,
            True,
            True,
        ),  # errors that cancel are its blind spot: log the absolute error too
        ([0.05] + [0] * 9, 1.005013, True, False),
        ([-0.02, -0.01, -0.006], 0.988072, False, False),
    ],
)
def test_the_geometric_mean_decides(
    log_weights: list[float], mean: float, one_percent: bool, narrow: bool
) -> None:
    for delta, kept in ((0.01, one_percent), ((0.001, 0.002), narrow), ([0.001, 0.002], narrow)):
        result = one_rollout(log_weights, geometric_delta=delta)
        assert result.metrics["dropped"].value == (not kept)
        assert (result.loss.item() != 0) == kept
    result = one_rollout(log_weights, level="sequence")
    assert result.metrics["weight"].value == pytest.approx(mean, abs=1e-6)
    # Tokens that do not count have no part in n: 100 of them would pull any mean to 1.
    old = tensor([[-1.0] * (len(log_weights) + 100)])
    mask = torch.tensor([[1] * len(log_weights) + [0] * 100])
    padded = policy_loss(
        old, old, old - tensor([log_weights + [0] * 100]), tensor([1]), mask, ["g"], geometric_delta=0.01
    )
    assert padded.metrics["dropped"].value == (not one_percent)


def test_the_bounds_of_the_geometric_mean_are_inclusive() -> None:
    assert one_rollout([0.0, 0.0], geometric_delta=0).metrics["dropped"].value == 0
    assert one_rollout([0.0, 1e-6], geometric_delta=0).metrics["dropped"].value == 1


def test_the_mask_does_not_grow_with_length() -> None:
    # 0.004 a token: a product over 300 tokens is 3.3; the mean is 1.004 however long the rollout is.
    for length in (1, 30, 3000):
        assert one_rollout([0.004] * length, geometric_delta=0.005).metrics["dropped"].value == 0
        assert one_rollout([0.006] * length, geometric_delta=0.005).metrics["dropped"].value == 1


@pytest.mark.parametrize("wrong", [NAN, INF, -INF])
def test_a_rollout_with_a_weight_that_is_not_finite_has_no_mean_and_is_dropped(wrong: float) -> None:
    result = one_rollout([0.0, 0.0, wrong], geometric_delta=0.5)
    assert result.loss.item() == 0
    assert result.metrics["dropped"].value == 1


def test_estimates_of_the_divergence_by_hand() -> None:
    logp, reference = tensor([-1.0]), tensor([-1.5])
    values = [kl_estimate(logp, reference, kind).item() for kind in ("k1", "k2", "k3")]
    assert values == pytest.approx([0.5, 0.125, 0.106531], abs=1e-6)
    far = [
        kl_estimate(tensor([-1.0]), tensor([at]), kind).item()
        for at in (-99.0, 97.0)
        for kind in ("k1", "k3")
    ]
    assert far == [10, 10, -10, 10]


@pytest.mark.parametrize("kind", ["k1", "k3"])
def test_the_gradient_of_the_penalty_is_that_of_the_divergence(kind: Any) -> None:
    # With all three tokens of a policy weighed by their probability, it is that of sum p (log p - log q).
    logits = tensor([0.3, -1.0, 0.8], requires_grad=True)
    reference = tensor([0.5, 0.2, 0.3]).log()
    logp = logits.log_softmax(0)
    exact = torch.autograd.grad((logp.exp() * (logp - reference)).sum(), logits, retain_graph=True)[0]
    sampled = (logp.detach().exp() * kl_estimate(logp, reference, kind)).sum()
    assert torch.autograd.grad(sampled, logits)[0].tolist() == pytest.approx(exact.tolist())


def test_the_penalty_has_the_normaliser_of_the_loss_and_neither_weight_nor_mask() -> None:
    # A = 0 leaves the penalty alone: k2 is .125 in each of two tokens, whatever w and m are.
    logp = tensor([[-1.0, -1.0]], requires_grad=True)
    rest = (logp.detach(), tensor([[-3.0, -3.0]]), tensor([0.0]), torch.ones(1, 2), ["g"])
    result = policy_loss(logp, *rest, geometric_delta=0.1, kl=KL(tensor([[-1.5, -1.5]]), 0.4, "k2"))
    assert result.loss.item() == pytest.approx(0.4 * 0.125)
    assert result.metrics["kl"].value == pytest.approx(0.125)
    assert result.metrics["dropped"].value == 1


def test_metrics_of_the_gap_between_engine_and_trainer_by_hand() -> None:
    metrics = one_rollout(LOG_W).metrics
    assert metrics["token_mult_prob_error"].value == pytest.approx(3.702444, abs=1e-6)
    assert metrics["k3_rollout_old"].value == pytest.approx(1.874006, abs=1e-6)
    assert metrics["logp_error"].value == pytest.approx((0.5 + 0.2 + 0.9 + 2.5) / 5)
    # k3 of -log w: mean of 1 / w - 1 + log w.
    assert metrics["k3_old_rollout"].value == pytest.approx(sum(1 / w for w in W) / 5 - 1 + 3.1 / 5, abs=1e-6)
    assert metrics["entropy"].value == 1.0


def test_metrics_of_the_ratio_by_hand() -> None:
    old = tensor([[-1.0] * 5])
    logp = old + tensor([[0.5, 1, 1.5, 1.1, 0.7]]).log()
    metrics = policy_loss(logp, old, old, tensor([1.0]), torch.ones_like(old), ["g"]).metrics
    assert metrics["ratio"].value == pytest.approx(0.96)
    assert metrics["ratio_min"].value == pytest.approx(0.5)
    assert metrics["ratio_max"].value == pytest.approx(1.5)
    assert metrics["clipped"].value == pytest.approx(1 / 5)  # for A > 0 only what is above 1.2


def test_metrics_join_by_their_denominators() -> None:
    parts = [
        {
            "a": Metric(2.0, 2),
            "n": Metric(2, 2, "sum"),
            "low": Metric(0.5, 2, "min"),
            "high": Metric(3, 2, "max"),
        },
        {
            "a": Metric(24.0, 8),
            "n": Metric(8, 8, "sum"),
            "low": Metric(0.2, 8, "min"),
            "high": Metric(2, 8, "max"),
        },
        {
            "a": Metric(0.0, 0),
            "n": Metric(0, 0, "sum"),
            "low": Metric(INF, 0, "min"),
            "high": Metric(-INF, 0, "max"),
        },
    ]
    assert {name: metric.value for name, metric in merged(parts).items()} == {
        "a": 2.6,
        "n": 10,
        "low": 0.2,
        "high": 3,
    }
    assert merged([]) == {}
