"""The figures of a report: what each shows, of which rows, and its Vega-Lite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tasks.report import charts
from tasks.report.charts import MOST_METHODS, SERIES, Chart, name_of, styled
from tasks.report.rows import ReportRows, Row


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure."""

    name: str
    title: str
    caption: str
    question: str
    """The `swt query` that gives its numbers."""
    rows: tuple[Row, ...]
    chart: Callable[[list[dict[str, Any]]], Chart]
    nothing: str
    """What stands in its place where there are no rows; empty: the page of figures leaves it out then."""

    def spec(self) -> str:
        """Vega-Lite as JSON, with the data inside."""
        made: str = styled(self.chart([dict(row) for row in self.rows])).to_json(indent=None)
        return made


def figures(rows: ReportRows) -> tuple[Figure, ...]:
    """All of them, in the order of the page."""
    return (
        Figure(
            name="score",
            title="Solved instances",
            caption="Share of instances that each method solves, with Wilson's 95 % interval (dot), and the share "
            "of robust successes (tick).",
            question="table2",
            rows=_ranked(rows["page_method"]),
            chart=charts.score,
            nothing="No method has been judged.",
        ),
        Figure(
            name="ability",
            title="Score and ability",
            caption="Left, the share solved in this snapshot; right, the ability over all snapshots of the last fit, "
            "in logits: at 0 a method solves half of the instances that are as hard as the first snapshot's mean. Both "
            "with 95 % intervals. Of methods that nothing ties together, the larger group.",
            question="ability",
            rows=_able(rows["page_method"]),
            chart=charts.ability,
            nothing="",
        ),
        Figure(
            name="overlap",
            title="Who solves what together",
            caption="Each column is a set of methods: the bar counts the instances that exactly these solve. "
            "Bars on the left count all that a method solves. At most 12 methods, those that solve most.",
            question="method_overlap",
            rows=_sets(rows["method_overlap"]),
            chart=charts.overlap,
            nothing="No instance is solved by a method.",
        ),
        Figure(
            name="coverage",
            title="Change coverage by outcome",
            caption="Mean share of the golden patch's executable lines that a method's tests reach, on the instances "
            "that it solves, does not solve, and on all.",
            question="table3",
            rows=_coverage(rows["table3"]),
            chart=charts.coverage,
            nothing="No change coverage has been measured.",
        ),
        Figure(
            name="contamination",
            title="Before and after the model's cutoff",
            caption="Share solved among pull requests opened before and after the last day of the model's training "
            "data. p: Fisher's exact test that the rate before is higher.",
            question="contamination",
            rows=tuple(one for one in rows["contamination"] if one["grader"] == "paper"),
            chart=charts.contamination,
            nothing="No method here has a model whose cutoff is known.",
        ),
        Figure(
            name="cost",
            title="Cost against success",
            caption="Dollars for each instance that was asked for, and the share solved.",
            question="cost_per_success",
            rows=_priced(rows["page_method"]),
            chart=charts.cost,
            nothing="No cost is known, or nothing had to be paid: predictions files carry none.",
        ),
        Figure(
            name="years",
            title="Success by year of the pull request",
            caption="Share solved by the year in which the pull request was opened, with Wilson's 95 % interval; of "
            "the methods that solve most.",
            question="page_year",
            rows=_years(rows["page_year"], _best(rows)),
            chart=charts.years,
            nothing="All dated pull requests are of one year.",
        ),
        Figure(
            name="trend",
            title="From snapshot to snapshot",
            caption="Share solved in each snapshot that is in use, the oldest first, with Wilson's 95 % interval; of "
            "the methods that solve most.",
            question="page_trend",
            rows=_trend(rows["page_trend"], _best(rows)),
            chart=charts.trend,
            nothing="There is one snapshot only, or no method was judged on two.",
        ),
        Figure(
            name="hardness",
            title="How hard each snapshot is",
            caption="Mean difficulty of the instances of each snapshot, in logits above the first one's, with 95 % "
            "interval: what the methods that ran on several say of them. A score that falls while this rises is no "
            "worse method.",
            question="snapshot_difficulty",
            rows=_hard(rows["page_trend"]),
            chart=charts.hardness,
            nothing="",
        ),
        Figure(
            name="difficulty",
            title="How many methods solve an instance",
            caption="Instances by the number of methods that solve them, controls left out.",
            question="FROM method_instance('paper', 'tests-only')",
            rows=_difficulty(rows["page_instance"]),
            chart=charts.difficulty,
            nothing="No method has been judged.",
        ),
        Figure(
            name="funnel",
            title="From pull requests to instances",
            caption="Merged pull requests that are left after each rule of the filter, over all repositories that were "
            "collected into this store.",
            question="funnel",
            rows=rows["funnel"],
            chart=charts.funnel,
            nothing="This store holds no collected pull requests: its snapshots were imported.",
        ),
        Figure(
            name="repair",
            title="Repaired instances",
            caption="Share of the attempted instances whose code each repair method repairs, as the golden tests say, "
            "with Wilson's 95 % interval.",
            question="repair_rate",
            rows=_repaired(rows["repair_rate"]),
            chart=charts.repair,
            nothing="",
        ),
        Figure(
            name="filter",
            title="Fixes that generated tests keep",
            caption="Of the proposed fixes on which the tests of a method pass, the share that is right (precision; "
            "the tick is the share without any test), and of the right ones the share that is kept (recall). "
            "Wilson's 95 % intervals; all repair methods together, a fix without a test is not kept.",
            question="repair_filter",
            rows=_filtering(rows["repair_filter"]),
            chart=charts.filtering,
            nothing="",
        ),
    )


