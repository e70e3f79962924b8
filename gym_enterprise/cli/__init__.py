"""The command line, `gym-enterprise`: one module a command group, imported when the command runs."""

from __future__ import annotations

import io
import sys


def main() -> None:
    """Run the command line; faults that a person can mend are one line on standard error and exit code 2."""
    sys.path.insert(0, "")  # so that "module:function" is found in the current folder
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for terminals that do not show every character
    from gym_enterprise.cli.app import make_app
    from gym_enterprise.errors import GymEnterpriseError
    from kb import DocumentError

    try:
        make_app()()
    except (GymEnterpriseError, DocumentError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
