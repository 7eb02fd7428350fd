"""The charts of the figures, as Vega-Lite by altair. Each takes plain rows and holds them as its data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair as alt

INK, MUTED, GRID = "#1f2328", "#59636e", "#d8dee4"
SERIES = ("#0b5cad", "#c4500b", "#0a7a55", "#8a3ba5", "#8a6100", "#1b7f96", "#b3264a", "#5b6770")
"""Tell apart without red against green; the style sheet has a lighter one for each on a dark page."""
FIRST, SECOND, THIRD = SERIES[:3]
MOST_METHODS = 60
MOST_SETS = 24
"""Intersections that the overlap shows, the largest first."""
MOST_IN_OVERLAP = 12
WIDTH = 560
HALF = 270
"""Width of one of two panels beside each other."""

Chart = Any
"""A chart of altair, of whichever kind."""
Rows = list[dict[str, Any]]


def _data(rows: Rows) -> alt.Data:
    import altair as alt

    plain = [{key: value if value is None else _plain(value) for key, value in row.items()} for row in rows]
    return alt.Data(values=plain)  # type: ignore[no-untyped-call]


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | list) else str(value)


def styled(chart: Chart) -> Chart:
    """In the colours and the type of the site."""
    font = "Helvetica, Arial, sans-serif"
    return (
        chart.configure(font=font, background="white", padding={"left": 24, "right": 8, "top": 6, "bottom": 6})
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=INK, titleColor=MUTED, gridColor=GRID, domainColor=MUTED, tickColor=MUTED,
            labelFontSize=12, titleFontSize=12, titleFontWeight="normal", labelLimit=260, titlePadding=8,
        )
        .configure_legend(
            labelColor=INK, titleColor=MUTED, labelFontSize=12, titleFontSize=12, titleFontWeight="normal",
            orient="top", labelLimit=260, symbolStrokeWidth=2,
            columnPadding=28, columns=3,
        )
        .configure_text(color=INK, fontSize=12)
        .configure_range(category=list(SERIES))
    )  # fmt: skip


def _rows_high(count: int, each: int = 26) -> dict[str, int]:
    return {"step": each if count <= 30 else 18}


def _percent(field: str, title: str, **more: Any) -> Any:
    import altair as alt

    return alt.X(f"{field}:Q", title=title, scale=alt.Scale(zero=True, nice=True), **more)


def score(rows: Rows) -> Chart:
    """A dot and an interval for each method."""
    import altair as alt

    y = alt.Y(
        "name:N",
        sort=[row["name"] for row in rows],
        title=None,
        axis=alt.Axis(domain=False, ticks=False, labelPadding=12),
    )
    base = alt.Chart(_data(rows)).encode(y=y)
    interval = base.mark_rule(strokeWidth=3, opacity=0.35, color=FIRST).encode(
        x=_percent("S_low", "instances solved, %"), x2="S_high:Q"
    )
    dot = base.mark_circle(size=90, color=FIRST, opacity=1).encode(x="S:Q")
    robust = base.mark_tick(color=SECOND, thickness=3, size=18, opacity=1).encode(x="S_robust:Q")
    return alt.layer(interval, dot, robust).properties(width=WIDTH, height=_rows_high(len(rows)))


def ability(rows: Rows) -> Chart:
    """Score and ability of each method, side by side in one order."""
    names = [row["name"] for row in rows]
    left = _panel(rows, names, "S", "solved in this snapshot, %")
    right = _panel(rows, names, "ability", "ability, logits", color=THIRD, labels=False)
    return _beside(left, right)


def hardness(rows: Rows) -> Chart:
    """Difficulty and interval of each snapshot, in their order."""
    return _panel(rows, [row["snapshot"] for row in rows], "difficulty", "difficulty, logits", y="snapshot").properties(
        width=WIDTH
    )


def repair(rows: Rows) -> Chart:
    """Pass rate and interval of each repair method."""
    shown = [
        {"name": row["name"], "rate": row["pass_rate"], "rate_low": row["pass_low"], "rate_high": row["pass_high"]}
        for row in rows
    ]
    return _panel(shown, [row["name"] for row in rows], "rate", "instances repaired, %").properties(width=WIDTH)


def filtering(rows: Rows) -> Chart:
    """Precision and recall of the fixes that tests keep, side by side."""
    names = [row["name"] for row in rows]
    left = _panel(rows, names, "precision", "precision, %", tick="base_precision")
    right = _panel(rows, names, "recall", "recall, %", color=THIRD, labels=False)
    return _beside(left, right)


def _panel(
    rows: Rows,
    order: list[str],
    value: str,
    title: str,
    *,
    y: str = "name",
    color: str = FIRST,
    labels: bool = True,
    tick: str = "",
) -> Chart:
    """A dot for `value` and a line from `value`_low to `value`_high, for each row; the column `tick` as a tick."""
    import altair as alt

    axis = alt.Axis(domain=False, ticks=False, labelPadding=12, labels=labels)
    base = alt.Chart(_data(rows)).encode(y=alt.Y(f"{y}:N", sort=order, title=None, axis=axis))
    line = base.mark_rule(strokeWidth=3, opacity=0.35, color=color).encode(
        x=_percent(f"{value}_low", title), x2=f"{value}_high:Q"
    )
    parts = [line, base.mark_circle(size=90, color=color, opacity=1).encode(x=f"{value}:Q")]
    if tick:
        parts.append(base.mark_tick(color=SECOND, thickness=3, size=18, opacity=1).encode(x=f"{tick}:Q"))
    return alt.layer(*parts).properties(width=HALF, height=_rows_high(len(order)))


def _beside(left: Chart, right: Chart) -> Chart:
    import altair as alt

    return alt.hconcat(left, right, spacing=24)


def overlap(rows: Rows) -> Chart:
    """An UpSet plot: intersections above, who is in them below, the size of each set to the left."""
    import altair as alt

    names = list(dict.fromkeys(name for row in rows for name in row["methods"]))
    size = {name: sum(row["exactly"] for row in rows if name in row["methods"]) for name in names}
    order = sorted(names, key=lambda name: (-size[name], name))[:MOST_IN_OVERLAP]
    shown = rows[:MOST_SETS]
    sets = [{"set": place, "instances": row["exactly"]} for place, row in enumerate(shown)]
    cells = [
        {"set": place, "name": name, "inside": name in row["methods"]}
        for place, row in enumerate(shown)
        for name in order
    ]
    spans = [
        {"set": place, "first": members[0], "last": members[-1]}
        for place, row in enumerate(shown)
        if len(members := [name for name in order if name in row["methods"]]) > 1
    ]
    step = 26
    x = alt.X("set:O", axis=None)
    # The order as a domain: layers that sort by different columns are sorted by none, but by the alphabet.
    height = alt.Scale(domain=order)
    axis = alt.Axis(domain=False, ticks=False, grid=False, labelPadding=6)
    y = alt.Y("name:N", scale=height, title=None, axis=axis)
    bars = alt.Chart(_data(sets)).encode(
        x=x, y=alt.Y("instances:Q", title="solved by exactly these", axis=alt.Axis(tickMinStep=1))
    )
    top = (bars.mark_bar(color=FIRST, size=16) + bars.mark_text(dy=-7).encode(text="instances:Q")).properties(
        width={"step": step}, height=150
    )
    dots = (
        alt.Chart(_data(cells))
        .mark_circle(size=130, opacity=1)
        .encode(
            x=x,
            y=alt.Y("name:N", scale=height, axis=None),
            color=alt.Color("inside:N", scale=alt.Scale(domain=[False, True], range=[GRID, FIRST]), legend=None),
        )
    )
    lines = (
        alt.Chart(_data(spans))
        .mark_rule(color=FIRST, strokeWidth=3)
        .encode(x=x, y=alt.Y("first:N", scale=height, axis=None), y2="last:N")
    )
    matrix = (dots + lines if spans else dots).properties(width={"step": step}, height={"step": step})
    totals = [{"name": name, "instances": size[name]} for name in order]
    left = (
        alt.Chart(_data(totals))
        .mark_bar(color=MUTED, size=14)
        .encode(y=y, x=alt.X("instances:Q", title="solved in all", sort="descending", axis=alt.Axis(tickCount=3)))
        .properties(width=110, height={"step": step})
    )
    blank = alt.Chart(_data([{}])).mark_point(opacity=0).properties(width=110, height=150)
    # One grid of four: two rows beside their own labels would put a bar beside, not above, the dots of its set.
    return alt.concat(blank, top, left, matrix, columns=2, align="each", spacing={"row": 4, "column": 8})


def coverage(rows: Rows) -> Chart:
    """Three dots on a line for each method."""
    import altair as alt

    best: dict[str, float] = {}
    for row in rows:
        if row["outcome"] == "all":
            best[row["name"]] = row["coverage"]
    order = sorted(dict.fromkeys(row["name"] for row in rows), key=lambda name: -best.get(name, 0))[:MOST_METHODS]
    outcomes = ["solved", "not solved", "all"]
    y = alt.Y("name:N", sort=order, title=None, axis=alt.Axis(domain=False, ticks=False, labelPadding=12))
    base = alt.Chart(_data([row for row in rows if row["name"] in order])).encode(y=y)
    span = base.mark_rule(strokeWidth=2, color=GRID).encode(x="min(coverage):Q", x2="max(coverage):Q")
    dots = base.mark_point(size=90, filled=True, opacity=1).encode(
        x=_percent("coverage", "change coverage, %"),
        color=alt.Color("outcome:N", title=None, scale=alt.Scale(domain=outcomes, range=[THIRD, SECOND, MUTED])),
        shape=alt.Shape(
            "outcome:N", title=None, scale=alt.Scale(domain=outcomes, range=["circle", "square", "diamond"])
        ),
    )
    return alt.layer(span, dots).properties(width=WIDTH, height=_rows_high(len(order)))


def contamination(rows: Rows) -> Chart:
    """Two dots for each method, and the p-value."""
    import altair as alt

    points = [
        {"name": name_of(row), "when": when, "S": row[column]}
        for row in rows
        for when, column in (("before the cutoff", "S_before"), ("after", "S_after"))
        if row[column] is not None
    ]
    said = [
        {
            "name": name_of(row),
            "S": max(row["S_before"] or 0, row["S_after"] or 0),
            "p": f"p = {row['p_exact']:.3f}" if row["p_exact"] is not None else "one side is empty",
        }
        for row in rows
    ]
    y = alt.Y("name:N", title=None, axis=alt.Axis(domain=False, ticks=False, labelPadding=12))
    base = alt.Chart(_data(points)).encode(y=y)
    span = base.mark_rule(strokeWidth=2, color=GRID).encode(x="min(S):Q", x2="max(S):Q")
    when = ["before the cutoff", "after"]
    dots = base.mark_point(size=90, filled=True, opacity=1).encode(
        x=_percent("S", "instances solved, %"),
        color=alt.Color("when:N", title=None, scale=alt.Scale(domain=when, range=[SECOND, FIRST])),
        shape=alt.Shape("when:N", title=None, scale=alt.Scale(domain=when, range=["square", "circle"])),
    )
    p = alt.Chart(_data(said)).mark_text(align="left", dx=10, color=MUTED).encode(y=y, x="S:Q", text="p:N")
    return alt.layer(span, dots, p).properties(width=WIDTH, height=_rows_high(len(rows)))


def cost(rows: Rows) -> Chart:
    """A dot for each method, with its name."""
    import altair as alt

    wide = max(row["usd"] for row in rows) > 20 * min(row["usd"] for row in rows)
    scale = alt.Scale(type="log", nice=True) if wide else alt.Scale(zero=True, nice=True)
    base = alt.Chart(_data(rows)).encode(
        x=alt.X("usd:Q", title="dollars for each instance", scale=scale),
        y=alt.Y("S:Q", title="instances solved, %", scale=alt.Scale(zero=True)),
    )
    dots = base.mark_circle(size=90, opacity=1, color=FIRST)
    names = base.mark_text(align="left", dx=9, dy=-7).encode(text="name:N")
    return alt.layer(dots, names).properties(width=WIDTH, height=300)


def years(rows: Rows) -> Chart:
    """A dot and an interval for each method, beside each other."""
    shown = [row | {"year": str(row["year"])} for row in sorted(rows, key=lambda row: int(row["year"]))]
    return _intervals(shown, "year", "year of the pull request")


def trend(rows: Rows) -> Chart:
    """The same from snapshot to snapshot."""
    return _intervals(rows, "snapshot", "snapshot")


def _intervals(rows: Rows, field: str, title: str) -> Chart:
    import altair as alt

    names = list(dict.fromkeys(row["name"] for row in rows))
    order = list(dict.fromkeys(row[field] for row in rows))
    base = alt.Chart(_data(rows)).encode(
        x=alt.X(f"{field}:O", title=title, axis=alt.Axis(labelAngle=0, grid=False), sort=order),
        y=alt.Y("S:Q", title="instances solved, %", scale=alt.Scale(zero=True)),
        color=alt.Color("name:N", title=None, scale=alt.Scale(domain=names, range=list(SERIES))),
        xOffset=alt.XOffset("name:N", scale=alt.Scale(domain=names, paddingInner=0.6, paddingOuter=1)),
    )
    dots = base.mark_point(filled=True, size=70, opacity=1)
    bars = base.mark_rule(strokeWidth=2, opacity=0.45).encode(y="S_low:Q", y2="S_high:Q")
    return alt.layer(bars, dots).properties(width=WIDTH, height=300)


def difficulty(rows: Rows) -> Chart:
    """A histogram."""
    import altair as alt

    base = alt.Chart(_data(rows)).encode(
        x=alt.X("methods:O", title="methods that solve it", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("count():Q", title="instances", axis=alt.Axis(tickMinStep=1)),
    )
    return alt.layer(
        base.mark_bar(color=FIRST),
        base.mark_text(dy=-7).encode(text="count():Q"),
    ).properties(width=WIDTH, height=240)


def funnel(rows: Rows) -> Chart:
    """A bar for each rule."""
    import altair as alt

    total = rows[0]["pull_requests"]
    steps = [{"rule": "collected", "left": total}]
    steps += [{"rule": row["rule"].replace("_", " "), "left": row["remaining"]} for row in rows]
    y = alt.Y(
        "rule:N",
        sort=[one["rule"] for one in steps],
        title=None,
        axis=alt.Axis(domain=False, ticks=False, labelPadding=12),
    )
    base = alt.Chart(_data(steps)).encode(y=y, x=alt.X("left:Q", title="pull requests that are left"))
    bars = base.mark_bar(color=FIRST, size=16)
    said = base.mark_text(align="left", dx=5).encode(text="left:Q")
    return alt.layer(bars, said).properties(width=WIDTH, height=_rows_high(len(steps)))


def name_of(row: Mapping[str, Any]) -> str:
    """Method and model in one."""
    return str(row["method"]) + (f" ({row['model']})" if row["model"] else "")