def _best(rows: ReportRows) -> frozenset[str]:
    """Names of the methods that solve most: as many as can be told apart in one figure."""
    names = [row["name"] for row in rows["page_method"] if not row["control"]]
    return frozenset(names[: len(SERIES)])


def _years(rows: Iterable[Row], best: frozenset[str]) -> tuple[Row, ...]:
    kept = tuple(one for one in rows if one["name"] in best and one["S"] is not None)
    return kept if len({one["year"] for one in kept}) > 1 else ()


def _ranked(rows: Iterable[Row]) -> tuple[Row, ...]:
    kept = ("name", "S", "S_low", "S_high", "S_robust")
    return tuple({key: row[key] for key in kept} for row in rows if not row["control"] and row["S"] is not None)[
        :MOST_METHODS
    ]


def _able(rows: Iterable[Row]) -> tuple[Row, ...]:
    known = [row for row in rows if row["ability"] is not None and row["S"] is not None]
    parts = Counter(row["ability_part"] for row in known)
    largest = max(parts, key=lambda part: (parts[part], -part), default=None)
    columns = ("name", "S", "S_low", "S_high", "ability", "ability_low", "ability_high")
    kept = [{key: row[key] for key in columns} for row in known if row["ability_part"] == largest]
    return tuple(sorted(kept, key=lambda row: -row["ability"])[:MOST_METHODS])


def _hard(rows: Iterable[Row]) -> tuple[Row, ...]:
    columns = ("snapshot", "difficulty", "difficulty_low", "difficulty_high", "difficulty_part")
    each = {row["snapshot"]: {key: row[key] for key in columns} for row in rows if row["difficulty"] is not None}
    parts = Counter(row["difficulty_part"] for row in each.values())
    return tuple(row for row in each.values() if parts[row["difficulty_part"]] == max(parts.values()) > 1)


def _repaired(rows: Iterable[Row]) -> tuple[Row, ...]:
    columns = ("pass_rate", "pass_low", "pass_high")
    kept = [row for row in rows if row["pass_rate"] is not None][:MOST_METHODS]
    return tuple({"name": name_of(row)} | {key: row[key] for key in columns} for row in kept)


def _filtering(rows: Iterable[Row]) -> tuple[Row, ...]:
    columns = ("base_precision", "precision", "precision_low", "precision_high", "recall", "recall_low", "recall_high")
    kept = [row for row in rows if row["scope"] == "all" and row["repair"] is None and row["precision"] is not None]
    best = sorted(kept, key=lambda row: (-row["precision"], -(row["recall"] or 0), name_of(row)))[:MOST_METHODS]
    return tuple({"name": name_of(row)} | {key: row[key] for key in columns} for row in best)


def _sets(rows: Iterable[Row]) -> tuple[Row, ...]:
    """The sets of methods that alone solve some instance, the largest first."""
    found = sorted((row for row in rows if row["exactly"]), key=lambda row: (-row["exactly"], row["methods"]))
    return tuple({"methods": row["methods"], "exactly": row["exactly"]} for row in found)


def _coverage(rows: Iterable[Row]) -> tuple[Row, ...]:
    names = {"dc_solved": "solved", "dc_unsolved": "not solved", "dc_all": "all"}
    return tuple(
        {"name": name_of(row), "outcome": outcome, "coverage": row[column]}
        for row in rows
        if row["definition"] == "paper" and row["method"] != "nop"
        for column, outcome in names.items()
        if row[column] is not None
    )


def _priced(rows: Iterable[Row]) -> tuple[Row, ...]:
    return tuple(
        {"name": row["name"], "method": row["method"], "S": row["S"], "usd": row["usd_per_instance"]}
        for row in rows
        if row["usd_per_instance"] and row["S"] is not None
    )


def _trend(rows: Iterable[Row], best: frozenset[str]) -> tuple[Row, ...]:
    kept = [row for row in rows if row["S"] is not None and row["name"] in best]
    several = {row["name"] for row in kept if len({one["snapshot"] for one in kept if one["name"] == row["name"]}) > 1}
    columns = ("number", "snapshot", "name", "S", "S_low", "S_high")
    return tuple({key: row[key] for key in columns} for row in kept if row["name"] in several)


def _difficulty(rows: Iterable[Row]) -> tuple[Row, ...]:
    return tuple({"methods": row["solved_by"]} for row in rows if row["methods"])
