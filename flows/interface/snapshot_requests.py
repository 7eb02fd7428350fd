"""Requests of the flows about a whole snapshot: rebuild, publish, report, rate, withdraw (see requests.py)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from flows.interface.option_types import ARGUMENT, FILE, INSTANCE, OUTPUT, REPOSITORY, SNAPSHOT, TEXT, Option, Request
from tasks.domain.errors import UsageError
from tasks.domain.window import since_when


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildRequest(Request):
    """Collect merged pull requests, validate the new instances, and publish a snapshot."""

    snapshot: Annotated[str, Option(help="Name to publish under; empty: the month, like 2026-11.", text=SNAPSHOT)] = ""
    repositories: Annotated[
        tuple[str, ...], Option(help="OWNER/NAME; default: the list.", flag="--repos", text=REPOSITORY)
    ] = ()
    repositories_file: Annotated[
        Path | None, Option(help="The list of repositories; default: data/repositories.toml.", text=FILE)
    ] = None
    since: Annotated[
        str, Option(help="Go back to this day (UTC), or so far: 2 months; empty: to the first.", text=TEXT)
    ] = ""
    limit: Annotated[int | None, Option(help="New instances to validate for each repository.", least=1)] = None
    looks: Annotated[float, Option(help="Share of the old instances that is looked at again.", least=0)] = 1.0
    hours: Annotated[float | None, Option(help="Begin with no further new instance after so long.", least=0)] = None
    free_gb: Annotated[float, Option(help="Begin only where so much disk is free.", least=0)] = 5.0
    collected: Annotated[float, Option(help="Publish where this share of the repositories was collected.", least=0)] = (
        1.0
    )
    judged: Annotated[float, Option(help="Publish where this share of the instances was judged.", least=0)] = 1.0
    unchanged: Annotated[bool, Option(help="Publish a month that is empty, or as the one before, as well.")] = False

    def __post_init__(self) -> None:
        if not all(0 <= share <= 1 for share in (self.collected, self.judged, self.looks)):
            raise UsageError("a share is a number from 0 to 1", hint="--collected 0.9 --judged 0.95 --looks 0.25")
        since_when(self.since, datetime.now(UTC))

    @property
    def name(self) -> str:
        return self.snapshot or f"{datetime.now(UTC):%Y-%m}"

    @property
    def title(self) -> str:
        return f"rebuild {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishRequest(Request):
    """Validate a snapshot's instances and publish the valid ones under another name. The published snapshot never
    changes."""

    pool: Annotated[str, Option(help="Name of the snapshot to take instances from.", flag=ARGUMENT, text=SNAPSHOT)]
    snapshot: Annotated[str, Option(help="Name of the snapshot to publish.", flag="--as", text=SNAPSHOT)]

    @property
    def title(self) -> str:
        return f"publish {self.snapshot}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRequest(Request):
    """Write the report of a snapshot: a static site with leaderboard, figures, and a page for each instance, method and
    candidate. Pages that have not changed are not rewritten."""

    snapshot: Annotated[str, Option(help="Name of the snapshot; empty: the newest that is in use.", text=SNAPSHOT)] = ""
    out: Annotated[
        Path | None, Option(help="Folder of the site; default: report/SNAPSHOT beside the database.", text=OUTPUT)
    ] = None
    with_golden: Annotated[
        bool, Option(help="Show what a submitter must not see: held-out golden sides, messages on fixed code.")
    ] = False

    @property
    def title(self) -> str:
        return f"report {self.snapshot or 'latest'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RateRequest(Request):
    """Rate all methods on one scale, across snapshots, and estimate how hard each snapshot is. Methods that ran on
    several snapshots link them. `swt query ability` shows the ratings beside the scores."""

    snapshot: Annotated[tuple[str, ...], Option(help="Only these snapshots. Default: all in use.", text=SNAPSHOT)] = ()
    grader: Annotated[str, Option(help="By whose verdicts.", text=TEXT)] = "paper"
    guarded: Annotated[bool, Option(help="Count robust successes only.")] = False
    times: Annotated[int, Option(help="How often instances are drawn again for the intervals.", least=1)] = 400
    seed: Annotated[int, Option(help="Of these draws.", least=0)] = 0

    @property
    def title(self) -> str:
        return f"rate by {self.grader}" + (" guarded" if self.guarded else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class WithdrawRequest(Request):
    """Withdraw a published snapshot or one of its instances, with the reason. Nothing is deleted. The next snapshot
    does not follow a withdrawn one, and later ones leave out a withdrawn instance."""

    snapshot: Annotated[str, Option(help="Name of a published snapshot.", flag=ARGUMENT, text=SNAPSHOT)]
    reason: Annotated[str, Option(help="Why, for those who used it.", text=TEXT)]
    instance: Annotated[
        str, Option(help="Only this instance, such as one that its authors want taken down.", text=INSTANCE)
    ] = ""

    @property
    def title(self) -> str:
        return f"withdraw {self.instance or self.snapshot}"
