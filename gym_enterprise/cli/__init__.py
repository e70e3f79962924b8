"""The command line, `gym-enterprise`: one module a command group, imported when the command runs."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; faults that a person can mend are one line on standard error and exit code 2."""
    from gym_enterprise.cli.app import make_app
    from gym_enterprise.errors import GymEnterpriseError
    from kb import DocumentError

    try:
        make_app()()
    except (GymEnterpriseError, DocumentError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
