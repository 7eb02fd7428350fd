"""TDFlow on real instances through its deployment: with the golden tests, then with those of Generate Tests.

    SWT_CACHE=… python -m benchmarks.tdflow_sweep --work FOLDER --rows ROWS.jsonl --instances ID …

A Prefect server and a worker of its own, one `prefect deployment run 'repair/tdflow'` for each, and the scripted model
of `tdflow_drill`; where tests are asked for it hands in the golden ones. Printed are the states of both flow runs and
what `swt query` says of them. Needs mirrors of the repositories in `SWT_CACHE`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.prefect_server import prefect_server
from benchmarks.repairing_model import KnowsItLater, Tests
from benchmarks.tdflow_drill import SWT, environ_of
from flows.interface.settings import settings_from
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.llm.dialects.spoken import ClientRequest
from tasks.domain.instance import TaskInstance
from tasks.rehearsal.scripted_provider.script import Step
from tasks.rehearsal.scripted_provider.server import ScriptedProvider
from tasks.repair.suite import TargetTests
from tasks.scrape.swe_bench_rows import import_instances

SNAPSHOT = "sweep"
ASKED = (
    "FROM repair_instance",
    "repair_rate",
    "repair_by_iteration",
    "repair_by_bad_tests",
    "repair_steps",
    "lone_cases",
    "FROM undone_now",
)
PATIENCE_S = 7200.0


class KnowsThemAll:
    """One model for all instances: it is told of an issue first, or (Revise Patch) of the patch that it handed in."""

    def __init__(self, rows: Iterable[TaskInstance], mirrors: Mirrors) -> None:
        self._about: dict[str, KnowsItLater] = {}
        for row in rows:
            model = KnowsItLater(row.patch, _tests(row, mirrors))
            self._about[_plain(row.problem_statement)] = self._about[_plain(model.useless(malformed=True))] = model

    def __call__(self, call: ClientRequest) -> Step:
        opening = _plain(call.messages[0].text)
        return next(model for known, model in self._about.items() if known in opening)(call)


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").strip()


def _tests(row: TaskInstance, mirrors: Mirrors) -> Tests:
    read = partial(mirrors.read_file, row.repo, row.base_commit)
    given = TargetTests.of_patch("golden", row.test_patch, read, None)
    return Tests(row.test_patch, {change.path: change.after or "" for change in given.changes})


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--rows", type=Path, required=True, help="rows of SWE-bench")
    parser.add_argument("--instances", nargs="+", required=True)
    told = parser.parse_args(argv)
    shutil.rmtree(told.work, ignore_errors=True)
    told.work.mkdir(parents=True)
    chosen = [line for line in told.rows.read_text().splitlines() if json.loads(line)["instance_id"] in told.instances]
    file = told.work / "rows.jsonl"
    file.write_text("\n".join(chosen) + "\n")
    rows = import_instances(file, snapshot=SNAPSHOT).instances
    provider = ScriptedProvider(KnowsThemAll(rows, Mirrors(settings_from(dict(os.environ)).places.mirrors)))
    with provider.serve() as url:
        env = environ_of(told.work, url)
        subprocess.run([SWT, "import", str(file), "--snapshot", SNAPSHOT], env=env, check=True)
        with prefect_server(told.work, env) as prefect, prefect.worker("repairer"):
            for tests in ("golden", "generate"):
                asked: dict[str, Any] = {"snapshot": SNAPSHOT, "model": "scripted", "tests": tests}
                run = prefect.ended(prefect.begin("repair/tdflow", asked), PATIENCE_S)
                print(
                    f"{tests}: {run['state_type']}, {run['total_run_time']:.0f} s, calls {len(provider.books)}",
                    flush=True,
                )
        for question in ASKED:
            print(f"\n{question}", flush=True)
            subprocess.run([SWT, "query", question, "--format", "markdown"], env=env, check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
