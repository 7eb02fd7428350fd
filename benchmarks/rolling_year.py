"""A year of rebuilds on real histories: month after month through `rebuild/monthly`, one worker, a fault every third.

    python -m benchmarks.rolling_year --git 'FOLDER/{repo}' --repos pallets/click --repos psf/black --work FOLDER

GitHub is the local one, fed from `--git`; each month it shows more of the histories. What goes wrong: the flow run is
killed as soon as it has judged something; GitHub answers one question in five with an error; the worker is killed
with its flow run and Prefect's server, as if the power were gone, and the server comes back; a repository is not
there. A month that is not Completed is asked for again by the same deployment, as its operator would. Store, cache
and database are below `--work`, and a month that is in `months.jsonl` there is not done again, so the command goes on
where it was ended, by Ctrl-C or SIGTERM: what it started ends with it. Of a month that was ended half-way only the
rest is measured. At the end, or with `--told`, it prints a row for each month and for each repository.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import time
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.measured import machine, text_table
from benchmarks.prefect_server import GONE, Prefect, descendants, documented_automation, prefect_server
from flows.interface.settings import PROJECT
from tasks.adapters.store.tables.latest import literal
from tasks.adapters.store.views.database import ensure_views, query
from tasks.domain.errors import InfrastructureError
from tests.fakes.local_github.command import GitHubRequest, hub_for
from tests.fakes.local_github.server import listening

FAULTS = ("flow run killed", "GitHub answers 502", "power gone", "repository gone")
EVERY = 3
TIMES = 4
"""So often one month is asked for."""
MONTH_S = 4 * 3600.0
ASKED_S = 10.0
"""Prefect's server took as much as the runs when its worker and this asked it each second or two."""
ENDING_S = 60.0
"""What the process of a Completed flow run may take to end."""
REPOSITORIES = """
    WITH judged AS (
        SELECT t.repo, v.valid, v.reason
        FROM task_instance AS t LEFT JOIN latest_validation AS v USING (instance_key, snapshot)
        WHERE t.snapshot = 'collected'
    ), why AS (
        SELECT repo, reason, count(*) AS instances FROM judged WHERE NOT valid GROUP BY ALL
    ), said AS (
        SELECT repo, string_agg(reason || ' ' || instances, ', ' ORDER BY instances DESC, reason) AS reasons
        FROM why GROUP BY repo
    )
    SELECT repo, count(*) AS "pass the filter", count(valid) AS judged, count(*) FILTER (valid) AS valid,
        coalesce(any_value(reasons), '') AS "not valid"
    FROM judged LEFT JOIN said USING (repo) GROUP BY repo ORDER BY repo
"""
LEFT_AFTER = {
    "default_branch": "default branch",
    "not_a_bot": "no bot",
    "linked_issue": "linked issue",
    "test_file": "test file",
    "source_file": "source file",
    "size": "size",
    "statement_length": "ten words",
    "patch_reproduces": "all rules",
}
"""The rules that the funnel of the months shows, with the heads of their columns."""
FUNNEL = """
    WITH rules AS (SELECT DISTINCT step, rule FROM funnel), named AS (
        SELECT map_from_entries(list((rule, step))) AS steps FROM rules
    ), failed AS (
        SELECT repo, number, min(step) AS step FROM rejection JOIN rules USING (rule) GROUP BY ALL
    ), pull AS (
        SELECT strftime(p.merged_at, '%Y-%m') AS month, f.step
        FROM pull_request AS p LEFT JOIN failed AS f USING (repo, number) WHERE p.merged_at >= {since}
    )
    SELECT month AS merged, count(*) AS pulls, {left}
    FROM pull, named GROUP BY ALL ORDER BY ALL
"""
TURNS = """
    SELECT m.snapshot AS month, count(*) FILTER (NOT look) AS judged, count(*) FILTER (NOT look AND v.valid) AS valid,
        count(*) FILTER (look) AS "looked at again"
    FROM month_turn AS m
        LEFT JOIN latest_validation AS v ON v.instance_key = m.instance_key AND v.snapshot = 'collected'
    GROUP BY month ORDER BY month
"""
SNAPSHOTS = """
    SELECT snapshot, s.instances, s.state, count(*) FILTER (change = 'added') AS added,
        count(*) FILTER (change = 'retired') AS retired, count(*) FILTER (change = 'repaired') AS repaired
    FROM snapshot_state AS s LEFT JOIN snapshot_change USING (snapshot)
    WHERE s.state <> 'pool' GROUP BY ALL ORDER BY snapshot
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Month:
    """What one month came to."""

    name: str
    fault: str = ""
    asked: int = 0
    """How often the deployment was run until it was Completed."""
    states: tuple[str, ...] = ()
    message: str = ""
    """What the last flow run said of itself."""
    requests: int = 0
    """To GitHub, all runs of the month together."""
    wall_s: float = 0.0
    cpu_s: float = 0.0
    """Of the worker, its flow runs and all that these started; without Prefect's server and the local GitHub."""
    store_mb: float = 0.0
    cache_gb: float = 0.0


