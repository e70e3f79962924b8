"""What the policy loss refuses, and that poison where nothing counts has no effect."""

from __future__ import annotations

import math
from typing import Any

import pytest

from gym_enterprise.errors import UsageError

torch = pytest.importorskip("torch")
from train.losses import KL, loss_totals, policy_loss  # noqa: E402

NAN, INF = math.nan, math.inf


def good(**changes: Any) -> dict[str, Any]:
    names = ("logp", "old_logp", "rollout_logp")
    return {
        **{name: torch.full((2, 3), -1.0) for name in names},
        "advantages": torch.tensor([1.0, -1.0]),
        "mask": torch.tensor([[1, 1, 0], [1, 1, 1]]),
        "group_ids": ["g", "g"],
    } | changes


@pytest.mark.parametrize("name", ["logp", "old_logp", "advantages", "reference_logp"])
@pytest.mark.parametrize("poison", [NAN, INF, -INF])
def test_what_the_trainer_computed_must_be_finite_where_it_counts(name: str, poison: float) -> None:
    if name == "advantages":
        bad, options, place = torch.tensor([1.0, poison]), {}, r"\[1\]"
    else:
        bad, options, place = torch.full((2, 3), -1.0), {}, r"\[1, 2\]"
        bad[1, 2] = poison
    if name == "reference_logp":
        options["kl"] = KL(bad, 0.1)
    else:
        options[name] = bad
    with pytest.raises(
        UsageError, match=rf"{name} is not finite at 1 of the \d places that count, .* {place}"
    ):
        policy_loss(**good(**options))


@pytest.mark.parametrize("poison", [NAN, INF, -INF, 1e38])
def test_what_does_not_count_may_hold_anything(poison: float) -> None:
    clean = good(logp=torch.full((2, 3), -1.0, requires_grad=True))
    expected = policy_loss(**clean)
    expected.loss.backward()
    batch = good()
    for name in ("logp", "old_logp", "rollout_logp"):
        batch[name] = torch.full((2, 3), -1.0)
        batch[name][0, 2] = poison
    batch["logp"].requires_grad_()
    reference = batch["rollout_logp"].clone()
    result = policy_loss(**batch)
    result.loss.backward()
    assert result.loss.item() == expected.loss.item()
    assert batch["logp"].grad.tolist() == clean["logp"].grad.tolist()
    assert result.metrics == expected.metrics
    with_kl = policy_loss(**batch, kl=KL(reference, 0.1), level="sequence", geometric_delta=0.1)
    assert with_kl.loss.isfinite()


def test_an_upstream_parameter_stays_finite_when_masked_positions_overflow() -> None:
    # The gradient passes through the model: exp(1000) at a masked position must not turn 0 into NaN there.
    parameter = torch.tensor([[0.5, 1000.0]], requires_grad=True)
    logp = -parameter.exp()
    policy_loss(
        logp, torch.zeros(1, 2), torch.zeros(1, 2), torch.ones(1), torch.tensor([[1, 0]]), ["g"]
    ).loss.backward()
    assert parameter.grad[0, 0].isfinite()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"importance": "tis"}, "importance is 'tis': give one of 'off', 'raw', 'truncated', 'icepop'"),
        ({"importance": "truncated"}, "importance_cap None: 'truncated' and 'icepop' need a cap"),
        ({"importance_cap": 2}, "importance 'raw', importance_cap 2: .* the others take none"),
        ({"importance": "icepop", "importance_cap": (5, 0.5)}, r"importance_cap is \(5, 0.5\): give"),
        ({"importance": "truncated", "importance_cap": -1}, "importance_cap is -1: give"),
        ({"normaliser": "tokens"}, "normaliser is 'tokens': give one of 'group', 'batch'"),
        ({"level": "rollout"}, "level is 'rollout': give one of 'token', 'sequence'"),
        ({"clip_low": -0.1}, r"clip_low -0.1, .* in \[0, 1\]"),
        ({"clip_high": NAN}, "clip_high nan"),
        ({"dual_clip": 1}, "dual_clip 1: .* above 1"),
        ({"kl": KL(torch.zeros(2, 3), 0.1, "k4")}, "kind of KL is 'k4'"),  # type: ignore[arg-type]
        ({"kl": KL(torch.zeros(2, 2), 0.1)}, r"reference_logp has the shape \[2, 2\]"),
        ({"old_logp": torch.zeros(2, 2)}, r"old_logp has the shape \[2, 2\]: the mask asks for \[2, 3\]"),
        ({"rollout_logp": torch.zeros(2)}, r"rollout_logp has the shape \[2\]"),
        ({"advantages": torch.zeros(2, 3)}, r"advantages has the shape \[2, 3\]: the mask asks for \[2\]"),
        ({"mask": torch.full((2, 3), 0.5)}, "of bool, or of 0 and 1 only"),
        ({"mask": torch.ones(3)}, r"mask has the shape \[3\]"),
        ({"group_ids": ["g"]}, "group_ids has 1 entries for 2 rows"),
        ({"rollout_ids": ["r"]}, "rollout_ids has 1 entries for 2 rows"),
        ({"rollout_ids": ["r", "r"], "group_ids": ["g", "h"]}, "one rollout are in two groups, 'g' and 'h'"),
    ],
)
def test_options_and_shapes_that_do_not_fit_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        policy_loss(**good(**changes))


def test_totals_of_another_batch_are_refused() -> None:
    mask = good()["mask"]
    less = loss_totals(mask[:1], ["g"])
    with pytest.raises(UsageError, match="group 'g' has 5 counted tokens here and 2 in totals"):
        policy_loss(**good(totals=less))
    with pytest.raises(UsageError, match="group 'g' has 5 counted tokens here and 0 in totals"):
        policy_loss(**good(totals=loss_totals(mask, ["h", "h"])))
    named = loss_totals(mask, ["g", "g"], rollout_ids=["r", "s"])
    with pytest.raises(UsageError, match="rollout_ids went to one of loss_totals and policy_loss"):
        policy_loss(**good(totals=named))
    with pytest.raises(UsageError, match="rollout_ids went to one of"):
        policy_loss(**good(totals=loss_totals(mask, ["g", "g"]), rollout_ids=["r", "s"]))
    with pytest.raises(UsageError, match=r"rollout 't' is .* here and None in totals"):
        policy_loss(**good(totals=named, rollout_ids=["r", "t"]))
    for rollouts, groups in ((["r", "s"], ["g", "h"]), (["s", "r"], ["g", "g"])):  # other group, fewer tokens
        wide = torch.cat([mask, torch.ones(1, 3)])
        other = loss_totals(wide, [*groups, "g"], rollout_ids=[*rollouts, "t"])
        with pytest.raises(UsageError, match=r"rollout 's' is .* here and .* make them of the same batch"):
            policy_loss(**good(totals=other, rollout_ids=["r", "s"]))
    with pytest.raises(UsageError, match=r"totals without rollout_ids cannot be added"):
        less + less
