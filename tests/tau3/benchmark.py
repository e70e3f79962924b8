"""Where the benchmark's own data is, for the tests that need it; they are skipped where it is not."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest

from gym_enterprise.domain import Domain
from gym_enterprise.domains.tau3_banking import make_domain

_BESIDE = Path(__file__).parents[3] / "shared" / "data" / "tau3_banking"
DATA = Path(os.environ.get("TAU3_BANKING_DATA") or _BESIDE)

needs_data = pytest.mark.skipif(
    not (DATA / "db.json").is_file(),
    reason="the benchmark's data is not here: set TAU3_BANKING_DATA to a folder with db.json and tasks/",
)


@cache
def benchmark() -> Domain:
    """Load the benchmark once."""
    return make_domain(DATA)
