"""What the public harness reads in a log, written anew from its rules; and what ours says that it would read.

Rules (log parsers of logic-star-ai/swt-bench, commit of 2026-07-23):
pytest  a line that starts with PASSED, FAILED, SKIPPED or ERROR: the first word is the status, the second the name
Django  `test…(…)`, the first `...` behind it, the first of `ok OK FAILED ERROR skipped` behind that; lines
        `ERROR: test…(…)` and `FAIL: test…(…)` count more
sympy   `test…`, blanks, then `ok`, `F` or `E`; else headings of failures, `____ path.py:name ____`
"""

from __future__ import annotations

import os
import re
import runpy
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath

from sql_store import SqlStore

from tasks.adapters.runner.job import INSIDE, RunnerJob, runner_argv, write_job
from tasks.adapters.runner.report import GRAVITY, read_report
from tasks.adapters.runner.seal import new_seal
from tasks.domain.names import RepoPath, RunKey
from tasks.domain.outcome import Outcome, RunnerKind
from tasks.report.harbor import FOLDER, JUDGE

Statuses = dict[str, str]
_JUDGED = runpy.run_path(str(FOLDER / JUDGE))["cases"]
WORDS = {"ok": "PASSED", "OK": "PASSED", "FAILED": "FAILED", "ERROR": "ERROR", "skipped": "SKIPPED"}
LETTERS = {"ok": "PASSED", "F": "FAILED", "E": "ERROR"}
PRINTED = ("PASSED", "FAILED", "SKIPPED", "ERROR")
_NAME = re.compile(r"\btest\S*\s+\([^)]*\)")
_ENDED = re.compile(rf"\b(?:{'|'.join(WORDS)})\b")
_STEP = re.compile(r"(test_\S*)\s+(E|F|ok)\s")
_HEADING = re.compile(r"_\n_* .*\.py::?(.*) _*")


def pytest_log(log: str) -> Statuses:
    found: Statuses = {}
    for line in log.split("\n"):
        words = line.split()
        if line.startswith(PRINTED) and len(words) > 1:
            found[words[1]] = words[0]
    return found


def django_log(log: str) -> Statuses:
    found: Statuses = {}
    at = 0
    while name := _NAME.search(log, at):
        dots = log.find("...", name.end())
        ended = _ENDED.search(log, dots + 3) if dots >= 0 else None
        at = ended.end() if ended else name.end()
        if ended:
            found[name.group()] = WORDS[ended.group()]
    for line in log.split("\n"):
        kind, _, rest = line.partition(":")
        named = _NAME.findall(rest)
        if kind in ("ERROR", "FAIL") and len(named) == 1:
            found[named[0]] = "ERROR" if kind == "ERROR" else "FAILED"
    return {_as_before_3_11(name): status for name, status in found.items()}


def sympy_log(log: str) -> Statuses:
    headings = dict.fromkeys(_HEADING.findall(log), "FAILED")
    return headings | {name: LETTERS[letter] for name, letter in _STEP.findall(log)}


PARSERS = {RunnerKind.PYTEST: pytest_log, RunnerKind.DJANGO: django_log, RunnerKind.SYMPY: sympy_log}


@dataclass(frozen=True)
class Site:
    """A project and how to run tests in it."""

    checkout: Path
    python: str
    runner: RunnerKind
    libraries: str = ""
    """Folder of packages."""

    @property
    def env(self) -> dict[str, str]:
        path = os.pathsep.join(filter(None, (self.libraries, str(self.checkout))))
        return {
            "PATH": "/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "SYMPY_USE_CACHE": "no",
            "PYTHONPATH": path,
        }