@dataclass(slots=True, kw_only=True)
class Year:
    """The year under way."""

    work: Path
    prefect: Prefect
    github: str
    parameters: Mapping[str, Any]
    done: list[Month] = field(default_factory=list)

    def month(self, name: str, until: datetime, fault: str, gone: str) -> Month:
        """Let it be rebuilt until it is published. `InfrastructureError` where it is not, however often it is asked:
        the next month would only have more to do."""
        self._tell(until=until.isoformat(), faults="502=0.2,seed=7" if fault == FAULTS[1] else "")
        if fault == FAULTS[3]:
            self._tell(vanish={gone: 404})
        states: list[str] = []
        message, asked = "", self._requests()
        begun, before = time.monotonic(), _children_s()
        while len(states) < TIMES and states[-1:] != ["COMPLETED"]:
            with self.prefect.worker(f"{name}-{len(states)}", "--limit", "1") as worker:
                killed = fault if not states else ""
                run = self._run(name, worker.pid, killed)
                _wait_for_the_end(worker.pid)
            states.append(run["state_type"])
            message = run["state"].get("message") or ""
            self._tell(vanish={gone: 200}, faults="")
        if states[-1] != "COMPLETED":
            raise InfrastructureError(f"{name}: {message}", hint=f"the logs are in {self.work}; the same again goes on")
        return Month(
            name=name,
            fault=fault,
            asked=len(states),
            states=tuple(states),
            message=message,
            requests=self._requests() - asked,
            wall_s=time.monotonic() - begun,
            cpu_s=_children_s() - before,
            store_mb=_size(self.work / "store") / 1e6,
            cache_gb=_size(self.work / "cache") / 1e9,
        )

    def _run(self, name: str, worker: int, fault: str) -> Any:
        """The flow run at its end; where it or its machine is to go, as soon as it has judged something."""
        found = self.prefect.ask("/deployments/name/rebuild/monthly")
        body = {"parameters": {**self.parameters, "snapshot": name}, "idempotency_key": f"{name}-{worker}"}
        asked = self.prefect.ask(f"/deployments/{found['id']}/create_flow_run", body)
        known, deadline = self._verdicts(), time.monotonic() + MONTH_S
        while time.monotonic() < deadline:
            run = self.prefect.ask(f"/flow_runs/{asked['id']}")
            if run["state_type"] in ("COMPLETED", "FAILED", "CRASHED", "CANCELLED"):
                return run
            if fault in (FAULTS[0], FAULTS[2]) and self._verdicts() > known:
                for pid in [worker] * (fault == FAULTS[2]) + descendants(worker):
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                if fault == FAULTS[2]:  # the automation has to find the flow run, and the server whose the slot was
                    self.prefect.stop(kill=True)
                    self.prefect.start()
                fault = ""
            time.sleep(ASKED_S)
        raise InfrastructureError(f"{name} does not end", hint=f"see the logs in {self.work}")

    def _verdicts(self) -> int:
        return len(list((self.work / "store" / "validation").rglob("*.parquet")))

    def _requests(self) -> int:
        with urllib.request.urlopen(f"{self.github}/dev") as answer:  # noqa: S310 - our own server
            return sum(json.load(answer)["requests"].values())

    def _tell(self, **what: object) -> None:
        urllib.request.urlopen(f"{self.github}/dev", json.dumps(what).encode()).close()  # noqa: S310


