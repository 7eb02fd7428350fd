"""Which pages a report has, and what each of them shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tasks.report import naming
from tasks.report.charts import name_of
from tasks.report.code import Painted
from tasks.report.rows import OF_FIXES, ReportRows, Row, Rows

MOST_COMPARED = 12
"""Methods that are compared in pairs, those that solve most: so many as the overlap shows."""
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
    repairs: Mapping[str, Rows]
    """Attempts at each instance."""

    @staticmethod
    def of(rows: ReportRows, *, golden: bool) -> Library:
        return Library(
            rows=rows,
            golden=golden,
            candidates=rows.by("page_candidate", "instance_id"),
            cases=rows.by("page_case", "candidate_id"),
            lines=rows.by("page_line", "instance_id"),
            fixes=rows.by("page_fix", "instance_id"),
            repairs=rows.by("page_repair", "instance_id"),
        )

    @property
    def snapshot(self) -> Row:
        """The row of this one."""
        return next(row for row in self.rows["page_snapshot"] if row["snapshot"] == self.rows.snapshot)

    @property
    def base(self) -> dict[str, Any]:
        """What every page says of itself."""
        return {"snapshot": self.rows.snapshot, "golden": self.golden, "extra": self.extra}

    @property
    def extra(self) -> tuple[tuple[str, str], ...]:
        """Pages that are not there for every snapshot, and what links call them."""
        rows = self.rows
        comparing = rows["pairwise"] or self.disagreements
        fixes = rows["repair_rate"] or rows["repair_filter"]
        return (
            *([(naming.COMPARISONS, "Comparisons")] if comparing else ()),
            *([(naming.FIXES, "Fixes")] if fixes else ()),
        )

    @property
    def filters(self) -> Rows:
        """What tests keep; all repair methods together only where there are several."""
        rows = self.rows["repair_filter"]
        several = len({(row["repair"], row["repair_model"]) for row in rows if row["repair"] is not None}) > 1
        return tuple(row for row in rows if several or row["repair"] is not None)

    @property
    def disagreements(self) -> Rows:
        """Where graders differ, under the policy of the report."""
        return tuple(row for row in self.rows["disagreement_reasons"] if row["policy"] == "tests-only")


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
        {**base, "methods": methods, "graders": graders, "score": drawn["score"], "scale": drawn["ability"]},
    )
    shown_figures = [one for one in drawn.values() if one["svg"] or one["nothing"]]
    yield SitePage(naming.FIGURES, "figures.html.j2", {**base, "figures": shown_figures})
    instances = [{key: value for key, value in row.items() if key not in HEAVY} for row in rows["page_instance"]]
    yield SitePage(naming.INSTANCES, "instances.html.j2", {**base, "instances": instances})
    yield SitePage(naming.MATRIX, "matrix.html.j2", {**base, **_matrix(library)})
    yield SitePage(naming.GUIDE, "guide.html.j2", base)
    changes = {"changes": rows["snapshot_change"], "snapshots": rows["page_snapshot"], "funnel": rows["funnel"]}
    health = [row for row in instances if row["health"] not in ("valid", "unknown") or row["flags"]]
    shown = {**base, **changes, "facts": rows["table1"], "doubtful": health, "picture": drawn["funnel"]}
    yield SitePage(naming.SNAPSHOT, "snapshot.html.j2", shown)


def extra_pages(library: Library, drawn: Mapping[str, Any]) -> Iterator[SitePage]:
    """Those that are there only where something was asked that they answer."""
    rows, there = library.rows, {path for path, _ in library.extra}
    names = [row["name"] for row in rows["page_method"]]
    if naming.COMPARISONS in there:
        best = set([row["name"] for row in rows["page_method"] if not row["control"]][:MOST_COMPARED])
        shown = {
            "pairs": [row for row in rows["pairwise"] if {row["method_a"], row["method_b"]} <= best],
            "compared": len(best),
            "ensemble": rows["ensemble"],
            "disagreements": library.disagreements,
            "repositories": _by_repository(rows["success_by_repository"], best),
        }
        yield SitePage(naming.COMPARISONS, "comparisons.html.j2", {**library.base, **shown, "names": names})
    if naming.FIXES in there:
        asked: dict[str, Any] = {question: rows[question] for question in OF_FIXES} | {"repair_filter": library.filters}
        asked["test_transitions"] = tuple(row for row in rows["test_transitions"] if row["repo"] is None)
        asked["repairs"] = [_attempt(one) for one in rows["page_repair"]]
        pictures = {"repair": drawn["repair"], "filter": drawn["filter"]}
        yield SitePage(naming.FIXES, "fixes.html.j2", {**library.base, **asked, **pictures, "names": names})


def _by_repository(rows: Rows, best: set[str]) -> list[dict[str, Any]]:
    """Repositories, those with most instances first, and the rate of each of the best methods."""
    methods = [name for name in dict.fromkeys(name_of(row) for row in rows) if name in best]
    cells = {(row["part"], name_of(row)): row for row in rows}
    most = Counter[str]()
    for row in rows:
        most[row["part"]] = max(most[row["part"]], row["n"] + row["unmeasured"])
    return [
        {"repo": repo, "n": n, "methods": methods, "rates": [cells.get((repo, name)) for name in methods]}
        for repo, n in sorted(most.items(), key=lambda pair: (-pair[1], pair[0]))
    ]


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
            "repairs": [_attempt(one) for one in library.repairs.get(name, ())],
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
            "snapshots": [one for one in library.rows["page_trend"] if _same(one, row)],
            "filters": [one for one in library.filters if _same(one, row)],
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


ATTEMPT = (
    *("attempt_id", "instance_id", "name", "tests", "end", "iterations", "iteration", "calls", "cost_usd"),
    *("status", "resolved", "flagged", "suspicions"),
)
"""Columns of an attempt at a repair that lists of them show."""


def _attempt(row: Row) -> dict[str, Any]:
    return {key: row[key] for key in ATTEMPT}


def repair_pages(library: Library, talk: Callable[[str], Any]) -> Iterator[SitePage]:
    """One for each attempt at a repair, with all its steps and patches."""
    steps = library.rows.by("page_repair_step", "attempt_id")
    for row in library.rows["page_repair"]:
        shown = {**library.base, "attempt": row, "steps": steps.get(row["attempt_id"], ())}
        yield SitePage(
            naming.repair_page(row["instance_id"], row["attempt_id"]),
            "repair.html.j2",
            shown,
            more=lambda row=row: {"talk": talk(row["trajectory"]) if row["trajectory"] else None},  # type: ignore[misc]
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
