"""Fixtures of the tests of tau3_banking."""

from __future__ import annotations

import pytest

from tests.tau3.small_bank import Desk


@pytest.fixture
def desk() -> Desk:
    """A fresh episode of the small bank with every discoverable tool open."""
    return Desk()
