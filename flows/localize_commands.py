"""`swt localize`: which files the issues of a snapshot speak of."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from flows.options import CallsOption, InstancesOption, SnapshotOption, UsdOption, WorkersOption, end, one_of


def localize(
    snapshot: SnapshotOption,
    method: Annotated[str, typer.Option(help="bm25, or agent with a model.")] = "bm25",
    retriever: Annotated[str, typer.Option(help="code or lucene.")] = "code",
    model: Annotated[str, typer.Option(help="Name in data/models.toml, for the agent.")] = "",
    instances: InstancesOption = None,
    with_tests: Annotated[bool, typer.Option("--with-tests", help="Rank test files as well.")] = False,
    budget_usd: UsdOption = None,
    budget_calls: CallsOption = None,
    workers: WorkersOption = None,
) -> None:
    """Rank the files that each issue may be about, and print how often the right ones are found.

    Example: swt localize --snapshot lite --retriever lucene
    """
    from flows.localization import LocalizeRequest, localize_here
    from flows.settings import settings_from
    from tasks.adapters.llm.budget import Budget
    from tasks.adapters.retrieval.variants import Variant

    request = LocalizeRequest(
        snapshot=snapshot,
        method=method,
        retriever=one_of(Variant, retriever, f"there is no retriever {retriever!r}"),
        model=model,
        instances=tuple(instances or ()),
        with_tests=with_tests,
        budget=Budget(calls=budget_calls, usd=budget_usd),
    )
    done = localize_here(request, settings_from(os.environ).overridden(workers=workers), os.environ)
    end((), done.text, done.exit_code)
