"""`World`: the database of one episode, a real SQLite database in memory."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import apsw

from gym_enterprise import strict_json
from gym_enterprise.changes import ChangeSet, Diff, Table, Value, shown, tag
from gym_enterprise.connection import connect, load, quoted
from gym_enterprise.errors import SnapshotError, WorldError
from gym_enterprise.image import WorldImage
from gym_enterprise.restore import apply_changeset
from gym_enterprise.sql_text import bare_words
from gym_enterprise.state import apply_state

__all__ = ["ChangeSet", "Diff", "Table", "World", "WorldImage"]

_ALLOWED = frozenset(
    {
        apsw.SQLITE_SELECT,
        apsw.SQLITE_READ,
        apsw.SQLITE_FUNCTION,
        apsw.SQLITE_RECURSIVE,
        apsw.SQLITE_INSERT,
        apsw.SQLITE_UPDATE,
        apsw.SQLITE_DELETE,
    }
)
_SESSION_PRAGMAS = ("table_info", "table_xinfo")
"""Asked by SQLite's session itself within the first write to a table; they change nothing."""

_STORED = {"INTEGER": int, "INT": int, "REAL": float, "TEXT": str}


class World:
    """One open database, owned by one episode and reused by its resets.

    Args:
        image: The domain's initial database; copied once.

    Example:
        >>> image = WorldImage.build("CREATE TABLE pets (id TEXT PRIMARY KEY, name TEXT) STRICT")
        >>> world = World(image)
        >>> world.begin(now="2026-03-02T09:30:00", seed=7)
        >>> _ = world.insert("pets", id="p1", name="Rex")
        >>> world.changes().to_list()
        [{'table': 'pets', 'key': {'id': 'p1'}, 'op': 'insert', 'values': {'id': 'p1', 'name': 'Rex'}}]
    """

    def __init__(self, image: WorldImage) -> None:
        self.image = image
        self.now = ""
        """The task's clock, ISO text, constant during an episode."""
        self.seed = 0
        """The task's seed, from which ids are made."""
        self._db = connect()
        load(self._db, image.data)
        self._session: apsw.Session | None = None
        self._state: Any = None
        self._guarded = True
        self._closed = False
        self._db.authorizer = self._authorize

    @property
    def closed(self) -> bool:
        """Whether the database was given back."""
        return self._closed

    @property
    def today(self) -> str:
        """The date of `now`, "YYYY-MM-DD"."""
        return self.now[:10]

    # -- what tools use -------------------------------------------------------------------------------

    def query(self, sql: str, *parameters: Value) -> list[dict[str, Any]]:
        """Run a SELECT and return its rows as dicts.

        Args:
            sql: One statement; values come in as `?`.
            parameters: The values of the marks.

        Returns:
            Rows in the statement's order; say ORDER BY, or the order is not defined.
        """
        names: list[str] = []
        rows = []
        cursor = self._run(sql, parameters)
        for row in cursor:
            if not names:
                names = [column[0] for column in cursor.get_description()]
            rows.append(dict(zip(names, row, strict=True)))
        return rows

    def one(self, sql: str, *parameters: Value) -> dict[str, Any] | None:
        """Run a SELECT and return its first row, or None."""
        rows = self.query(sql, *parameters)
        return rows[0] if rows else None

    def execute(self, sql: str, *parameters: Value) -> int:
        """Run an INSERT, UPDATE or DELETE and return the number of rows it changed itself."""
        for _ in self._run(sql, parameters):
            pass
        return self._db.changes()

    def insert(self, table: str, **columns: Value) -> Any:
        """Insert one row and return its key; a missing single key is made by `new_id`.

        Args:
            table: The table.
            columns: Values by column.

        Returns:
            The key's value, or a tuple of values when the key has several columns.
        """
        info = self._table(table)
        if len(info.key) == 1 and info.key[0] not in columns:
            graded = {name: value for name, value in columns.items() if name in info.graded}
            columns = {info.key[0]: self.new_id(table, **graded), **columns}
        names, marks = ", ".join(map(quoted, columns)), ", ".join("?" * len(columns))
        returning = ", ".join(map(quoted, info.key))
        sql = f"INSERT INTO {quoted(table)} ({names}) VALUES ({marks}) RETURNING {returning}"
        (key,) = self._run(sql, tuple(columns.values()))
        return key[0] if len(key) == 1 else key

    def new_id(self, table: str, **columns: Value) -> str:
        """Make the id of a new row from what the row says, so that equal work makes equal ids.

        The id is the table's prefix and 12 hex digits of SHA-256 over canonical JSON of the task's seed,
        the table, all graded columns but the id, and the smallest n >= 1 whose id is not taken now.

        Args:
            table: The table; its key is one column.
            columns: Every graded column of the row but the id.

        Returns:
            The id.

        Raises:
            WorldError: A graded column is missing, or a column is not one.
        """
        info = self._table(table)
        if len(info.key) != 1:
            raise WorldError(f"table {table!r} has the key {info.key}: ids are made for one-column keys only")
        wanted = [name for name in info.graded if name not in info.key]
        if sorted(wanted) != sorted(columns):
            missing = ", ".join(name for name in wanted if name not in columns)
            extra = ", ".join(name for name in columns if name not in wanted)
            faults = [f"lacks {missing}"] if missing else []
            faults += [f"has {extra}, which is no graded column"] if extra else []
            raise WorldError(
                f"the id of a row of {table!r} is made of all graded columns, also those that are NULL: "
                f"{', '.join(wanted)}; the row {' and '.join(faults)}"
            )
        content = {
            name: shown(tag(self._stored(info, name, value), name in info.json))
            for name, value in columns.items()
        }
        for n in itertools.count(1):
            text = strict_json.canonical([self.seed, table, content, n])
            made = info.prefix + hashlib.sha256(text.encode()).hexdigest()[:12]
            if not self.query(f"SELECT 1 FROM {quoted(table)} WHERE {quoted(info.key[0])} = ?", made):
                return made
        raise AssertionError("unreachable")

    # -- what episodes and graders use ----------------------------------------------------------------

    def begin(self, state: Any = None, *, now: str, seed: int) -> None:
        """Go back to the image, apply a task's initial state, and record changes from here on.

        Args:
            state: Object with `insert`, `update` and `delete` as in a task's `state`, or None.
            now: The task's clock, ISO text.
            seed: The task's seed.

        Raises:
            TaskError: The state does not fit the schema; the world is back at the image.
        """
        if self._closed:
            self._live()
        self._roll_back()
        self.now, self.seed, self._state = now, seed, state
        self._internally("BEGIN")
        try:
            if state is not None:
                apply_state(self._db, self.image.tables, state)
        except BaseException:
            self._roll_back()
            raise
        self._session = apsw.Session(self._db, "main")
        self._session.attach()

    @contextmanager
    def call(self) -> Iterator[None]:
        """Run one tool call: when the block raises, nothing of it is left behind."""
        self._internally("SAVEPOINT call")
        try:
            yield
        except BaseException:
            self._internally("ROLLBACK TO call")
            raise
        finally:
            self._internally("RELEASE call")

    @property
    def writes(self) -> int:
        """Rows written through this connection so far; only differences mean something."""
        return self._db.total_changes()

    def changeset(self) -> bytes:
        """Return SQLite's net changeset since `begin`, for `restore`."""
        session = self._live()
        self._guarded = False
        try:
            return session.changeset()
        finally:
            self._guarded = True

    def changes(self) -> ChangeSet:
        """Return the net graded changes since `begin`."""
        return ChangeSet.from_sqlite(self.changeset(), self.image.tables)

    def restore(self, changeset: bytes, state: Any = None, *, now: str, seed: int) -> None:
        """Start an episode and bring it to a saved point.

        Args:
            changeset: From `changeset`, taken over the same image and state.
            state: As for `begin`.
            now: As for `begin`.
            seed: As for `begin`.

        Raises:
            SnapshotError: The changeset does not fit; the world is back at the initial state.
        """
        self.begin(state, now=now, seed=seed)
        if not changeset:
            return
        try:
            apply_changeset(self._db, changeset, self.image.tables)
        except SnapshotError:
            self.begin(state, now=now, seed=seed)
            raise

    def fork(self, into: World | None = None) -> World:
        """Copy this point of the episode into another world.

        Args:
            into: A world of the same image to reuse; None opens one, which copies the image.

        Returns:
            The other world; neither sees what the other does from here on.
        """
        if into is not None and into.image.digest != self.image.digest:
            raise SnapshotError("fork(into=...) needs a world of the same image")
        other = into or World(self.image)
        other.restore(self.changeset(), self._state, now=self.now, seed=self.seed)
        return other

    def close(self) -> None:
        """Give the database back; the world cannot be used afterwards. Closing again does nothing."""
        if not self._closed:
            self._roll_back()
            self._db.close()
            self._closed = True

    # -- inside ---------------------------------------------------------------------------------------

    def _stored(self, table: Table, column: str, value: Value) -> Value:
        """Return a value as its column stores it: a REAL column stores 33 as 33.0, and both make one row."""
        kind = table.types[table.columns.index(column)]
        if value is None or type(value) is _STORED.get(kind, type(value)):
            return value
        ((stored,),) = self._run(f"SELECT CAST(? AS {kind})", (value,))
        return stored  # type: ignore[no-any-return]

    def _run(self, sql: str, parameters: Sequence[Value]) -> apsw.Cursor:
        self._live()
        if "rollback" in sql.lower() and "ROLLBACK" in bare_words(sql):
            raise WorldError(f"OR ROLLBACK would end the episode: use OR ABORT in {sql!r}")
        return self._db.execute(sql, parameters)

    def _live(self) -> apsw.Session:
        if self._closed:
            raise WorldError("the world is closed: open another, World(image) or Episode(domain, task)")
        if self._session is None:
            raise WorldError("no episode is running in this world: call begin() first")
        return self._session

    def _internally(self, sql: str) -> None:
        self._guarded = False
        try:
            # Not cached: a tool with the same text must not get a statement prepared without the guard.
            self._db.execute(sql, can_cache=False)
        finally:
            self._guarded = True

    def _roll_back(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None
        if self._db.in_transaction:
            self._internally("ROLLBACK")

    def _table(self, name: str) -> Table:
        try:
            return self.image.tables[name]
        except KeyError:
            raise WorldError(f"there is no table {name!r}; tables: {', '.join(self.image.tables)}") from None

    def _authorize(self, operation: int, first: str | None, *_: str | None) -> int:
        if not self._guarded or operation in _ALLOWED:
            return apsw.SQLITE_OK
        if operation == apsw.SQLITE_PRAGMA and first in _SESSION_PRAGMAS:
            return apsw.SQLITE_OK
        raise WorldError("a world runs only SELECT, INSERT, UPDATE and DELETE: the schema is the image's")
