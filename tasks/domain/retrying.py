"""Which failures are worth another attempt."""

from __future__ import annotations

from typing import Any

from tasks.domain.errors import SwtError


def may_pass(_task: object, _run: object, state: Any) -> bool:
    """Prefect's retry condition (its three arguments): only errors of a class that says so."""
    outcome = state.result(raise_on_failure=False)
    return isinstance(outcome, SwtError) and outcome.retry
