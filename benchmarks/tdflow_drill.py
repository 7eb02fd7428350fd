"""TDFlow end to end on real instances, with a scripted model that knows the fix on its second iteration only.

    python -m benchmarks.tdflow_drill --work FOLDER --rows ROWS.jsonl --instances ID … [--kills 20] [--seed 1]

First it hands in a patch that does not apply and would not help, so that Revise Patch and Debug One have their parts on
real tests, with every command of the debugger; once there is a report, the golden patch. With `--kills` the same is
done again in another store by processes that are killed at random moments, so many in all; what must come of it is the
same end, the same questions, and each of them paid once. A question that was under way at a kill is asked again: nobody
can know whether it was answered.

Needs mirrors of the repositories in `SWT_CACHE`. Prints a line of a Markdown table for each, then how often each
command of the debugger was answered as it should be.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from benchmarks.repairing_model import DEBUGGING, KnowsItLater
from benchmarks.typed_commands import Answered, answered, command_table
from tasks.adapters.store.rows.store import Store
from tasks.domain.environment import Environment
from tasks.domain.llm import CallStatus, LlmCall
from tasks.domain.repair import RepairAttempt, RepairPatch, RepairStep
from tasks.rehearsal.scripted_provider.server import ScriptedProvider

SNAPSHOT = "drill"
GROW_S = 0.4
"""A life may last so much longer than the one before: each has to get a little further, and many are wanted."""
SWT = str(Path(sys.executable).with_name("swt"))
COLUMNS = (
    "instance", "CPython", "end", "iterations", "steps", "debugged", "calls", "asked twice", "unknown", "kills",
    "judged", "seconds",
)  # fmt: skip
JUDGED = "SELECT status, resolved FROM repair_instance WHERE instance_id = '{}'"


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--rows", type=Path, required=True, help="rows of SWE-bench")
    parser.add_argument("--instances", nargs="+", required=True)
    parser.add_argument("--kills", type=int, default=0, help="of each instance")
    parser.add_argument("--seed", type=int, default=1)
    told = parser.parse_args(argv)
    rows = {row["instance_id"]: row for row in map(json.loads, told.rows.read_text().splitlines())}
    print(f"| {' | '.join(COLUMNS)} |\n|{' --- |' * len(COLUMNS)}", flush=True)
    draw = random.Random(told.seed)  # noqa: S311 - moments, no secrets
    found: dict[str, list[Answered]] = {}
    for name in told.instances:
        line, found[name] = _line(told.work / name / "straight", rows[name], 0, draw)
        print(line, flush=True)
        if told.kills:
            line, found[f"{name}, killed"] = _line(told.work / name / "killed", rows[name], told.kills, draw)
            print(line, flush=True)
    print(command_table(found))


def _line(work: Path, row: dict[str, str], kills: int, draw: random.Random) -> tuple[str, list[Answered]]:
    """One instance, from an empty store; and what the debugger answered."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    (work / "rows.jsonl").write_text(json.dumps(row) + "\n")
    model = KnowsItLater(row["patch"])
    name, provider, begun = row["instance_id"], ScriptedProvider(model), time.monotonic()
    with provider.serve() as url:
        env = environ_of(work, url)
        _swt(["import", str(work / "rows.jsonl"), "--snapshot", SNAPSHOT], env, work).wait()
        made = _repair(name, kills, draw, env, work)
    store = Store(str(work / "store"))
    attempts, calls = store.read(RepairAttempt), store.read(LlmCall)
    patches, steps = store.read(RepairPatch), store.read(RepairStep)
    judged = subprocess.run(
        [SWT, "query", JUDGED.format(name), "--format", "csv"],
        env=env, capture_output=True, text=True, check=False,
    ).stdout.split("\n")[1:2]  # fmt: skip
    bodies = Counter(hashlib.sha256(json.dumps(one.spoken.body).encode()).hexdigest() for one in provider.books)
    unknown = sum(call.status in (CallStatus.UNKNOWN, CallStatus.CUT) for call in calls)
    facts = (
        name,
        "".join({built.python_full for built in store.read(Environment)}),
        attempts[0].end.value if attempts else "none",
        max((patch.iteration for patch in patches), default=0),
        len(steps),
        sum(patch.debugged for patch in patches),
        len(bodies),
        sum(bodies.values()) - len(bodies),
        unknown,
        made,
        "".join(judged).replace(",", " "),
        f"{time.monotonic() - begun:.0f}",
    )
    debugged = answered((one.spoken for one in provider.books), DEBUGGING, model.place)
    return "| " + " | ".join(map(str, facts)) + " |", debugged


def environ_of(work: Path, url: str) -> dict[str, str]:
    """Of commands with a store in `work` and the scripted provider at `url`."""
    return os.environ | {
        "SWT_STORE": str(work / "store"),
        "SWT_DATABASE": str(work / "swt.duckdb"),
        "SWT_SCRIPTED_BASE_URL": url,
    }


def _repair(name: str, kills: int, draw: random.Random, env: dict[str, str], work: Path) -> int:
    """Kill it so often, at moments that are drawn, and let it come to its end. How often it was killed."""
    made, wait = 0, 2.0
    while True:
        process = _swt(["repair", "--snapshot", SNAPSHOT, "--model", "scripted", "--instances", name], env, work)
        try:
            process.wait(draw.uniform(0.5, wait) if made < kills else None)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            made, wait = made + 1, min(wait + GROW_S, 30.0)
        else:
            return made


def _swt(words: Iterable[str], env: dict[str, str], work: Path) -> subprocess.Popen[bytes]:
    with (work / "log").open("ab") as log:
        argv = [SWT, *words]
        return subprocess.Popen(argv, env=env, stdout=log, stderr=log, start_new_session=True)


if __name__ == "__main__":
    main(sys.argv[1:])
