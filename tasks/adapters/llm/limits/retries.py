"""Decides whether and when a call is retried: by error class, with a limit on attempts and time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import tenacity

from tasks.adapters.clock import Clock
from tasks.adapters.llm.errors import ProviderFailed

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRetries:
    """Retry policy of one call. Retries only `ProviderFailed`; other errors would repeat."""

    attempts: int = 6
    first_wait_s: float = 1.0
    """Doubles with each attempt, plus a random jitter of up to this value."""
    longest_wait_s: float = 60.0
    longest_retry_after_s: float = 300.0
    """If a provider requests a longer pause, the call fails and may be made later."""

    def persist(self, clock: Clock, attempt: Callable[[int], Result]) -> Result:
        """Return the first result of `attempt(1)`, `attempt(2)` …; raises the last error if all fail."""
        trying = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(self.attempts),
            wait=self._wait,
            retry=tenacity.retry_if_exception(self._worth_it),
            sleep=clock.sleep,
            reraise=True,
        )
        for one in trying:
            with one:
                return attempt(one.retry_state.attempt_number)
        raise AssertionError("tenacity ends with a result or an error")

    def _worth_it(self, error: BaseException) -> bool:
        return isinstance(error, ProviderFailed) and (error.retry_after_s or 0.0) <= self.longest_retry_after_s

    def _wait(self, state: tenacity.RetryCallState) -> float:
        asked = _retry_after(state)
        if asked is not None:
            return asked
        first, longest = self.first_wait_s, self.longest_wait_s
        return tenacity.wait_exponential_jitter(multiplier=first, max=longest, jitter=first)(state)


def _retry_after(state: tenacity.RetryCallState) -> float | None:
    """Return the seconds that the provider asked to wait; None if it did not."""
    error = state.outcome.exception() if state.outcome else None
    return error.retry_after_s if isinstance(error, ProviderFailed) else None
