"""Questions about finished rows, and care of the warehouse."""

from __future__ import annotations

import sys
import textwrap
from time import time_ns
from typing import IO, TYPE_CHECKING

from flows.settings import Settings
from tasks.adapters.text import printable, spreadsheet_cell
from tasks.domain.errors import NotFound, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from tasks.adapters.store.audits import Audit

FORMATS = ("table", "json", "csv", "parquet", "markdown", "latex")
FEW = 3
"""So many rows of what an audit finds are shown."""
TEX = str.maketrans(
    {char: f"\\{char}" for char in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)
AGAIN, AGAIN_AT_LEAST = 0.02, 5
"""The share of the judged instances that a check judges again, and at least how many."""
ASKED_FIRST = ("tables", "graders")
HEADINGS = {
    "tables": "questions",
    "graders": "verdicts, by each grader",
    "audits": "audits, which answer nothing where all is well",
    "views": "views that the questions are made of",
    "macros": "macros, which take arguments",
    "pages": "what the pages of a report show",
}


def ask(
    settings: Settings,
    question: str | None,
    output: str,
    out: IO[bytes],
    *,
    everything: bool = False,
    withdrawn: bool = False,
) -> None:
    """Answer a named question or SQL to `out`; without a question, list the named ones: with `everything`, all. Tables
    count what was withdrawn where that is asked for."""
    if output not in FORMATS:
        raise UsageError(f"there is no format {output!r}", hint="one of " + ", ".join(FORMATS))
    if question is None:
        out.write(listing(settings, everything=everything).encode())
        return
    from tasks.adapters.store.database import query

    refresh(settings)
    _render(query(settings.database, _sql(question), withdrawn=withdrawn), output, out)


def listing(settings: Settings, *, everything: bool) -> str:
    """What can be asked by name, in groups: the questions first, all else with `everything`."""
    from tasks.adapters.store.headers import KINDS, headers

    found = headers(settings.sql)
    shown = KINDS if everything else ASKED_FIRST
    groups = [
        f"{HEADINGS[kind]}\n" + "".join(f"  {one.name:28} {one.description}\n" for one in found if one.kind == kind)
        for kind in shown
    ]
    left = sum(one.kind not in shown for one in found)
    return "\n".join(groups) + (f"\n{left} more with --all\n" if left else "")


def _sql(question: str) -> str:
    """A single word names a view; anything else is SQL."""
    if question.isidentifier():
        return f"FROM {question}"
    return question


def show_log(settings: Settings, run: str, out: IO[bytes]) -> str:
    """Write what a run printed to `out`; one line on the run. `run` is its key, or the beginning of it that is its own.

    Raises `NotFound` where there is no such run, `UsageError` where there are several.
    """
    from tasks.adapters.store.database import query
    from tasks.adapters.store.latest import literal
    from tasks.adapters.store.warehouse import Store

    if not settings.database.exists():
        rebuild_views(settings)
    asked = f"FROM run WHERE starts_with(run_key, {literal(run.lower())}) ORDER BY run_key LIMIT 2"
    found = query(settings.database, asked).to_pylist()
    if not found:
        raise NotFound(f"there is no run {run!r}", hint="`FROM run` has the keys")
    if len(found) > 1:
        raise UsageError(f"several runs begin with {run!r}", hint="give more of the key")
    (row,) = found
    if row["log"]:
        with Store(settings.store).open_file(row["log"]) as log:
            out.write(log.read())
    detail = f": {row['detail']}" if row["detail"] else ""
    return f"{row['run_key']} {row['instance_id']} {row['suite_kind']} {row['code_state']} {row['status']}{detail}"


def _render(answer: pa.Table, output: str, out: IO[bytes]) -> None:
    if output == "parquet":
        import pyarrow.parquet as pq

        pq.write_table(answer, out)
    elif output == "csv":
        out.write(_csv(answer).encode("utf-8", "backslashreplace"))
    elif output == "json":
        import json

        out.write((json.dumps(answer.to_pylist(), default=str, indent=1) + "\n").encode("utf-8", "backslashreplace"))
    elif output in ("markdown", "latex"):
        rows = markdown_table(answer) if output == "markdown" else latex_table(answer)
        out.write(rows.encode("utf-8", "backslashreplace"))
    else:
        out.write(text_table(answer).encode("utf-8", "backslashreplace"))


def _csv(answer: pa.Table) -> str:
    """Null is empty, a list is JSON, a whole number stays one beside nulls."""
    import json

    import pandas as pd

    def plain(value: object) -> object:
        return json.dumps(value, default=str) if isinstance(value, list | dict) else spreadsheet_cell(value)

    rows = zip(*(map(plain, column.to_pylist()) for column in answer.columns), strict=True)
    return pd.DataFrame(list(rows), columns=answer.column_names, dtype=object).to_csv(index=False)


def text_table(answer: pa.Table) -> str:
    """The answer as aligned columns, null as `-`."""
    rows = [[_cell(value) for value in row.values()] for row in answer.to_pylist()]
    names = answer.column_names
    widths = [max([len(name), *(len(row[i]) for row in rows)]) for i, name in enumerate(names)]
    lines = [names, ["-" * width for width in widths], *rows]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() + "\n" for line in lines
    )