def main(
    git: Annotated[str, typer.Option(help="Git repositories, with {repo}.")],
    repos: Annotated[list[str], typer.Option(help="OWNER/NAME; may be repeated.")],
    work: Annotated[Path, typer.Option(help="Folder of store, cache and logs.")],
    first: Annotated[str, typer.Option(help="The first month; it has all from --since on.")] = "2025-09",
    since: Annotated[str, typer.Option(help="Pull requests from this day on.")] = "2025-06-01",
    months: Annotated[int, typer.Option(help="How many.", min=1)] = 12,
    limit: Annotated[int, typer.Option(help="New instances for each repository and month.", min=1)] = 4,
    looks: Annotated[float, typer.Option(help="Share of the valid ones looked at again each month.")] = 0.25,
    told: Annotated[bool, typer.Option(help="Only print what is there.")] = False,
) -> None:
    """Rebuild month after month, then print the tables."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's `&` has it ignored
    work.mkdir(parents=True, exist_ok=True)
    file = work / "months.jsonl"
    have = [Month(**json.loads(line)) for line in file.read_text().splitlines()] if file.exists() else []
    environ = {
        **os.environ,
        "SWT_STORE": str(work / "store"),
        "SWT_CACHE": str(work / "cache"),
        "SWT_DATABASE": str(work / "swt.duckdb"),
        "SWT_GITHUB_TOKENS": "any-will-do",
        "SWT_GIT": git,
        "PREFECT_WORKER_QUERY_SECONDS": f"{ASKED_S:.0f}",
    }
    if not told:
        # A flow run that an earlier command ended holds the deployment's only slot for minutes yet.
        shutil.rmtree(work / "prefect", ignore_errors=True)
        request = GitHubRequest(repos=tuple(repos), git=tuple(Path(git.format(repo=repo)) for repo in repos))
        hub = hub_for(work / "mirrors", work, request, typer.echo)
        # Without a bound of hours all new instances are begun at once, so the slowest of each eight is not waited for.
        parameters = {"hours": None, "repositories": repos, "since": since, "limit": limit, "looks": looks}
        with listening(hub, 0) as github, prefect_server(work, {**environ, "SWT_GITHUB_URL": f"{github}/graphql"}) as p:
            (work / "gone.yaml").write_text(documented_automation(GONE))
            p.call("automation", "create", "--from-file", str(work / "gone.yaml"))
            year = Year(work=work, prefect=p, github=github, parameters=parameters)
            for number in range(len(have), months):
                name, until = _named(first, number)
                fault = FAULTS[number // EVERY % len(FAULTS)] if number % EVERY == EVERY - 1 else ""
                have.append(year.month(name, until, fault, repos[0]))
                with file.open("a") as out:
                    out.write(json.dumps(asdict(have[-1])) + "\n")
                typer.echo(f"{name}: {', '.join(have[-1].states)}: {have[-1].message}")
    _print(work, have, since)


def _named(first: str, number: int) -> tuple[str, datetime]:
    """The month's name, and the moment after it."""
    year, month = map(int, first.split("-"))
    index = year * 12 + month - 1 + number
    return f"{index // 12}-{index % 12 + 1:02}", datetime((index + 1) // 12, (index + 1) % 12 + 1, 1, tzinfo=UTC)


def _wait_for_the_end(worker: int) -> None:
    """A flow run is Completed before its process ends, and what a worker that ends has not waited for is counted by
    nobody."""
    deadline = time.monotonic() + ENDING_S
    while descendants(worker) and time.monotonic() < deadline:
        time.sleep(1)


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _size(folder: Path) -> int:
    """Bytes on the disk, each file once."""
    seen = {(stat.st_dev, stat.st_ino): stat.st_blocks * 512 for stat in _stats(folder)}
    return sum(seen.values())


def _stats(folder: Path) -> list[os.stat_result]:
    found = []
    for where, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                found.append(os.lstat(Path(where) / name))
    return found


def _print(work: Path, months: list[Month], since: str) -> None:
    store, database = str(work / "store"), work / "swt.duckdb"
    ensure_views(store, database, PROJECT / "sql")
    typer.echo(machine())
    rows = [
        [
            one.name,
            one.fault or "-",
            ", ".join(one.states).lower(),
            str(one.requests),
            f"{one.cpu_s / 60:.1f}",
            f"{one.wall_s / 60:.1f}",
            f"{one.store_mb:.0f}",
            f"{one.cache_gb:.1f}",
        ]
        for one in months
    ]
    typer.echo(
        text_table(["month", "fault", "flow runs", "requests", "CPU min", "wall min", "store MB", "cache GB"], rows)
    )
    for question in (TURNS, SNAPSHOTS, _funnel(since), REPOSITORIES):
        found = query(database, question)
        typer.echo(
            text_table(found.column_names, [[str(value) for value in row.values()] for row in found.to_pylist()])
        )


def _funnel(since: str) -> str:
    left = [
        f'count(*) FILTER (step IS NULL OR step > steps[{literal(rule)}]) AS "{head}"'
        for rule, head in LEFT_AFTER.items()
    ]
    return FUNNEL.format(since=literal(since), left=", ".join(left))


if __name__ == "__main__":
    typer.run(main)
