"""A run on disk: `open_run` to write it, `read_run` to read it, also while another process writes.

A run is a folder (`docs/results-format.md`):

====================  ============================================================================
file                  what it holds
====================  ============================================================================
manifest.json         configuration, seed, trials, content hashes, versions; replaced atomically
trajectories.jsonl    one record a line, append-only
lock                  who writes; locked while somebody does
====================  ============================================================================

**One record for each (task, trial).** A record is *final* when it has a reward, or has none although nothing
broke (a judge was missing). One with an `error` is not: the episode counts as missing, a resumed run plays it
again, and the later record replaces the earlier one. A second record after a final one is refused.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from gym_enterprise.errors import RunChanged, RunDamaged, RunExists, UsageError
from gym_enterprise.harness import manifest as manifests
from gym_enterprise.harness import trajectories
from gym_enterprise.harness.disk import sync_folder
from gym_enterprise.harness.lock import FileLock
from gym_enterprise.harness.manifest import Manifest
from gym_enterprise.harness.rollout import Record
from gym_enterprise.harness.trajectories import Appender
from gym_enterprise.tasks import Task

if TYPE_CHECKING:
    from gym_enterprise.domain import Domain

LOCK = "lock"
_OWN_FILES = {LOCK, f"{manifests.NAME}.part"}
_log = logging.getLogger("gym_enterprise")

Key = tuple[str, int]
"""Task id and number of the trial."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """Where the record of a (task, trial) stands."""

    line: int
    start: int
    final: bool


class Run:
    """A run as it stands on disk; iterating reads one record at a time.

    Args:
        path: The folder.
        manifest: What its manifest holds.

    Raises:
        RunDamaged: A line is not a record, is of a task or trial that the manifest does not have, or stands
            after a final record of the same (task, trial); the message has file and line.
    """

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path, self.manifest = path, manifest
        self.lines = 0
        """Whole lines in the file, replaced records included."""
        self._end = 0
        self._entries: dict[Key, _Entry] = {}
        self.refresh()

    @property
    def file(self) -> Path:
        """The file of the records."""
        return self.path / trajectories.NAME

    @property
    def domain(self) -> str | None:
        """What `load_domain` takes for the domain that was played; None when the manifest does not say."""
        named: str | None = self.manifest["configuration"].get("domain") or self.manifest["content"]["domain"]
        return named

    @property
    def planned(self) -> int | None:
        """Episodes that the run is meant to have; None when its manifest names no tasks."""
        return len(self._tasks) * int(self.manifest["trials"]) or None

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Record]:
        for entry in list(self._entries.values()):
            line = next(trajectories.read_lines(self.file, entry.start))
            yield trajectories.parse_record(line)

    def records(self) -> list[Record]:
        """Return the record of each (task, trial), in order of its first attempt."""
        return list(self)

    def missing(self, tasks: Iterable[Task | str] | None = None, trials: int | None = None) -> list[Key]:
        """Say which episodes are still to be played.

        Args:
            tasks: Tasks, or their ids; by default those of the manifest.
            trials: How often each is played; by default as the manifest says.

        Returns:
            (task id, trial) without a final record: trial 0 of each task in their order, then trial 1, ...
        """
        names = self._tasks if tasks is None else [t if isinstance(t, str) else t.id for t in tasks]
        count = int(self.manifest["trials"]) if trials is None else trials
        every = [(name, trial) for trial in range(count) for name in dict.fromkeys(names)]
        return [key for key in every if not self._is_final(key)]

    def refresh(self) -> None:
        """Take in the whole lines that were added since; raises `RunDamaged` as the constructor does."""
        if self.file.exists():
            for line in trajectories.read_lines(self.file, self._end):
                self._enter(self._parse(line), len(line))

    @property
    def _tasks(self) -> Mapping[str, str]:
        return self.manifest["content"]["tasks"]  # type: ignore[no-any-return]

    def _is_final(self, key: Key) -> bool:
        return key in self._entries and self._entries[key].final

    def _parse(self, line: bytes) -> Record:
        where = f"{self.file}:{self.lines + 1}"
        try:
            record = trajectories.parse_record(line)
        except ValueError as error:
            raise RunDamaged(
                f"{where}: not a record: {error}. Nothing was changed. If the line cannot be mended, remove "
                "it: its episode is then run again"
            ) from None
        if stray := self._stray(record):
            raise RunDamaged(f"{where}: {stray}. Nothing was changed. Mend the line, or remove it")
        key = (record.task_id, record.trial)
        if self._is_final(key):
            raise RunDamaged(
                f"{where}: task {key[0]!r} trial {key[1]} has a final record already, in line "
                f"{self._entries[key].line}. Nothing was changed. Remove one of the two lines"
            )
        return record

    def _stray(self, record: Record) -> str | None:
        """Say why a record is of no episode of the run; None when it is of one."""
        if self._tasks and record.task_id not in self._tasks:
            return f"task {record.task_id!r} is none of the {len(self._tasks)} in the run's manifest"
        trials = int(self.manifest["trials"])
        if not 0 <= record.trial < trials:
            return (
                f"task {record.task_id!r} has trial {record.trial}, and the trials in the run's manifest are "
                f"0 to {trials - 1}"
            )
        return None

    def _enter(self, record: Record, length: int) -> None:
        self.lines += 1
        self._entries[record.task_id, record.trial] = _Entry(self.lines, self._end, _final(record))
        self._end += length


class RunWriter(Run):
    """The one writer of a run, from `open_run`; a context manager. Threads share it, processes may not."""

    def __init__(self, path: Path, manifest: Manifest, lock: FileLock, *, sync: bool) -> None:
        super().__init__(path, manifest)
        self.resumed = bool(self.lines)
        """Whether there were records before."""
        self.notes: list[str] = []
        """What resuming found and did: a line mended, versions that changed."""
        if self.file.exists() and (mended := trajectories.repair(self.file, self._end)):
            self.notes.append(f"{self.file}:{self.lines + 1}: {mended}")
            self.refresh()
        self._lock, self._pid = lock, os.getpid()
        self._busy = threading.Lock()
        self._appender = Appender(self.file, sync=sync)
        sync_folder(path)

    def append(self, record: Record) -> None:
        """Save a record; when this returns it survives the death of the process.

        Raises:
            UsageError: Its (task, trial) has a final record, its task or trial is not one of the run's, it is
                not JSON, or this is not the process that opened the run. Nothing was written.
            OSError: The disk is full, say; what was written of the record was taken back.
        """
        if os.getpid() != self._pid:
            raise UsageError(f"{self.path} was opened by process {self._pid}: only that one may write to it")
        line = trajectories.format_record(record)
        with self._busy:
            if self._end != self._appender.end:
                self.refresh()  # an interrupt came between writing the last line and entering it
            self._check(record)
            self._appender.append(line)
            self._enter(record, len(line))

    def close(self) -> None:
        """Wait for the disk and let others write; the writer cannot be used afterwards."""
        try:
            self._appender.close()
        finally:
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check(self, record: Record) -> None:
        task_id = record.task_id
        if self._is_final((task_id, record.trial)):
            raise UsageError(
                f"task {task_id!r} trial {record.trial} has a final record in {self.path}: play each once"
            )
        if stray := self._stray(record):
            raise UsageError(stray)
        if self._tasks and record.task_hash not in ("", self._tasks[task_id]):
            raise UsageError(f"task {task_id!r} has another content than in the run's manifest")


def open_run(
    path: Path | str,
    configuration: Mapping[str, Any],
    resume: bool = False,
    *,
    seed: int = 0,
    trials: int = 1,
    domain: Domain | None = None,
    tasks: Iterable[Task] = (),
    players: Mapping[str, Mapping[str, str]] = {},
    sync: bool = True,
) -> RunWriter:
    """Start a run, or go on with one.

    Args:
        path: The folder; made if it is not there.
        configuration: Everything that shapes the run, as JSON values: players, models, budgets. No passwords.
        resume: Go on with the run that stands there; where there is none, start it.
        seed: Of the run.
        trials: How often each task is played.
        domain: The domain; its image and documents are hashed.
        tasks: The tasks that are played; hashed.
        players: By seat, what its player is made of, as `fingerprint` returns it.
        sync: Wait for the disk after each record; see `trajectories.Appender`.

    Returns:
        The writer, which holds the run's lock until it is closed. A line that a killed writer left torn has
        been mended: see its `notes`.

    Raises:
        RunExists: There is a run, and `resume` is false.
        RunChanged: Configuration, seed, trials or content differ from the manifest; the message says where.
        RunLocked: Somebody else is writing it.
        RunDamaged: A whole line is not a record.
        UsageError: The folder holds other things, or the configuration is not JSON.

    Example:
        >>> with open_run("runs/a", {"agent": "oracle"}, tasks=tasks, trials=4) as run:  # doctest: +SKIP
        ...     for task_id, trial in run.missing():
        ...         run.append(run_episode(Episode(domain, by_id[task_id]), "oracle", trial=trial))
    """
    folder = Path(path)
    wanted = manifests.new_manifest(
        configuration, seed=seed, trials=trials, domain=domain, tasks=tasks, players=players
    )
    _check_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / LOCK)
    try:
        if not (folder / manifests.NAME).exists():
            manifests.write_manifest(folder, wanted)
            return RunWriter(folder, wanted, lock, sync=sync)
        if not resume:
            raise RunExists(f"{folder} holds a run: resume it (resume=True), or choose another folder")
        return _resumed(folder, wanted, lock, sync)
    except BaseException:
        lock.release()
        raise


def read_run(path: Path | str) -> Run:
    """Read a run, finished or not; somebody may be writing it, and `refresh` takes in what they add.

    Args:
        path: The folder.

    Returns:
        The run; a line that is not finished yet is left out.

    Raises:
        UsageError: The folder holds no run, or one of another version.
        RunDamaged: A whole line is not a record.
    """
    folder = Path(path)
    return Run(folder, manifests.read_manifest(folder))


def _resumed(folder: Path, wanted: Manifest, lock: FileLock, sync: bool) -> RunWriter:
    saved = manifests.read_manifest(folder)
    if changed := manifests.changes(*manifests.same_settings(saved, wanted)):
        raise RunChanged(
            f"{folder} was started with other settings; give the same ones, or choose another folder. "
            "Saved -> given:\n  " + "\n  ".join(changed)
        )
    run = RunWriter(folder, saved, lock, sync=sync)
    before = saved["resumed"][-1]["versions"] if saved["resumed"] else saved["versions"]
    now = wanted["versions"]
    run.notes += [f"another version of {line}" for line in manifests.changes(before, now)]
    for note in run.notes:
        _log.warning("%s", note)
    if run.notes:
        saved["resumed"].append({"versions": now, "notes": run.notes})
        manifests.write_manifest(folder, saved)
    return run


def _check_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file: a run is a folder, choose another name")
    if not folder.exists() or (folder / manifests.NAME).exists():
        return
    if (folder / trajectories.NAME).exists():
        raise UsageError(f"{folder} has records but no {manifests.NAME}: choose another folder")
    if others := sorted({item.name for item in folder.iterdir()} - _OWN_FILES):
        raise UsageError(f"{folder} holds other things ({', '.join(others[:5])}): choose an empty folder")


def _final(record: Record) -> bool:
    return record.reward is not None or record.error is None