def printed(site: Site, files: Sequence[str], quiet: bool = True) -> str:
    """What the project's own runner prints, with the options that the public harness gives it.

    It asks pytest for tracebacks, which captured output comes with, in a few repositories: then `quiet` is false.
    """
    argv = {
        RunnerKind.PYTEST: [
            "-m",
            "pytest",
            "--no-header",
            "-rA",
            *(["--tb=no"] if quiet else []),
            "-p",
            "no:cacheprovider",
            *files,
        ],
        RunnerKind.DJANGO: [
            *("tests/runtests.py", "--verbosity", "2", "--settings=test_sqlite", "--parallel", "1"),
            *(name.removeprefix("tests/").removesuffix(".py").replace("/", ".") for name in files),
        ],
        RunnerKind.SYMPY: ["bin/test", "-C", "--verbose", "--seed", "7", *files],
    }[site.runner]
    done = subprocess.run(
        [site.python, *argv],
        cwd=site.checkout,
        env=site.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.stdout.decode("utf-8", "replace")


def derived(store: SqlStore, site: Site, files: Sequence[str], folder: Path) -> Statuses:
    """What `harness_case` says that the log holds, from the rows that our runner makes."""
    job = RunnerJob(
        kind=site.runner,
        files=tuple(RepoPath(name) for name in files),
        test_args=("-C", "--verbose") if site.runner is RunnerKind.SYMPY else (),
        seed=7,
    )
    report = folder / "report.jsonl"
    report.unlink(missing_ok=True)
    config = write_job(folder, job, PurePosixPath(report))
    seal = new_seal(folder)
    done = subprocess.run(
        runner_argv(site.python, str(INSIDE), str(config)),
        cwd=site.checkout,
        env=site.env,
        capture_output=True,
        check=False,
    )
    found = read_report(report, RunKey("run"), seal)
    whole = found.completed and not found.complaint
    gravity = [str(outcome) for outcome in GRAVITY]
    told = _JUDGED(str(report), seal, gravity, site.runner.value)
    rows = found.settled(job.files, found.complaint or "it ended", under_way=Outcome.ERROR, cut=not whole).cases
    assert rows, done.stdout + done.stderr
    store.clear()
    store.instance("i")
    suite = store.suite("i", "m")
    store.candidate("i", "m", suite=suite)
    store.add("environment", env_id="env", runner=site.runner)
    for state in ("before", "after"):
        status = "completed" if found.completed else "crashed"
        key = store.run("i", suite, state, {}, status=status, exit_code=done.returncode)
        for row in rows:
            store.add("case_outcome", **asdict(row) | {"run_key": key})
    labels = {row.case_id: _name(site.runner, row.label) for row in rows}
    lines = dict(store.rows(_ASKED))
    unread = ("xfailed", "xpassed", "timeout")
    assert {case: outcome for case, outcome in told.items() if outcome not in unread} == lines, "Harbor's judge differs"
    return {labels.get(case, case): outcome.upper() for case, outcome in lines.items()}


_ASKED = """
    SELECT c.case_id, c.candidate_before FROM harness_case AS c
    JOIN swt_bench_outcome AS o ON o.outcome = c.candidate_before WHERE o.seen
"""


def _name(runner: RunnerKind, label: str) -> str:
    """How the log calls a case: pytest's ids up to the first blank, and the first line of Django's labels."""
    if runner is RunnerKind.DJANGO and label.endswith(".py"):
        return f"{PurePosixPath(label).stem} (unittest.loader._FailedTest)"
    return label.split(" ")[0] if runner is RunnerKind.PYTEST else label.split("\n")[0]


def _as_before_3_11(name: str) -> str:
    """`test_x (app.A.test_x)`, as unittest prints it from Python 3.11 on, is `test_x (app.A)`."""
    return re.sub(r"^(\w+)(\s+\(.+)\.\1\)$", r"\1\2)", name)


def differences(log: Mapping[str, str], ours: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Name → (in the log, by us), `-` where it is not there."""
    return {
        name: (log.get(name, "-"), ours.get(name, "-"))
        for name in sorted({*log, *ours})
        if log.get(name) != ours.get(name)
    }
