"""Which pages a report has, and what each of them shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tasks.report import naming
from tasks.report.code import Painted
from tasks.report.rows import ReportRows, Row, Rows

MOST_CASES = 12
"""Cases of a candidate that the page of its instance shows; its own page has all."""


def _nothing() -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True, slots=True)
class SitePage:
    """One page: its rows decide whether it is written again."""

    path: str
    template: str
    shown: Mapping[str, Any]
    """What its template is given, all of it plain rows."""
    more: Callable[[], Mapping[str, Any]] = field(default=_nothing)
    """What follows from the rows and is only made where the page is written."""


@dataclass(frozen=True, slots=True)
class Library:
    """The rows of a snapshot, by what pages are about."""

    rows: ReportRows
    golden: bool
    """Whether held-out golden sides are shown."""
    candidates: Mapping[str, Rows]
    """Of each instance."""
    cases: Mapping[str, Rows]
    """Of each candidate."""
    lines: Mapping[str, Rows]
    """Of each instance."""
    fixes: Mapping[str, Rows]
    """Of each instance."""

    @staticmethod
    def of(rows: ReportRows, *, golden: bool) -> Library:
        return Library(
            rows=rows,
            golden=golden,
            candidates=rows.by("page_candidate", "instance_id"),
            cases=rows.by("page_case", "candidate_id"),
            lines=rows.by("page_line", "instance_id"),
            fixes=rows.by("page_fix", "instance_id"),
        )

    @property
    def snapshot(self) -> Row:
        """The row of this one."""
        return next(row for row in self.rows["page_snapshot"] if row["snapshot"] == self.rows.snapshot)

    @property
    def base(self) -> dict[str, Any]:
        """What every page says of itself."""
        return {"snapshot": self.rows.snapshot, "golden": self.golden}


def overview_pages(library: Library, drawn: Mapping[str, Any]) -> Iterator[SitePage]:
    """Those of which there is one. `drawn`: what the page of figures shows of each."""
    rows = library.rows
    graders = sorted({row["grader"] for row in rows["page_grader"]} - {"paper"})
    scores = {(row["method"], row["model"], row["grader"]): row for row in rows["page_grader"]}
    methods = [
        {**row, "others": [scores.get((row["method"], row["model"], grader)) for grader in graders]}
        for row in rows["page_method"]
    ]
    base = {**library.base, "about": library.snapshot}
    yield SitePage(
        naming.LEADERBOARD,
        "leaderboard.html.j2",
        {**base, "methods": methods, "graders": graders, "score": drawn["score"]},
    )
    yield SitePage(naming.FIGURES, "figures.html.j2", {**base, "figures": list(drawn.values())})
    instances = [{key: value for key, value in row.items() if key not in HEAVY} for row in rows["page_instance"]]
    yield SitePage(naming.INSTANCES, "instances.html.j2", {**base, "instances": instances})
    yield SitePage(naming.MATRIX, "matrix.html.j2", {**base, **_matrix(library)})
    yield SitePage(naming.GUIDE, "guide.html.j2", base)
    changes = {"changes": rows["snapshot_change"], "snapshots": rows["page_snapshot"], "funnel": rows["funnel"]}
    health = [row for row in instances if row["health"] not in ("valid", "unknown") or row["flags"]]
    shown = {**base, **changes, "facts": rows["table1"], "doubtful": health, "picture": drawn["funnel"]}
    yield SitePage(naming.SNAPSHOT, "snapshot.html.j2", shown)


HEAVY = ("patch", "test_patch", "problem_statement", "doubts")
"""Columns of an instance that only its own page shows."""


def _matrix(library: Library) -> dict[str, Any]:
    """What became of each method and instance, from its first sample."""
    methods = [row["name"] for row in library.rows["page_method"]]
    instances = [row["instance_id"] for row in library.rows["page_instance"]]
    outcomes = {
        (one["name"], one["instance_id"]): one["outcome"]
        for rows in library.candidates.values()
        for one in rows
        if one["sample"] == 0
    }
    return {
        "names": methods,
        "table": [(name, [outcomes.get((method, name), "none") for method in methods]) for name in instances],
    }


def instance_pages(library: Library) -> Iterator[SitePage]:
    """One for each instance, in the order of the list, with its neighbours."""
    rows = library.rows["page_instance"]
    names = [row["instance_id"] for row in rows]
    for place, row in enumerate(rows):
        name = row["instance_id"]
        candidates = [_listed(library, one) for one in library.candidates.get(name, ())]
        shown = {
            **library.base,
            "instance": row,
            "before": names[place - 1] if place else None,
            "after": names[place + 1] if place + 1 < len(names) else None,
            "candidates": candidates,
            "fixes": library.fixes.get(name, ()),
        }
        lines = library.lines.get(name, ())
        traced = len({one["candidate_id"] for one in lines})
        yield SitePage(
            naming.instance_page(name),
            "instance.html.j2",
            {**shown, "lines": lines, "traced": traced},
            more=lambda lines=lines: {"painted": painted(lines)},  # type: ignore[misc]
        )


LISTED = (
    *("candidate_id", "instance_id", "name", "control", "sample", "provenance", "verdicts", "malformed", "delta_c"),
    *("outcome", "fixes", "rejected", "reasons", "withheld", "calls", "seconds"),
)
"""Columns of a candidate that the page of its instance, and that of its method, show."""


def _listed(library: Library, candidate: Row) -> dict[str, Any]:
    cases = [row for row in library.cases.get(candidate["candidate_id"], ()) if row["in_t"]]
    cells = ("case_id", "none_before", "none_after", "candidate_before", "candidate_after")
    return {
        **{key: candidate[key] for key in LISTED},
        "cases": [{key: row[key] for key in cells} for row in cases[:MOST_CASES]],
        "more_cases": max(0, len(cases) - MOST_CASES),
    }


def method_pages(library: Library) -> Iterator[SitePage]:
    """One for each entry of the leaderboard."""
    own: dict[str, list[Row]] = {}
    for rows in library.candidates.values():
        for one in rows:
            own.setdefault(one["name"], []).append(one)
    names = [row["instance_id"] for row in library.rows["page_instance"]]
    for row in library.rows["page_method"]:
        found = own.get(row["name"], [])
        candidates = [{key: one[key] for key in LISTED} for one in found]
        held = {one["instance_id"] for one in found}
        shown = {
            **library.base,
            "method": row,
            "graders": [one for one in library.rows["page_grader"] if _same(one, row)],
            "candidates": candidates,
            "absent": [name for name in names if name not in held],
            "years": [one for one in library.rows["page_year"] if _same(one, row)],
        }
        yield SitePage(naming.method_page(row["name"]), "method.html.j2", shown)


def _same(one: Row, other: Row) -> bool:
    return (one["method"], one["model"]) == (other["method"], other["model"])


def candidate_pages(library: Library, talk: Callable[[str], Any]) -> Iterator[SitePage]:
    """One for each candidate. `talk` reads a conversation, by the name of its file."""
    for instance in library.rows["page_instance"]:
        lines = library.lines.get(instance["instance_id"], ())
        for row in library.candidates.get(instance["instance_id"], ()):
            own = [one for one in lines if one["candidate_id"] == row["candidate_id"]]
            shown = {
                **library.base,
                "candidate": row,
                "cases": library.cases.get(row["candidate_id"], ()),
                "lines": own,
                "golden_patch": instance["patch"] if own else None,
            }
            yield SitePage(
                naming.candidate_page(row["instance_id"], row["candidate_id"]),
                "candidate.html.j2",
                shown,
                more=lambda row=row, own=own: {  # type: ignore[misc]
                    "painted": painted(own),
                    "talk": talk(row["trajectory"]) if row["trajectory"] else None,
                },
            )


def painted(lines: Rows | list[Row]) -> Painted:
    """What candidates do to the lines of the golden patch, together."""
    executable: dict[tuple[str, str], set[int]] = {}
    hits: dict[tuple[str, str, int], int] = {}
    for row in lines:
        executable.setdefault((row["path"], row["side"]), set()).update(row["executable"])
        for line in row["hit"]:
            place = (row["path"], row["side"], line)
            hits[place] = hits.get(place, 0) + 1
    return Painted(executable, hits)