def markdown_table(answer: pa.Table) -> str:
    """The answer as a table of GitHub's Markdown: numbers to the right, null as `-`."""
    lines = [answer.column_names, ["--:" if right else "---" for right in _to_the_right(answer)]]
    lines += [[_cell(value).replace("|", "\\|") for value in row.values()] for row in answer.to_pylist()]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def latex_table(answer: pa.Table) -> str:
    """The answer as a `tabular` with the rules of booktabs."""
    align = "".join("r" if right else "l" for right in _to_the_right(answer))
    rows = [[_tex(_cell(value)) for value in row.values()] for row in answer.to_pylist()]
    head, *body = (" & ".join(line) + r" \\" for line in [[_tex(name) for name in answer.column_names], *rows])
    lines = [rf"\begin{{tabular}}{{{align}}}", r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}"]
    return "\n".join(lines) + "\n"


def _to_the_right(answer: pa.Table) -> list[bool]:
    import pyarrow as pa

    return [pa.types.is_integer(field.type) or pa.types.is_floating(field.type) for field in answer.schema]


def _tex(text: str) -> str:
    return text.translate(TEX)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4g}"
    return printable(str(value).replace("\n", "\\n")[:80])


def refresh(settings: Settings) -> None:
    """Make the database anew if it is of another store or of other definitions, and judge what is not judged yet."""
    from tasks.adapters.store.database import ensure_views

    if not settings.database.exists():
        rebuild_views(settings)
        return
    try:
        ensure_views(settings.store, settings.database, settings.sql, _tell)
    except OSError as error:
        print(f"answered from what was judged before: {error}", file=sys.stderr)


def _tell(done: int, of: int) -> None:
    if of > 1:
        print(f"judged {done} of {of} instances", file=sys.stderr)


def rebuild_views(settings: Settings) -> str:
    """Make `swt.duckdb` anew from the store and `sql/`, with the models that are known."""
    from tasks.adapters.llm.model_facts import record_models
    from tasks.adapters.llm.models import read_models
    from tasks.adapters.store.database import build_views
    from tasks.adapters.store.warehouse import Store

    store = Store(settings.store)
    record_models(store, read_models(settings.models / "models.toml"))
    questions = build_views(store.url, settings.database, settings.sql, _tell)
    return f"{settings.database}: {len(questions)} questions"


def check_store(settings: Settings) -> tuple[str, bool]:
    """A line per problem, what the audits find, and whether both are nothing."""
    from tasks.adapters.runner.job import runner_version
    from tasks.adapters.store.audits import audits
    from tasks.adapters.store.judged import differences
    from tasks.adapters.store.quarantine import UNREADABLE
    from tasks.adapters.store.warehouse import Store

    problems = Store(settings.store).check(runner_version())
    lines = [str(problem) for problem in problems]
    if any(problem.kind in UNREADABLE for problem in problems):
        return "\n".join([*lines, "the audits were not asked: they need every file"]), False
    misjudged = [*differences(settings.store, settings.sql, share=AGAIN, at_least=AGAIN_AT_LEAST, draw=time_ns())]
    problems += tuple(misjudged)
    lines += map(str, misjudged)
    found = audits(settings.store, settings.sql)
    bad = [audit for audit in found if audit.rows.num_rows]
    lines += [_audited(audit) for audit in bad] + [f"{len(found) - len(bad)} of {len(found)} audits find nothing"]
    return "\n".join(lines), not problems and not bad


def _audited(audit: Audit) -> str:
    """An audit's name, what it is about, how many rows it finds and the first few of them."""
    head = f"{audit.name}: {audit.rows.num_rows} rows. {audit.about}"
    return f"{head}\n{textwrap.indent(text_table(audit.rows.slice(0, FEW)), '    ')}".rstrip()


def compact_store(settings: Settings) -> str:
    """Merge small files."""
    from tasks.adapters.store.warehouse import Store

    return str(Store(settings.store).compact())


def collect_garbage(settings: Settings) -> str:
    """Remove what no row names."""
    from tasks.adapters.store.warehouse import Store

    removed = Store(settings.store).gc()
    return "\n".join(removed) or "nothing to remove"
