"""Runs on disk: layout, resuming, and reports B047 and B048."""

from __future__ import annotations

import errno
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from gym_enterprise import (
    Episode,
    Record,
    RunChanged,
    RunDamaged,
    RunExists,
    RunLocked,
    UsageError,
    open_run,
    read_run,
    regrade,
    run_episode,
)
from gym_enterprise.harness import manifest as manifests
from gym_enterprise.harness.trajectories import format_record
from tests.harness.records import did, record, said, trials
from tests.shop import make_domain

SETTINGS = {"agent": "oracle", "budgets": {"max_steps": 50}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "a"


def started(folder: Path, *records: Record, trials: int = 1) -> Path:
    """A run with these records; returns its file of records."""
    with open_run(folder, SETTINGS, trials=trials) as run:
        for item in records:
            run.append(item)
        return run.file


def keys(folder: Path) -> list[tuple[str, int]]:
    return [(item.task_id, item.trial) for item in read_run(folder).records()]


# -- what stands in the folder ----------------------------------------------------------------------------


def test_the_manifest_says_what_was_run_on_what_and_with_which_versions(folder: Path) -> None:
    domain = make_domain()
    tasks = domain.tasks["train"]
    with open_run(folder, SETTINGS, seed=7, trials=2, domain=domain, tasks=tasks.values()) as run:
        assert run.planned == 6
    manifest = json.loads((folder / "manifest.json").read_text())
    assert (manifest["schema_version"], manifest["configuration"]) == (1, SETTINGS)
    assert (manifest["seed"], manifest["trials"], manifest["resumed"]) == (7, 2, [])
    assert manifest["content"]["domain"] == "shop"
    assert manifest["content"]["image"] == domain.image.digest
    assert manifest["content"]["tasks"] == {task_id: task.hash for task_id, task in tasks.items()}
    assert {"python", "gym-enterprise", "gymnasium", "apsw", "numpy"} <= set(manifest["versions"])
    assert sorted(item.name for item in folder.iterdir()) == ["lock", "manifest.json", "trajectories.jsonl"]


def test_the_hash_of_the_documents_is_of_their_text() -> None:
    domain = make_domain()
    # sha256sum of [["expediting","Expediting","Orders ..."],...] without blanks.
    expected = "c9f0599f0bf342545724627fd61e3a75d6de6708071209158300a5d87f17aeb7"
    assert manifests.documents_hash(domain) == expected
    other = make_domain(documents=domain.documents[:2], tasks={"train": []})
    assert manifests.documents_hash(other) != manifests.documents_hash(domain)


def test_records_come_back_as_they_were_and_can_be_graded_again(folder: Path) -> None:
    domain = make_domain()
    tasks = domain.tasks["train"]
    played = [
        run_episode(Episode(domain, task), "oracle", trial=trial)
        for task in tasks.values()
        for trial in (0, 1)
    ]
    with open_run(folder, SETTINGS, trials=2, domain=domain, tasks=tasks.values()) as run:
        for item in played:
            run.append(item)
        assert run.records() == played
        assert run.missing() == []
    saved = read_run(folder)
    assert saved.records() == played
    assert len(saved) == saved.planned == saved.lines == 6
    assert [regrade(domain, tasks[item.task_id], item) for item in saved] == [item.grade for item in played]


def test_usage_timings_and_token_streams_come_back_too(folder: Path) -> None:
    whole = record(
        usage={"agent": {"tokens_in": 12, "tokens_out": 3}},
        timings={"total": 1.25},
        segments=({"ids": [1, 2], "sampled": [False, True], "logprobs": [0.0, -0.1]},),
        task_hash="ab",
    )
    started(folder, whole)
    assert read_run(folder).records() == [whole]


def test_a_record_of_an_older_form_is_read_with_defaults(folder: Path) -> None:
    file = started(folder)
    data = record().to_dict()
    for name in ("task_hash", "usage", "timings", "segments"):
        del data[name]
    file.write_text(json.dumps(data) + "\n")
    assert read_run(folder).records() == [record()]


# -- B047 -------------------------------------------------------------------------------------------------

ODD = "a\u2028b\u0085c\x0bd\x0ce\x1cf\u2029g\r\nh\x00\U0001f642"


def test_b047_text_with_other_line_separators_stays_one_record(folder: Path) -> None:
    records = [record(f"t{n}", transcript=tuple(said("user", ODD))) for n in range(3)]
    file = started(folder, *records)
    assert len(file.read_text().splitlines()) == 3
    assert read_run(folder).records() == records
    with open_run(folder, SETTINGS, resume=True) as run:
        assert (run.missing(["t0", "t1", "t2"]), run.notes) == ([], [])


def test_b047_so_does_text_that_another_program_wrote_unescaped(folder: Path) -> None:
    records = [record(f"t{n}", transcript=tuple(said("user", ODD))) for n in range(3)]
    file = started(folder)
    text = "".join(json.dumps(item.to_dict(), ensure_ascii=False) + "\n" for item in records)
    assert len(text.splitlines()) > 3
    file.write_bytes(text.encode())
    assert read_run(folder).records() == records


# -- B048 -------------------------------------------------------------------------------------------------


def test_b048_a_torn_last_line_is_dropped_reported_and_played_again(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = started(folder, record("T1"), record("T2"))
    whole = file.read_bytes()
    file.write_bytes(whole + b'{"task": "T3", "rew')
    assert keys(folder) == [("T1", 0), ("T2", 0)]
    with open_run(folder, SETTINGS, resume=True) as run:
        (note,) = run.notes
        assert note == (
            f"{file}:3: dropped 19 bytes of a line cut short, whose episode is run again: "
            """it begins '{"task": "T3", "rew'"""
        )
        assert note in caplog.text
        assert run.missing(["T1", "T2", "T3"]) == [("T3", 0)]
        run.append(record("T3"))
    assert file.read_bytes() == whole + format_record(record("T3"))
    assert json.loads((folder / "manifest.json").read_text())["resumed"][0]["notes"] == [note]


def test_b048_damage_before_the_last_line_is_an_error_and_nothing_is_overwritten(folder: Path) -> None:
    good = format_record(record("T2"))
    for damaged in (
        b'{"task": "T1", "rew\n' + good + b'{"ta',
        good + b"\n" + good,
        good + b"[]\n",
        good + b"\xff\xfe\n",
        good + b'{"task_id": "T3"}\n',
        good + json.dumps(record("T3").to_dict() | {"trial": "0"}).encode() + b"\n",
        good + json.dumps(record("T3").to_dict() | {"new_field": 0}).encode() + b"\n",
    ):
        file = started(folder) if not folder.exists() else folder / "trajectories.jsonl"
        file.write_bytes(damaged)
        number = 1 if damaged.startswith(b'{"task":') else 2
        for attempt in (lambda: read_run(folder), lambda: open_run(folder, SETTINGS, resume=True)):
            with pytest.raises(RunDamaged, match=rf"\.jsonl:{number}: not a record: .*Nothing was changed"):
                attempt()
        assert file.read_bytes() == damaged


def test_a_file_cut_anywhere_is_resumed_to_each_episode_once(folder: Path) -> None:
    lines = [format_record(record(f"t{n}")) for n in range(3)]
    file = started(folder)
    whole = b"".join(lines)
    ends = [len(b"".join(lines[:n])) for n in range(4)]
    near = {end + step for end in ends for step in (-2, -1, 0, 1) if 0 <= end + step <= len(whole)}
    for cut in sorted(near | set(range(0, len(whole), 29))):
        file.write_bytes(whole[:cut])
        with open_run(folder, SETTINGS, resume=True, sync=False) as run:
            # A line that lacks its line feed only is whole, and is kept.
            finished = sum(cut >= end - 1 for end in ends[1:])
            assert run.missing(["t0", "t1", "t2"]) == [(f"t{n}", 0) for n in range(finished, 3)]
            for task_id, trial in run.missing(["t0", "t1", "t2"]):
                run.append(record(task_id, trial))
        assert file.read_bytes() == whole


def test_a_tail_of_zeros_as_a_loss_of_power_leaves_is_dropped(folder: Path) -> None:
    file = started(folder, record("t0"))
    whole = file.read_bytes()
    file.write_bytes(whole + b"\0" * 4096)
    with open_run(folder, SETTINGS, resume=True) as run:
        assert "dropped 4096 bytes" in run.notes[0]
    assert file.read_bytes() == whole


# -- resuming ---------------------------------------------------------------------------------------------


def test_a_run_that_is_there_is_not_written_to_without_resume(folder: Path) -> None:
    file = started(folder, record())
    with pytest.raises(RunExists, match=r"holds a run: resume it \(resume=True\), or choose another folder"):
        open_run(folder, SETTINGS)
    assert len(file.read_bytes().split(b"\n")) == 2


def test_resume_starts_a_run_where_there_is_none(folder: Path) -> None:
    with open_run(folder, SETTINGS, resume=True) as run:
        assert (run.resumed, run.notes) == (False, [])
    with open_run(folder, SETTINGS, resume=True) as run:
        run.append(record())
    with open_run(folder, SETTINGS, resume=True) as run:
        assert run.resumed


def test_a_changed_configuration_is_refused_with_what_changed(folder: Path) -> None:
    domain = make_domain()
    task = domain.tasks["train"]["cancel"]
    open_run(folder, SETTINGS | {"limit": 3, "list": [1, 2]}, domain=domain, tasks=[task]).close()
    before = (folder / "manifest.json").read_bytes()
    changed = {"agent": "oracle", "budgets": {"max_steps": 50.0}, "list": [1], "user": None}
    with pytest.raises(RunChanged) as caught:
        open_run(
            folder,
            changed,
            resume=True,
            seed=1,
            trials=4,
            domain=domain,
            tasks=[task.model_copy(update={"notes": "new"})],
        )
    lines = str(caught.value).split("\n")
    assert lines[0].endswith("Saved -> given:")
    assert [line.split(":")[0].strip() for line in lines[1:]] == [
        "configuration.budgets.max_steps",
        "configuration.limit",
        "configuration.list",
        "configuration.user",
        "content.tasks.cancel",
        "seed",
        "trials",
    ]
    assert lines[1:4] == [
        "  configuration.budgets.max_steps: 50 -> 50.0",
        "  configuration.limit: 3 -> (absent)",
        "  configuration.list: [1,2] -> [1]",
    ]
    assert (folder / "manifest.json").read_bytes() == before
    with open_run(folder, SETTINGS | {"limit": 3, "list": (1, 2)}, resume=True, domain=domain, tasks=[task]):
        pass  # a refused resume lets the lock go, and a tuple is the list that JSON makes of it


def test_many_changes_are_cut_to_a_readable_number(folder: Path) -> None:
    open_run(folder, {f"k{n:03}": 0 for n in range(100)}).close()
    with pytest.raises(RunChanged) as caught:
        open_run(folder, {f"k{n:03}": "x" * 500 for n in range(100)}, resume=True)
    lines = str(caught.value).split("\n")
    assert (len(lines), lines[-1]) == (22, "  and 80 more")
    assert max(map(len, lines[1:])) < 120


def test_other_versions_are_noted_and_not_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started(folder)
    versions = manifests.versions() | {"apsw": "9.9"}
    monkeypatch.setattr(manifests, "versions", lambda: versions)
    for expected in (1, 0):  # the second time it is no news
        with open_run(folder, SETTINGS, resume=True) as run:
            assert len(run.notes) == expected
    saved = json.loads((folder / "manifest.json").read_text())
    assert saved["resumed"][0]["versions"]["apsw"] == "9.9"
    assert saved["resumed"][0]["notes"][0].startswith("another version of apsw: ")
    assert saved["versions"]["apsw"] != "9.9"


def test_missing_are_all_tasks_once_then_again(folder: Path) -> None:
    with open_run(folder, SETTINGS, trials=2) as run:
        run.append(record("b", 0))
        run.append(record("a", 1, 0.0))
        assert run.missing(["a", "b", "a"]) == [("a", 0), ("b", 1)]
        assert run.missing(["a", "c"], trials=1) == [("a", 0), ("c", 0)]
        assert run.missing() == []
        assert run.planned is None


def test_what_broke_is_missing_and_the_later_record_replaces_it(folder: Path) -> None:
    with open_run(folder, SETTINGS, trials=2) as run:
        for item in (*trials("a", "-1"), record("a", 0, None, steps=9), record("a", 0, 0.0)):
            run.append(item)
            if item.reward is None:
                assert ("a", 0) in run.missing(["a"])
        assert run.missing(["a"]) == []
        assert (len(run), run.lines) == (2, 4)
    assert [(r.task_id, r.trial, r.reward) for r in read_run(folder)] == [("a", 0, 0.0), ("a", 1, 1.0)]


def test_an_episode_that_only_lacks_a_judge_is_not_played_again(folder: Path) -> None:
    with open_run(folder, SETTINGS) as run:
        run.append(record("a", 0, None, error=None))
        assert run.missing(["a"]) == []


def test_a_second_record_after_a_final_one_is_refused_and_in_a_file_it_is_damage(folder: Path) -> None:
    with open_run(folder, SETTINGS) as run:
        run.append(record("a"))
        for again in (record("a"), record("a", 0, None)):
            with pytest.raises(UsageError, match="task 'a' trial 0 has a final record in"):
                run.append(again)
        assert run.lines == 1
    run.file.write_bytes(run.file.read_bytes() * 2)
    with pytest.raises(RunDamaged, match=r":2: task 'a' trial 0 has a final record already, in line 1\."):
        read_run(folder)


def test_records_that_do_not_belong_to_the_run_are_refused(folder: Path) -> None:
    domain = make_domain()
    with open_run(folder, SETTINGS, tasks=[domain.tasks["train"]["cancel"]]) as run:
        with pytest.raises(UsageError, match="task 'z' is none of the 1 in the run's manifest"):
            run.append(record("z"))
        with pytest.raises(UsageError, match="task 'cancel' has another content than in the run's manifest"):
            run.append(record("cancel", task_hash="0"))
        run.append(record("cancel"))
        for trial in (1, -1):
            with pytest.raises(UsageError, match=rf"'cancel' has trial {trial}, and the trials in .* 0 to 0"):
                run.append(record("cancel", trial))
    assert read_run(folder).records() == [record("cancel")]


@pytest.mark.parametrize(
    ("stray", "words"),
    [
        (record("z"), "task 'z' is none of the 1 in the run's manifest"),
        (record("cancel", 2), "task 'cancel' has trial 2, and the trials in the run's manifest are 0 to 1"),
    ],
)
def test_a_line_of_an_episode_that_the_run_does_not_have_is_damage(
    folder: Path, stray: Record, words: str
) -> None:
    settings: dict[str, Any] = {"tasks": [make_domain().tasks["train"]["cancel"]], "trials": 2}
    with open_run(folder, SETTINGS, **settings) as run:
        run.append(record("cancel"))
    with run.file.open("ab") as file:
        file.write(format_record(stray))
    for attempt in (lambda: read_run(folder), lambda: open_run(folder, SETTINGS, resume=True, **settings)):
        with pytest.raises(RunDamaged, match=rf"\.jsonl:2: {words}\. Nothing was changed"):
            attempt()


# -- folders and manifests that are not a run's -----------------------------------------------------------


def test_folders_that_are_no_run_are_refused_untouched(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("...")
    with pytest.raises(UsageError, match=r"holds other things \(thesis\.tex\): choose an empty folder"):
        open_run(tmp_path, SETTINGS, resume=True)
    assert [item.name for item in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(UsageError, match="is a file: a run is a folder"):
        open_run(tmp_path / "thesis.tex", SETTINGS)
    with pytest.raises(UsageError, match=r"is not a run: it has no manifest\.json"):
        read_run(tmp_path)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "trajectories.jsonl").write_text("")
    with pytest.raises(UsageError, match="has records but no manifest"):
        open_run(tmp_path / "b", SETTINGS)


def test_a_start_that_was_killed_before_the_manifest_is_started_again(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "lock").write_text("")
    (folder / "manifest.json.part").write_text('{"sche')
    open_run(folder, SETTINGS).close()
    assert read_run(folder).manifest["configuration"] == SETTINGS


def test_manifests_that_cannot_be_read_say_why(folder: Path) -> None:
    started(folder)
    path = folder / "manifest.json"
    path.write_text(json.dumps({"schema_version": 2}))
    with pytest.raises(UsageError, match="has schema_version 2; this version reads 1: use the version of"):
        read_run(folder)
    for text in ("{", "[]", "{}"):
        path.write_text(text)
        with pytest.raises(UsageError, match="is not a manifest"):
            open_run(folder, SETTINGS, resume=True)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("schema_version", ..., "the field 'schema_version' is missing"),
        ("trials", None, "the field 'trials' is None: it should be a valid integer"),
        ("trials", "four", "the field 'trials' is 'four': it should be a valid integer"),
        ("trials", 0, "the field 'trials' is 0: it should be greater than or equal to 1"),
        ("configuration", ..., "the field 'configuration' is missing"),
        ("content", ..., "the field 'content' is missing"),
        ("content.tasks", None, "the field 'content.tasks' is None: it should be a valid dictionary"),
        ("content.tasks", {"t": 5}, "the field 'content.tasks.t' is 5: it should be a valid string"),
        ("content.domain", ..., "the field 'content.domain' is missing"),
        ("seed", "0", "the field 'seed' is '0': it should be a valid integer"),
        ("versions", ["3.11"], r"the field 'versions' is \['3.11'\]: it should be a valid dictionary"),
        ("resumed", ..., "the field 'resumed' is missing"),
        ("resumed", [{"notes": []}], "the field 'resumed.0.versions' is missing"),
    ],
)
def test_fields_of_a_manifest_that_are_missing_or_of_another_type_are_named(
    folder: Path, path: str, value: Any, words: str
) -> None:
    started(folder)
    file = folder / "manifest.json"
    file.write_text(json.dumps(edited(json.loads(file.read_text()), path, value)))
    for attempt in (lambda: read_run(folder), lambda: open_run(folder, SETTINGS, resume=True)):
        with pytest.raises(UsageError, match=rf"manifest\.json is not a manifest: {words}"):
            attempt()


def edited(data: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Set a field at a dotted path, or with `...` remove it."""
    *names, last = path.split(".")
    inner: Any = data
    for name in names:
        inner = inner[int(name) if name.isdigit() else name]
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    return data


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("grade.reward", "1.0", "'grade.reward' is '1.0': it should be a valid number"),
        ("grade.reward", True, "'grade.reward' is True: it should be a valid number"),
        ("grade.reward", float("nan"), "'grade.reward' is nan: it should be a finite number"),
        ("grade.diff", [], r"'grade.diff' is \[\]: it should be a valid dictionary"),
        ("grade", ..., "'grade' is missing"),
        ("steps", None, "'steps' is None: it should be a valid integer"),
        ("trial", -1, "'trial' is -1: it should be greater than or equal to 0"),
        ("task_id", 5, "'task_id' is 5: it should be a valid string"),
        ("usage", {"agent": 5}, "'usage.agent' is 5: it should be a valid dictionary"),
        ("timings", {"total": "1"}, "'timings.total' is '1': it should be a valid number"),
        ("segments", [5], "'segments.0' is 5: it should be a valid dictionary"),
        ("error", 5, "'error' is 5: it should be a valid string"),
        ("truncation_reward", "half", "'truncation_reward' is 'half': it should be 'state' or 'zero'"),
        ("zzz", 1, "'zzz' is none that a record has"),
        ("transcript.0.content", None, "'transcript.0.content' is None: it should be a valid string"),
        ("transcript.0.seat", "clerk", "'transcript.0.seat' is 'clerk': it should be 'agent' or 'user'"),
        ("transcript.0.call.name", 5, "'transcript.0.call.name' is 5: it should be a valid string"),
        ("transcript.1.content", "5", "'transcript.1' is .*: a message of a tool should have its call, and"),
        ("transcript.1.call", None, "'transcript.1' is .*: a message of a tool should have its call, and"),
    ],
)
def test_fields_of_a_record_that_are_missing_or_of_another_type_are_named(
    folder: Path, path: str, value: Any, words: str
) -> None:
    file = started(folder, record(transcript=tuple(did("look"))))
    file.write_text(json.dumps(edited(json.loads(file.read_text()), path, value)) + "\n")
    for attempt in (lambda: read_run(folder), lambda: open_run(folder, SETTINGS, resume=True)):
        with pytest.raises(RunDamaged, match=rf"\.jsonl:1: not a record: the field {words}"):
            attempt()


@pytest.mark.parametrize("settings", [{"path": Path("x")}, {"rate": float("nan")}])
def test_a_configuration_that_is_not_json_is_refused(folder: Path, settings: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="the configuration should hold JSON values only"):
        open_run(folder, settings)
    with pytest.raises(UsageError, match="trials should be a whole number of at least 1, got 0"):
        open_run(folder, {}, trials=0)
    assert not folder.exists()


# -- failures while writing -------------------------------------------------------------------------------


def test_a_record_that_is_not_json_is_refused_and_the_run_goes_on(folder: Path) -> None:
    with open_run(folder, SETTINGS) as run:
        with pytest.raises(UsageError, match=r"the record of task 'a' trial 0 is not JSON: .*keep NaN"):
            run.append(record("a", segments=({"logprobs": [float("-inf")]},)))
        run.append(record("b"))
    assert keys(folder) == [("b", 0)]


class FullDisk:
    """A file that takes 10 bytes more, and then has no more room."""

    def __init__(self, file: Any, *, frozen: bool) -> None:
        self.file, self.frozen, self.room = file, frozen, 10

    def write(self, data: Any) -> int:
        if not self.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        taken, self.room = self.file.write(data[: self.room]), 0
        return int(taken)

    def truncate(self, size: int) -> None:
        if self.frozen:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        self.file.truncate(size)


@pytest.mark.parametrize("frozen", [False, True])
def test_a_full_disk_leaves_no_half_line(folder: Path, frozen: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_run(folder, SETTINGS) as run:
        run.append(record("a"))
        whole = run.file.read_bytes()
        monkeypatch.setattr(run._appender, "_file", FullDisk(run._appender._file, frozen=frozen))
        with pytest.raises(OSError, match=os.strerror(errno.EIO if frozen else errno.ENOSPC)) as caught:
            run.append(record("b"))
        assert caught.value.filename == str(run.file)
        # A disk that takes nothing back either is mended before the next line.
        assert len(run.file.read_bytes()) == len(whole) + 10 * frozen
        monkeypatch.undo()
        run.append(record("b"))
    assert keys(folder) == [("a", 0), ("b", 0)]


def test_a_manifest_that_cannot_be_written_leaves_the_old_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started(folder)

    def fail(handle: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match=rf"{os.strerror(errno.EIO)}.*manifest\.json\.part"):
        manifests.write_manifest(folder, {"schema_version": 1, "configuration": "other"})
    assert not (folder / "manifest.json.part").exists()
    assert read_run(folder).manifest["configuration"] == SETTINGS


def test_an_interrupt_right_after_a_line_was_written_does_not_lose_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_run(folder, SETTINGS) as run:

        def interrupted(record: Record, length: int) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(run, "_enter", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run.append(record("a"))
        monkeypatch.undo()
        with pytest.raises(UsageError, match="task 'a' trial 0 has a final record"):
            run.append(record("a"))
        run.append(record("b"))
        assert [item.task_id for item in run] == ["a", "b"]


# -- readers, threads, second writers ---------------------------------------------------------------------


def test_a_reader_sees_whole_records_only_and_takes_in_new_ones(folder: Path) -> None:
    with open_run(folder, SETTINGS) as run:
        reader = read_run(folder)
        assert len(reader) == 0
        run.append(record("a", 0, None))
        line = format_record(record("b"))
        run._appender._file.write(line[:40])  # the writer is in the middle of a line
        reader.refresh()
        assert [item.task_id for item in reader] == ["a"]
        run._appender._file.truncate(run._appender.end)
        run.append(record("a"))
        run.append(record("b"))
        reader.refresh()
        assert [(item.task_id, item.reward) for item in reader] == [("a", 1.0), ("b", 1.0)]


def test_threads_share_a_writer(folder: Path) -> None:
    with open_run(folder, SETTINGS, trials=25) as run:

        def write(number: int) -> None:
            for trial in range(25):
                run.append(record(f"t{number}", trial, transcript=tuple(did("x" * 3000))))

        threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(run.records()) == 200
    assert sorted(keys(folder)) == [(f"t{n}", trial) for n in range(8) for trial in range(25)]


def test_b049_a_second_writer_in_the_same_process_is_refused_by_name(folder: Path) -> None:
    with (
        open_run(folder, SETTINGS) as run,
        pytest.raises(RunLocked, match=rf"is being written by process {os.getpid()} on .*one writer at a"),
    ):
        open_run(folder, SETTINGS, resume=True)
    assert (folder / "lock").read_bytes() == b""
    run.close()  # closing twice is closing once
    open_run(folder, SETTINGS, resume=True).close()


def test_b049_a_holder_without_a_name_is_another_process(folder: Path) -> None:
    with open_run(folder, SETTINGS):
        (folder / "lock").write_text("")
        with pytest.raises(RunLocked, match="is being written by another process: "):
            open_run(folder, SETTINGS, resume=True)


def test_b049_another_process_may_not_write_with_a_writer_it_inherited(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_run(folder, SETTINGS) as run:
        mine = os.getpid()
        monkeypatch.setattr(os, "getpid", lambda: mine + 1)
        with pytest.raises(UsageError, match=f"was opened by process {mine}: only that one may write to it"):
            run.append(record())
