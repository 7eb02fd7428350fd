"""A whole rebuild, killed (`kill -9`) at random moments: are its rows and snapshots those of one that nobody killed?

    python -m benchmarks.rebuild_kills --work FOLDER --kills 50

Two months of the demo's history, from the local GitHub to a published snapshot. First twice without a kill, which shows
what two rebuilds differ in anyway. Then series after series, each with an empty store and cache: a process rebuilds a
month and is killed at a moment drawn from as long as the month takes, the next one goes on, and after four to six
kills one comes to its end. Then every table that says what is, and not how it was done, is compared row by row, without
what says when something was done and how long it took; and each snapshot by its content, and with its manifest.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import random
import re
import shutil
import sys
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.measured import machine, text_table
from flows.demo import DEMO, build_demo_mirror
from flows.interface.settings import Settings
from flows.interface.snapshot_parameters import RebuildRequest
from flows.rebuild import rebuild_here
from flows.snapshots import verify
from tasks.adapters.store.views.database import ensure_views, query
from tasks.domain.table import table_name
from tasks.domain.tables import TABLES
from tasks.rehearsal.local_github.hub import Hub
from tasks.rehearsal.local_github.serve import listening
from tasks.rehearsal.local_github.world import LocalRepository, World, open_repository
from tasks.scrape.task import TOKEN_VARIABLES

LARDER = "rolling-swt-bench/larder"
MONTHS = (("2025-08", datetime(2025, 8, 15, tzinfo=UTC), 1), ("2025-11", datetime(2025, 12, 1, tzinfo=UTC), 3))
"""Name, up to when GitHub knows, new instances."""
HOW = {"flow_round", "undone", "raw_page", "sync_state", "scrape_failure"}
"""Tables of how something was done."""
WHEN = {
    *("started_at", "finished_at", "validated_at", "built_at", "tried_at", "checked_at", "fetched_at", "audited_at"),
    "chosen_at",
    *("wall_s", "cpu_s", "setup_s", "duration_s", "build_seconds", "seconds", "audit_id", "log", "manifest"),
}
"""Columns of when and how long. A log and a manifest have such lines in them."""
MADE = {"candidate", "snapshot", "snapshot_change"}
"""Tables whose `created_at` is ours; elsewhere it is GitHub's."""
ADDRESS = re.compile(r"0x[0-9a-f]{8,}")
"""Of an object, in the message of a test that failed."""


@dataclass(slots=True)
class Series:
    """A store and a cache of their own, and how often somebody was killed on the way to their two months."""

    folder: Path
    kills: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    """Of the life that came to its end, for each month."""
    problems: list[str] = field(default_factory=list)

    def settings(self, url: str = "") -> Settings:
        return Settings(
            store=str(self.folder / "store"),
            cache=self.folder / "cache",
            database=self.folder / "swt.duckdb",
            scratch=self.folder / "scratch",
            trusted=True,
            github=url,
        )

    def digests(self) -> dict[str, str]:
        """Of each table by its rows in whichever order, and of each snapshot by its content."""
        settings = self.settings()
        ensure_views(settings.store, settings.database, settings.sql)
        names = [name for name in map(table_name, TABLES) if name not in HOW]
        found = {name: _digest(query(settings.database, f'FROM "{name}"').to_pylist(), name) for name in names}
        for row in query(settings.database, "SELECT snapshot, content FROM snapshot").to_pylist():
            found[f"content of {row['snapshot']}"] = row["content"]
        return found


def _digest(rows: list[dict[str, object]], table: str) -> str:
    left = WHEN | ({"created_at"} if table in MADE else set())
    kept = ({name: value for name, value in row.items() if name not in left} for row in rows)
    lines = sorted({ADDRESS.sub("0x", json.dumps(row, sort_keys=True, default=str)) for row in kept})
    return f"{len(lines)} {hashlib.sha256(repr(lines).encode()).hexdigest()[:12]}"


def live(series: Series, name: str, limit: int, url: str) -> None:
    """One life of a month."""
    with (series.folder / "log").open("a") as log:
        sys.stdout = sys.stderr = log
        request = RebuildRequest(
            snapshot=name, repositories_file=DEMO / "repositories.toml", limit=limit, free_gb=0, unchanged=True
        )
        done = rebuild_here(request, replace(series.settings(url), git=""))
        print(done.text, *done.problems, sep="\n", flush=True)
        sys.exit(0 if done.published else 9)


def play(series: Series, served: LocalRepository, draw: random.Random | None, longest: dict[str, float]) -> None:
    """Both months; without kills where nothing is drawn."""
    shutil.rmtree(series.folder, ignore_errors=True)
    series.folder.mkdir(parents=True)
    build_demo_mirror(series.settings())
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["benchmarks.rebuild_kills"])
    world = World({LARDER: served})
    with listening(Hub(world)) as address:
        for name, until, limit in MONTHS:
            world.until = until
            kills = draw.randrange(4, 7) if draw else 0
            for turn in range(kills + 1):
                begun = time.monotonic()
                life = context.Process(target=live, args=(series, name, limit, f"{address}/graphql"))
                life.start()
                life.join(draw.uniform(0.0, longest[name]) if draw and turn < kills else None)
                if life.exitcode is not None:
                    break
                life.kill()
                life.join()
                series.kills += 1
            series.seconds[name] = time.monotonic() - begun
            if life.exitcode:
                series.problems.append(f"{name} ended with {life.exitcode}")
            series.problems += verify(series.settings(), name)


def main(
    work: Annotated[Path, typer.Option(help="Folder for the stores.")],
    kills: Annotated[int, typer.Option(help="Kills in all, at least.")] = 50,
    seed: Annotated[int, typer.Option(help="Of the moments.")] = 1,
) -> None:
    """Print a line for each series; exit code 1 where anything differs."""
    os.environ.setdefault(TOKEN_VARIABLES[0], "any-token-will-do-for-the-demo")
    draw = random.Random(seed)  # noqa: S311 - moments, no secrets
    first = Series(work / "unkilled")
    mirror = build_demo_mirror(Settings(cache=work / "served"))
    served = open_repository(LARDER, mirror, issues=DEMO / "issues.jsonl", scratch=work / "github", license="MIT")
    play(first, served, None, {})
    expected, lengths = first.digests(), first.seconds
    rows, made, wrong = [], 0, bool(first.problems)
    number = 0
    while made < kills or not number:
        series = Series(work / f"series-{number}")
        play(series, served, draw if number else None, lengths)
        found = series.digests()
        differ = [name for name in expected if found.get(name) != expected[name]]
        made, number, wrong = made + series.kills, number + 1, wrong or bool(differ or series.problems)
        said = "; ".join([*differ, *series.problems]) or "–"
        rows.append([str(number), str(series.kills), *(f"{one:.0f}" for one in series.seconds.values()), said])
        typer.echo(" | ".join(rows[-1]))
    typer.echo(f"{machine()}; unkilled: {', '.join(f'{name} {s:.0f} s' for name, s in lengths.items())}")
    typer.echo(text_table(["series", "kills", *(f"last life of {name}, s" for name, _, _ in MONTHS), "differs"], rows))
    typer.echo("\n".join(f"{name}: {value}" for name, value in expected.items() if not value.startswith("0 ")))
    typer.echo(f"{made} kills in {number} series")
    raise typer.Exit(int(wrong))


if __name__ == "__main__":
    typer.run(main)
