"""Query and export finished rows, and maintain the store."""

from __future__ import annotations

import textwrap
from pathlib import Path
from time import time_ns
from typing import IO, TYPE_CHECKING

from flows.interface.settings import Settings
from tasks.adapters.tabular import FORMATS, text_table, write_answer
from tasks.adapters.text import printable_log, say
from tasks.domain.errors import UsageError

if TYPE_CHECKING:
    from tasks.adapters.store.views.audits import Audit

FEW = 3
"""Number of an audit's rows that are shown."""
AGAIN, AGAIN_AT_LEAST = 0.02, 5
"""Share and minimum number of evaluated instances whose verdicts `swt store check` recomputes."""
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
    """Write the answer to a named query or SQL to `out`. Without a question, lists the named queries; `everything`
    lists all. `withdrawn` makes tables count withdrawn data as well."""
    if output not in FORMATS:
        raise UsageError(f"there is no format {output!r}", hint="one of " + ", ".join(FORMATS))
    if question is None:
        out.write(listing(settings, everything=everything).encode())
        return
    from tasks.adapters.store.views.database import query, selection

    refresh(settings)
    # A single word is the name of a view; anything else is SQL.
    asked = selection(question) if question.isidentifier() else question
    write_answer(query(settings.database, asked, withdrawn=withdrawn), output, out)


def listing(settings: Settings, *, everything: bool) -> str:
    """Returns the named queries in groups: the main tables first, and the rest with `everything`."""
    from tasks.adapters.store.views.headers import KINDS, headers

    found = headers(settings.sql)
    shown = KINDS if everything else ASKED_FIRST
    groups = [
        f"{HEADINGS[kind]}\n" + "".join(f"  {one.name:28} {one.description}\n" for one in found if one.kind == kind)
        for kind in shown
    ]
    left = sum(one.kind not in shown for one in found)
    return "\n".join(groups) + (f"\n{left} more with --all\n" if left else "")


def data_dictionary(settings: Settings) -> str:
    """Returns every table and view with its columns, as Markdown."""
    from tasks.adapters.store.views.dictionary import dictionary

    return dictionary(settings.sql)


def show_log(settings: Settings, run: str, out: IO[bytes]) -> str:
    """Write the output of a run to `out`, with control characters escaped. Returns one line about the run.

    `run` is the run's key or a unique prefix of it.

    Raises `NotFound` if no run matches, and `UsageError` if several do.
    """
    from tasks.adapters.store.tables.store import Store
    from tasks.adapters.store.views.database import run_named

    store = Store(settings.store)
    if not settings.database.exists():
        rebuild_views(settings)
    row = run_named(settings.database, run)
    if row["log"]:
        with store.open_file(row["log"]) as log:
            out.writelines(printable_log(log))
    detail = f": {row['detail']}" if row["detail"] else ""
    return f"{row['run_key']} {row['instance_id']} {row['suite_kind']} {row['code_state']} {row['status']}{detail}"


def export(settings: Settings, kind: str, out: Path, snapshot: str = "", method: str = "", image: str = "") -> str:
    """Write one kind of export file. Returns one line about it. Raises `UsageError` if an argument does not fit the
    kind."""
    from tasks.report.exports import check_export
    from tasks.report.exports import export as write

    check_export(kind, snapshot)
    refresh(settings)
    where = (settings.places, settings.sql, settings.database)
    return write(*where, kind, out, snapshot=snapshot, method=method, image=image)


def refresh(settings: Settings) -> None:
    """Rebuild the database if it belongs to another store or to other view definitions, and compute missing
    verdicts."""
    from tasks.adapters.store.views.database import ensure_views

    if not settings.database.exists():
        rebuild_views(settings)
        return
    try:
        ensure_views(settings.store, settings.database, settings.sql, _tell)
    except OSError as error:
        say(f"answered from what was judged before: {error}", err=True)


def _tell(done: int, of: int) -> None:
    if of > 1:
        say(f"judged {done} of {of} instances", err=True)


def rebuild_views(settings: Settings) -> str:
    """Rebuild `swt.duckdb` from the store and `sql/`, and record the known models."""
    from tasks.adapters.llm.catalogue.model_facts import record_models
    from tasks.adapters.llm.catalogue.models import read_models
    from tasks.adapters.store.tables.store import Store
    from tasks.adapters.store.views.database import build_views

    store = Store(settings.store)
    record_models(store, read_models(settings.models / "models.toml", settings.own_models))
    questions = build_views(settings.store, settings.database, settings.sql, _tell)
    return f"{settings.database}: {len(questions)} questions"


def check_store(settings: Settings) -> tuple[str, bool]:
    """Check the store and run all audits. Returns one line for each finding, and whether there is none."""
    from tasks.adapters.runner.job import runner_version
    from tasks.adapters.store.files.quarantine import UNREADABLE
    from tasks.adapters.store.tables.store import Store
    from tasks.adapters.store.views.audits import audits
    from tasks.adapters.store.views.materialized import differences

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
    """Returns an audit's name and description, the number of its rows and the first few of them."""
    head = f"{audit.name}: {audit.rows.num_rows} rows. {audit.about}"
    return f"{head}\n{textwrap.indent(text_table(audit.rows.slice(0, FEW)), '    ')}".rstrip()


def compact_store(settings: Settings) -> str:
    from tasks.adapters.store.tables.store import Store

    return str(Store(settings.store).compact())


def collect_garbage(settings: Settings) -> str:
    """Remove files that no row names."""
    from tasks.adapters.store.tables.store import Store

    removed = Store(settings.store).gc()
    return "\n".join(removed) or "nothing to remove"
