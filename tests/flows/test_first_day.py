"""What somebody meets on the first day: inputs that cannot be, places that cannot be made, keys that are missing."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from flows.demo import DEMO, SNAPSHOT
from flows.engine.units import ThreadExecutor
from flows.interface.cli import main
from flows.interface.pipelines import run_flow
from flows.interface.requests import (
    EvaluationRequest,
    FixesRequest,
    GenerateRequest,
    LocalizeRequest,
    Locator,
    StrengthRequest,
)
from flows.interface.settings import PROJECT, Settings
from flows.snapshots import list_snapshots
from flows.sweep import open_router
from tasks.adapters.llm.limits.budget import Budget
from tasks.adapters.sandbox import select as picking
from tasks.adapters.sandbox.select import pick, swept
from tasks.adapters.store.files.disk import LocalDisk
from tasks.adapters.store.tables.store import Store
from tasks.adapters.store.views.database import ensure_views, query
from tasks.domain.errors import NotFound, SandboxError, SwtError, UsageError
from tasks.domain.generation import Give
from tasks.domain.instance import TaskInstance
from tasks.domain.outcome import SandboxKind
from tasks.domain.undone import FlowRound

ONE = "rolling-swt-bench__larder-3"
NOWHERE = Path("/proc/none")
"""Where not even root can make a folder."""
PAID = "gpt-4o-2024-08-06"

Swt = Callable[..., tuple[object, str]]


@pytest.fixture
def swt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Swt:
    """A command on an empty machine: its exit code, and all that it says."""
    for name, value in {"STORE": "store", "CACHE": "cache", "DATABASE": "swt.duckdb", "SCRATCH": "scratch"}.items():
        monkeypatch.setenv(f"SWT_{name}", str(tmp_path / value))

    def run(*argv: str, **environ: str) -> tuple[object, str]:
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "argv", ["swt", *argv])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return ended.value.code, said.out + said.err

    return run


@pytest.mark.slow
def test_pytest_by_itself_collects_what_needs_the_root() -> None:
    """`pytest`, unlike `python -m pytest`, does not put the working folder on the path."""
    argv = [str(Path(sys.executable).with_name("pytest")), "--collect-only", "-q", "tests/benchmarks"]
    done = subprocess.run(argv, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


IMPORTS = [
    ("empty.jsonl", b"", "empty.jsonl is empty"),
    ("empty.parquet", b"", "empty.parquet is no Parquet file"),
    ("text.parquet", b'{"repo": "a/b"}', "text.parquet is no Parquet file"),
    ("picture.jsonl", bytes(range(256)), "picture.jsonl is binary, and neither JSON nor Parquet"),
    ("bad.jsonl", b"nonsense\n", "bad.jsonl:1: ?: the line is not JSON"),
    ("other.jsonl", b'{"foo": 1}\n', "other.jsonl:1: ?: instance_id is missing"),
]


@pytest.mark.parametrize(("name", "content", "said"), IMPORTS, ids=[name for name, *_ in IMPORTS])
def test_an_import_says_what_is_wrong_with_its_file(
    swt: Swt, tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    code, told = swt("import", str(file), "--snapshot", "mine")
    assert code == 2
    assert said in told
    assert "see the lines above" not in told or len(told.splitlines()) > 2


@pytest.mark.slow
def test_without_a_mirror_each_instance_is_named_and_the_hint_said_once(
    swt: Swt, caplog: pytest.LogCaptureFixture
) -> None:
    assert swt("import", str(PROJECT / "data" / "demo" / "instances.jsonl"), "--snapshot", "demo")[0] == 0
    assert swt("evaluate", "golden", "--snapshot", "demo", "--trusted")[0] == 3
    assert sum("there is no mirror of rolling-swt-bench/larder in" in line for line in caplog.messages) == 10
    assert caplog.messages.count("hint: swt repo add rolling-swt-bench/larder --git PATH") == 1


def test_a_repository_that_is_not_there_is_named(swt: Swt, tmp_path: Path) -> None:
    for source in (tmp_path / "nothing", tmp_path):
        code, said = swt("repo", "add", "foo/bar", "--git", str(source))
        assert (code, said.splitlines()) == (
            2,
            [f"error[not-found]: there is no git repository at {source}", "hint: swt repo add foo/bar --git PATH"],
        )


@pytest.mark.parametrize(
    ("variable", "argv"),
    [
        ("SWT_STORE", ("import", str(DEMO / "instances.jsonl"), "--snapshot", "mine")),
        ("SWT_DATABASE", ("query", "table2")),
        ("SWT_CACHE", ("repo", "add", "foo/bar", "--git", str(PROJECT))),
    ],
)
@pytest.mark.parametrize("place", [NOWHERE / "below", NOWHERE], ids=["below", "itself"])
def test_a_place_that_cannot_be_made_names_its_variable(
    swt: Swt, variable: str, argv: tuple[str, ...], place: Path
) -> None:
    code, said = swt(*argv, **{variable: str(place)})
    assert code == 3
    assert "cannot be made" in said
    assert said.splitlines()[-1].endswith(variable)


def test_a_full_disk_is_no_traceback(swt: Swt, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(disk: LocalDisk, path: str, data: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    monkeypatch.setattr(LocalDisk, "write", full)
    code, said = swt("import", str(DEMO / "instances.jsonl"), "--snapshot", SNAPSHOT)
    assert code == 3
    assert "error[infrastructure]: [Errno 28] No space left on device" in said
    assert "hint: free some room" in said


def test_a_scratch_folder_that_cannot_be_made_names_its_variable() -> None:
    with pytest.raises(SandboxError, match="scratch folder /proc/none cannot be made") as caught:
        swept(SandboxKind.PROCESS, trusted=True, base=NOWHERE)
    assert caught.value.hint.endswith("SWT_SCRATCH")


def test_where_nothing_isolates_a_hint_names_the_option_and_trusting_says_what_it_means(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    alone = tuple(entry for entry in picking.ENTRIES if entry.kind is SandboxKind.PROCESS)
    monkeypatch.setattr(picking, "ENTRIES", alone)
    for kind in (None, SandboxKind.PROCESS):
        with pytest.raises(UsageError) as caught:
            pick(kind, trusted=False, base=tmp_path)
        assert "--trusted" in caught.value.hint
    for _ in range(2):
        swept(None, trusted=True, base=tmp_path)
    assert [line.partition(":")[0] for line in caplog.messages] == ["nothing isolates the code under test here"]


ABSENT = "absent.jsonl"
LATE = [
    (run_flow, EvaluationRequest(candidates=(ABSENT,), snapshot=SNAPSHOT)),
    (run_flow, EvaluationRequest(candidates=("golden",), snapshot="none")),
    (run_flow, EvaluationRequest(candidates=("golden",), snapshot=SNAPSHOT, instances=("none",))),
    (run_flow, StrengthRequest(fixes=(ABSENT,), snapshot=SNAPSHOT)),
    (run_flow, FixesRequest(fixes=(ABSENT,), snapshot=SNAPSHOT)),
    (run_flow, GenerateRequest(snapshot="none", methods=("zero_shot",), models=("scripted",))),
    (run_flow, GenerateRequest(snapshot=SNAPSHOT, methods=("zero_shot",), models=(PAID,))),
]


@pytest.mark.parametrize(("story", "request_"), LATE, ids=[f"{one[1].title}-{n}" for n, one in enumerate(LATE)])
def test_inputs_and_keys_come_before_the_sandbox_and_before_any_work(
    settings: Settings, story: Callable[..., object], request_: object
) -> None:
    with pytest.raises(NotFound):
        story(request_, replace(settings, sandbox=SandboxKind.PROCESS, trusted=False))
    assert Store(settings.store).read(FlowRound) == ()


def test_a_missing_key_names_its_variable_unless_there_is_something_to_replay(settings: Settings) -> None:
    with pytest.raises(NotFound, match="OPENAI_API_KEY is not set") as caught:
        open_router(settings, (PAID,), Budget())
    assert caught.value.hint.startswith("export OPENAI_API_KEY=")
    board = open_router(replace(settings, environ={"OPENAI_API_KEY": "any"}), (PAID,), Budget())
    board.close()


def test_what_needs_a_file_says_so_before_anything_is_done() -> None:
    with pytest.raises(UsageError, match="incorrect-patch and its predictions file go together"):
        GenerateRequest(snapshot=SNAPSHOT, methods=("zero_shot",), models=(PAID,), give=(Give.INCORRECT_PATCH,))
    with pytest.raises(SwtError, match="the agent needs a model"):
        LocalizeRequest(snapshot=SNAPSHOT, method=Locator.AGENT)


@pytest.mark.slow
def test_nothing_that_could_be_judged_is_exit_code_3(settings: Settings, tmp_path: Path) -> None:
    empty, bad = tmp_path / "empty.jsonl", tmp_path / "bad.jsonl"
    empty.write_text("")
    bad.write_text("nonsense\n")
    for source in (str(empty), str(bad), "stored:nope"):
        found = run_flow(EvaluationRequest(candidates=(source,), snapshot=SNAPSHOT, instances=(ONE,)), settings)
        assert (found.exit_code, found.ran.executed + found.ran.reused) == (3, 0), source
        assert f"no candidate to judge in {source}: nothing was run" in found.problems


@pytest.mark.slow
def test_the_list_has_every_snapshot_that_tables_have(settings: Settings) -> None:
    store = Store(settings.store)
    pooled = [replace(row, snapshot="collected") for row in store.read(TaskInstance, snapshot=SNAPSHOT)]
    store.write(pooled)
    ensure_views(settings.store, settings.database, settings.sql)
    listed = query(settings.database, "SELECT snapshot, instances, state FROM snapshot_state").to_pylist()
    assert listed == [
        {"snapshot": SNAPSHOT, "instances": 10, "state": "imported"},
        {"snapshot": "collected", "instances": 10, "state": "pool"},
    ]
    assert [line.split()[0] for line in list_snapshots(settings).splitlines()[2:]] == [SNAPSHOT, "collected"]


def test_a_log_file_gets_lines_of_progress(capsys: pytest.CaptureFixture[str]) -> None:
    from flows.engine.units import TaskBatch
    from tasks.domain.undone import OfInstance

    units = [OfInstance(snapshot="s", instance_id=name) for name in ("a", "b", "c")]
    ThreadExecutor(1, every_s=0.0).work(TaskBatch(name="runs", function=str, units=units), lambda place, result: None)
    assert [line for line in capsys.readouterr().err.splitlines() if line.startswith("runs:")] == [
        "runs: 1 of 3",
        "runs: 2 of 3",
        "runs: 3 of 3",
    ]
