"""What has to be set before any test is imported.

Where the public benchmark's data is: tests that need it are skipped where it is not. How many threads torch
uses: one, as two that wait for a busy core slow tiny models down ten times. And that Ctrl-C ends what tests
start: a shell that starts the tests in its background lets them, and all that they start, ignore it.
"""

import os
import signal
from pathlib import Path

_BESIDE = Path(__file__).parents[2] / "shared" / "data" / "tau3_banking"

if _BESIDE.is_dir():
    os.environ.setdefault("TAU3_BANKING_DATA", str(_BESIDE))

os.environ.setdefault("OMP_NUM_THREADS", "1")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
