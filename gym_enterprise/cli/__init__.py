"""The command line, `gym-enterprise`: one module a command group, imported when the command runs."""

from __future__ import annotations

import errno
import io
import sys

_CURES = {
    errno.ENOSPC: "make room; an evaluation then goes on with --resume",
    errno.EDQUOT: "make room; an evaluation then goes on with --resume",
    errno.EACCES: "choose another place, or let yourself read and write there",
    errno.EPERM: "choose another place, or let yourself read and write there",
    errno.EROFS: "choose another place, which can be written to",
    errno.ENOTDIR: "a file stands where a folder should be: choose another name",
    errno.EEXIST: "a file stands where a folder should be: choose another name",
    errno.EISDIR: "a folder stands where a file should be: move it away, or choose another name",
    errno.ENOENT: "see that the name is right",
}
"""What to do about errors of the operating system."""


def main() -> None:
    """Run the command line; faults that a person can mend are one line on standard error.

    The exit code is then 2, and 1 when the operating system refused a file.
    """
    sys.path.insert(0, "")  # so that "module:function" is found in the current folder
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for terminals that do not show every character
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # what a terminal sends may be no text in its own encoding
    from gym_enterprise.cli.app import make_app
    from gym_enterprise.errors import GymEnterpriseError
    from kb import DocumentError

    try:
        make_app()()
    except (GymEnterpriseError, DocumentError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        where = f"{error.filename}: " if error.filename is not None else ""
        cure = _CURES.get(error.errno or 0, "see that it can be read and written, and try again")
        print(f"error: {where}{error.strerror or error}: {cure}", file=sys.stderr)
        sys.exit(1)
