"""How long one call is tried: attempts, a deadline, and waits that grow."""

from __future__ import annotations

import random
from collections.abc import Callable

from simulators.engines.errors import TransientError


class Patience:
    """What is left of one call's attempts and time.

    Args:
        attempts: Most attempts.
        deadline: Seconds for all of them together, waits included.
        rng: Source of the jitter.
        clock: Gives seconds; only differences are used.
    """

    first_wait = 0.5
    """Seconds of the first wait, before jitter; each further one is twice as long."""
    longest_wait = 30.0
    """Longest wait in seconds, unless the server asks for more."""

    def __init__(
        self, attempts: int, deadline: float, rng: random.Random, clock: Callable[[], float]
    ) -> None:
        self._attempts, self._rng, self._clock = attempts, rng, clock
        self._end = clock() + deadline
        self.spent = 0
        """Attempts that failed."""
        self.retries = 0
        """Attempts that were made again after a wait."""

    @property
    def left(self) -> float:
        """Seconds left; at least 0."""
        return max(0.0, self._end - self._clock())

    def wait_after(self, error: TransientError) -> float | None:
        """Return how long to wait after a failed attempt, or None when there is no use in going on.

        Args:
            error: What the attempt failed with; a wait that the server asks for is kept.

        Returns:
            Seconds. None when the attempts are used up, or the deadline would pass before the next one.
        """
        self.spent += 1
        wait = min(self.longest_wait, self.first_wait * 2.0 ** (self.spent - 1))
        wait = max(wait * self._rng.uniform(0.5, 1.0), error.retry_after or 0.0)
        if self.spent >= self._attempts or wait >= self.left:
            return None
        self.retries += 1
        return wait
