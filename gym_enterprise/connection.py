"""SQLite connections on which the machine's clock and chance do not exist."""

from __future__ import annotations

from collections.abc import Callable

import apsw

from gym_enterprise.errors import WorldError

DATE_FUNCTIONS = {
    "date": (0,),
    "time": (0,),
    "datetime": (0,),
    "julianday": (0,),
    "unixepoch": (0,),
    "strftime": (1,),
    "timediff": (0, 1),
}
"""SQLite's date functions and the positions of their time values (absent: the current time)."""
REFUSED = {
    "random": (0, "take chance from World.seed"),
    "randomblob": (1, "take chance from World.seed"),
    "current_time": (0, "use World.now"),
    "current_date": (0, "use World.now"),
    "current_timestamp": (0, "use World.now"),
    "last_insert_rowid": (0, "use what World.insert returns"),
    "changes": (0, "use what World.execute returns"),
    "total_changes": (0, "use what World.execute returns"),
}
"""Functions whose result depends on the machine or on earlier episodes: number of arguments, and the cure."""
CLOCK_WORDS = frozenset({"now", "subsec", "subsecond"})
"""Time values that mean the current time."""
ZONE_WORDS = frozenset({"localtime", "utc"})
"""Modifiers that mean the machine's time zone."""


def connect() -> apsw.Connection:
    """Open an in-memory database with foreign keys on, and the clock, chance and counters raising.

    Returns:
        A connection owned by the caller.

    Raises:
        WorldError: Later, from any statement that asks for the clock, a time zone or a random number.
    """
    db = apsw.Connection(":memory:")
    db.execute("PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY; PRAGMA synchronous = OFF")
    for name, (count, cure) in REFUSED.items():
        db.create_scalar_function(name, _refuse(name, cure), count)
    calculator = _Calculator()
    for name, positions in DATE_FUNCTIONS.items():
        count = 2 if name == "timediff" else -1
        db.create_scalar_function(name, calculator.function(name, *positions), count, deterministic=True)
    return db


def load(db: apsw.Connection, data: bytes) -> None:
    """Copy a serialised database into a connection, with the pages kept in memory between transactions."""
    db.deserialize("main", data)
    db.execute("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; PRAGMA cache_spill = OFF")


def quoted(name: str) -> str:
    """Return a name as it is written in SQL."""
    return '"' + name.replace('"', '""') + '"'


def _refuse(name: str, cure: str) -> Callable[..., apsw.SQLiteValue]:
    def refuse(*_: apsw.SQLiteValue) -> apsw.SQLiteValue:
        raise WorldError(f"{name}() differs from run to run, so an episode has none: {cure}")

    return refuse


class _Calculator:
    """Runs SQLite's own date functions, opened at first use, for arguments that need no clock."""

    def __init__(self) -> None:
        self._db: apsw.Connection | None = None

    def function(self, name: str, *positions: int) -> Callable[..., apsw.SQLiteValue]:
        def compute(*arguments: apsw.SQLiteValue) -> apsw.SQLiteValue:
            words = [_word(argument) for argument in arguments]
            clock = any(p >= len(words) or words[p] in CLOCK_WORDS for p in positions)
            if clock or any(word in ZONE_WORDS for word in words):
                raise WorldError(
                    f"{name}({', '.join(map(repr, arguments))}) depends on the machine's clock or zone: "
                    "pass World.now or a column"
                )
            if self._db is None:
                self._db = apsw.Connection(":memory:")
            marks = ", ".join("?" * len(arguments))
            return next(iter(self._db.execute(f"SELECT {name}({marks})", arguments)))[0]

        return compute


def _word(argument: apsw.SQLiteValue) -> str | None:
    """Return what SQLite reads from an argument: blobs are text to it, and NUL ends a text."""
    if isinstance(argument, bytes):
        argument = argument.decode(errors="replace")
    return argument.split("\0")[0].lower() if isinstance(argument, str) else None
