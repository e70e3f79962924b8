"""Where the public benchmark's data is; tests that need it are skipped where it is not."""

import os
from pathlib import Path

_BESIDE = Path(__file__).parents[2] / "shared" / "data" / "tau3_banking"

if _BESIDE.is_dir():
    os.environ.setdefault("TAU3_BANKING_DATA", str(_BESIDE))
