"""`swt localize`: which files the issues of a snapshot speak of."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from flows.options import InstancesOption, SnapshotOption, WorkersOption, end


def localize(
    snapshot: SnapshotOption,
    method: Annotated[str, typer.Option(help="bm25, or agent with a model.")] = "bm25",
    retriever: Annotated[str, typer.Option(help="code or lucene.")] = "code",
    model: Annotated[str, typer.Option(help="Name in data/models.toml, for the agent.")] = "",
    instances: InstancesOption = None,
    with_tests: Annotated[bool, typer.Option("--with-tests", help="Rank test files as well.")] = False,
    budget_usd: Annotated[float | None, typer.Option(min=0, help="Stop when so many dollars are spent.")] = None,
    budget_calls: Annotated[int | None, typer.Option(min=0, help="Stop when so many model calls are paid for.")] = None,
    workers: WorkersOption = None,
) -> None:
    """Rank the files that each issue may be about, and print how often the right ones are found.

    Example: swt localize --snapshot lite --retriever lucene
    """
    from flows.localizing import LocalizeRequest, localize_here
    from flows.settings import settings_from
    from tasks.adapters.llm.budget import Budget
    from tasks.adapters.retrieval.variants import Variant
    from tasks.domain.errors import UsageError

    if retriever not in list(Variant):
        raise UsageError(f"there is no retriever {retriever!r}", hint="one of " + ", ".join(Variant))
    request = LocalizeRequest(
        snapshot=snapshot,
        method=method,
        retriever=Variant(retriever),
        model=model,
        instances=tuple(instances or ()),
        with_tests=with_tests,
        budget=Budget(calls=budget_calls, usd=budget_usd),
    )
    done = localize_here(request, settings_from(os.environ).overridden(workers=workers), os.environ)
    end(done.problems, done.text, done.exit_code)
