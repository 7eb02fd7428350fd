"""Report: the pages of a snapshot, written into a folder."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from tasks.adapters.store.tables.store import Store
from tasks.domain.errors import NotFound
from tasks.domain.instance import Snapshot
from tasks.domain.places import Places
from tasks.domain.published import Withdrawal
from tasks.domain.undone import OfSnapshot
from tasks.report import naming
from tasks.report.drawing import Drawing, draw, inline
from tasks.report.figures import Figure, figures
from tasks.report.pages import (
    Library,
    SitePage,
    candidate_pages,
    extra_pages,
    instance_pages,
    method_pages,
    overview_pages,
    repair_pages,
)
from tasks.report.rendering import render
from tasks.report.rows import ReportRows, report_rows
from tasks.report.site import Site, open_site
from tasks.report.talk import Talk, conversation

ASSETS = Path(__file__).parent / "assets"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOf(OfSnapshot):
    """A report to be written."""

    folder: str
    with_golden: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportBuilt:
    """What there is now."""

    index: Path
    pages: int
    written: int
    """Files that were not as they had to be."""
    seconds_asking: float
    seconds_writing: float

    def __str__(self) -> str:
        return (
            f"{self.index}: {self.pages} pages, {self.written} files written; "
            f"{self.seconds_asking:.1f} s asking, {self.seconds_writing:.1f} s writing"
        )


def chosen_snapshot(places: Places, asked: str) -> str:
    """`asked`, or the newest snapshot that was not withdrawn. `NotFound` where there is no such snapshot."""
    store = Store(places.store)
    if asked and store.read(Snapshot, snapshot=asked):
        return asked
    if asked:
        raise NotFound(f"there is no snapshot {asked!r}", hint="`swt snapshot list` names them")
    gone = {row.snapshot for row in store.read(Withdrawal) if not row.instance_id}
    kept = [row for row in store.read(Snapshot) if row.snapshot not in gone]
    if not kept:
        raise NotFound("there is no snapshot", hint="`swt import` or `swt rebuild` makes one")
    return max(kept, key=lambda row: (row.created_at, row.snapshot)).snapshot


def write_report(places: Places, sql: Path, unit: ReportOf) -> ReportBuilt:
    """Write what is not written yet of the report of a snapshot, which has to be there."""
    started = time.perf_counter()
    rows = report_rows(places.store, sql, unit.snapshot, with_golden=unit.with_golden)
    asked = time.perf_counter()
    store = Store(places.store)
    made = write_site(rows, Path(unit.folder), golden=unit.with_golden, talk=lambda name: conversation(store, name))
    return ReportBuilt(
        index=Path(unit.folder) / naming.LEADERBOARD,
        pages=made.pages,
        written=made.written,
        seconds_asking=asked - started,
        seconds_writing=time.perf_counter() - asked,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteMade:
    """One build of a site."""

    pages: int
    written: int


def write_site(rows: ReportRows, folder: Path, *, golden: bool, talk: Callable[[str], Talk]) -> SiteMade:
    """The pages of these rows. `talk` reads a conversation, by the name of its file."""
    library = Library.of(rows, golden=golden)
    pages = 0
    with open_site(folder) as site:
        _assets(site)
        drawn = {figure.name: _drawn(site, figure) for figure in figures(rows)}
        for page in _pages(library, drawn, talk):
            _write(site, page)
            pages += 1
    return SiteMade(pages=pages, written=site.written)


def _pages(library: Library, drawn: dict[str, Any], talk: Callable[[str], Talk]) -> Iterator[SitePage]:
    return chain(
        overview_pages(library, drawn),
        extra_pages(library, drawn),
        instance_pages(library),
        method_pages(library),
        candidate_pages(library, talk),
        repair_pages(library, talk),
    )


def _write(site: Site, page: SitePage) -> None:
    site.put(page.path, page.shown, lambda: render(page.path, page.template, {**page.shown, **page.more()}))


def _assets(site: Site) -> None:
    for path in sorted(ASSETS.iterdir()):
        site.put(f"asset/{path.name}", path.name, path.read_bytes)


def _drawn(site: Site, figure: Figure) -> dict[str, Any]:
    """The figure's files, unless they are as they have to be, and what a page says of it."""
    said = {"name": figure.name, "title": figure.title, "caption": figure.caption, "question": figure.question}
    if not figure.rows:
        return {**said, "svg": None, "nothing": figure.nothing}
    path = f"figure/{figure.name}"
    shown = [asdict(figure) | {"chart": figure.name}]

    @cache
    def made() -> tuple[str, Drawing]:
        return (spec := figure.spec()), draw(spec)

    site.put(f"{path}.vl.json", shown, lambda: made()[0])
    site.put(f"{path}.svg", shown, lambda: made()[1].svg)
    site.put(f"{path}.pdf", shown, lambda: made()[1].pdf)
    svg = (site.folder / f"{path}.svg").read_text("utf-8")
    return {**said, "svg": inline(svg, f"{figure.title}. {figure.caption}"), "nothing": ""}
