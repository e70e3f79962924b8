"""What an episode's database costs, on a small and on a large database, against copying and hashing it.

Run with::

    python benchmarks/world.py [--small 10000] [--large 1000000] [--repeats 300]

Two databases of one schema (accounts, transactions, disputes), side by side in one process. An episode
resets a world (rollback, task state, new recording), makes four writes, takes a snapshot, restores it into a
second world, and is rewarded (net changes, compared with an equal target). The writes go to rows drawn anew
for each episode ("random keys") or to the same rows each time ("repeated keys"). The sizes take turns;
medians are reported. The last table is the way without change sets: copy the whole database with SQLite's
backup, and hash every row of the copy.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import apsw

from gym_enterprise.world import ChangeSet, World, WorldImage

SCHEMA = """
CREATE TABLE accounts (id TEXT PRIMARY KEY, owner TEXT NOT NULL, cents INTEGER NOT NULL) STRICT;
CREATE TABLE transactions (
    id TEXT PRIMARY KEY, account TEXT NOT NULL REFERENCES accounts, day TEXT NOT NULL, cents INTEGER NOT NULL,
    merchant TEXT NOT NULL, status TEXT NOT NULL
) STRICT;
CREATE INDEX transactions_by_account ON transactions (account, day);
CREATE TABLE disputes (id TEXT PRIMARY KEY, transaction_id TEXT NOT NULL REFERENCES transactions, reason TEXT)
STRICT;
CREATE INDEX disputes_by_transaction ON disputes (transaction_id);
"""
NOW, SEED = "2026-12-01T09:30:00", 14
STEPS = ("reset", "snapshot + restore", "reward")


@dataclass(frozen=True)
class State:
    """A task's initial state: one account has another balance."""

    update: Mapping[str, list[Any]]
    insert: Mapping[str, list[Any]] = field(default_factory=dict)
    delete: Mapping[str, list[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """A row that the task's state updates."""

    key: Mapping[str, Any]
    set: Mapping[str, Any]


class Bench:
    """One database size: a world to play in, one to restore into, and the rows to choose from."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.accounts = rows // 10
        self.transactions = rows - self.accounts
        image = WorldImage.build(SCHEMA, {"accounts": self._accounts(), "transactions": self._transactions()})
        self.world, self.other = World(image), World(image)
        self.megabytes = len(image.data) / 1e6

    def _accounts(self) -> Iterator[dict[str, Any]]:
        for n in range(self.accounts):
            yield {"id": name("A", n), "owner": f"Owner {n}", "cents": n % 100_000}

    def _transactions(self) -> Iterator[dict[str, Any]]:
        for n in range(self.transactions):
            yield {
                "id": name("T", n),
                "account": name("A", n % self.accounts),
                "day": f"2026-{n % 12 + 1:02}-{n % 28 + 1:02}",
                "cents": n % 10_000,
                "merchant": f"Merchant {n % 500}",
                "status": "posted",
            }

    def episode(self, chance: random.Random) -> dict[str, float]:
        """Play one episode and return the seconds of each step."""
        account = name("A", chance.randrange(self.accounts))
        first, second = (name("T", chance.randrange(self.transactions)) for _ in range(2))
        state = State({"accounts": [Row({"id": account}, {"cents": 5})]})
        world = self.world
        seconds = {"reset": timed(lambda: world.begin(state, now=NOW, seed=SEED))}
        play(world, account, first, second)

        def snapshot_and_restore() -> None:
            self.other.restore(world.changeset(), state, now=NOW, seed=SEED)

        seconds["snapshot + restore"] = timed(snapshot_and_restore)
        target = self.other.changes()
        seconds["reward"] = timed(lambda: reward(world, target))
        assert reward(world, target) == 1.0
        return seconds

    def copy_and_hash(self) -> float:
        """Copy the whole database and hash every row of the copy; return the seconds."""
        source = apsw.Connection(":memory:")
        source.deserialize("main", self.world.image.data)
        return timed(lambda: full_hash(copied(source)))


def name(letter: str, n: int) -> str:
    """Return an id that is spread over the key space, as made ids are."""
    return letter + hashlib.sha256(str(n).encode()).hexdigest()[:12]


def play(world: World, account: str, first: str, second: str) -> None:
    with world.call():
        world.execute("UPDATE accounts SET cents = cents - 100 WHERE id = ?", account)
    with world.call():
        world.execute("UPDATE transactions SET status = 'disputed' WHERE id = ?", first)
        world.insert("disputes", transaction_id=first, reason="unknown merchant")
    with world.call():
        world.execute("DELETE FROM transactions WHERE id = ?", second)


def reward(world: World, target: ChangeSet) -> float:
    return float(world.changes() == target)


def copied(source: apsw.Connection) -> apsw.Connection:
    copy = apsw.Connection(":memory:")
    with copy.backup("main", source, "main") as backup:
        backup.step()
    return copy


def full_hash(db: apsw.Connection) -> str:
    digest = hashlib.sha256()
    for table in ("accounts", "transactions", "disputes"):
        for row in db.execute(f"SELECT * FROM {table} ORDER BY id"):
            digest.update(repr(row).encode())
    return digest.hexdigest()


def timed(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def medians(benches: list[Bench], repeats: int, repeated_keys: bool) -> list[dict[str, float]]:
    """Return the median seconds of each step, by size."""
    found: list[list[dict[str, float]]] = [[] for _ in benches]
    chances = [random.Random(1) for _ in benches]
    for _ in range(repeats):
        for bench, chance, seconds in zip(benches, chances, found, strict=True):
            seconds.append(bench.episode(random.Random(1) if repeated_keys else chance))
    return [{step: statistics.median(row[step] for row in rows) for step in STEPS} for rows in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--small", type=int, default=10_000, help="rows of the small database")
    parser.add_argument("--large", type=int, default=1_000_000, help="rows of the large database")
    parser.add_argument("--repeats", type=int, default=300, help="episodes of each kind and size")
    options = parser.parse_args()
    benches = [Bench(options.small), Bench(options.large)]
    for bench in benches:
        print(f"{bench.rows:>9,} rows: {bench.megabytes:,.1f} MB")

    print(f"\n{'microseconds (median)':<36}{options.small:>12,}{options.large:>12,}   ratio   aim")
    whole = {}
    for keys, aim in (("random keys", 3.0), ("repeated keys", 1.5)):
        small, large = medians(benches, options.repeats, keys == "repeated keys")
        small["total"], large["total"] = sum(small.values()), sum(large.values())
        for step in (*STEPS, "total"):
            ratio = large[step] / small[step]
            label = f"{step}, {keys}"
            print(f"{label:<36}{small[step] * 1e6:>12.1f}{large[step] * 1e6:>12.1f}{ratio:>8.2f}   <= {aim}")
        whole[keys] = small["total"], large["total"]

    print(f"\n{'copy + full-dump hash (milliseconds)':<36}", end="")
    copies = [statistics.median(bench.copy_and_hash() for _ in range(3)) for bench in benches]
    print("".join(f"{seconds * 1e3:>12.1f}" for seconds in copies))
    for keys, totals in whole.items():
        label = f"times slower than all steps, {keys}"
        print(f"{label:<36}" + "".join(f"{c / t:>12,.0f}" for c, t in zip(copies, totals, strict=True)))


if __name__ == "__main__":
    main()
