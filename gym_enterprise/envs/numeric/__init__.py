"""Conversations as numbers: `NumericView` for Gymnasium, `aec.NumericAEC` for PettingZoo."""

from gym_enterprise.envs.numeric.menu import Entry
from gym_enterprise.envs.numeric.view import NumericView

__all__ = ["Entry", "NumericView"]
