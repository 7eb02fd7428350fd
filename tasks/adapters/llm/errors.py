"""Errors between a method and a model. None of them counts against a candidate.

InfrastructureError
└── ModelError                 root of this file; `retry` says whether a later attempt may succeed
    ├── ProviderFailed         rate limits, 5xx, timeouts, cut streams, garbage: after all attempts (retry)
    ├── ProviderRefused        the model's name or a parameter is wrong; needs a change by the user
    │   └── AccountRefused     invalid key or no credit: if certain, no further calls to the provider
    ├── ContextTooLong         more tokens than the model accepts: a method may shorten and retry
    ├── ReplyCut               a limit other than the model's own cut the reply: raise it
    │   └── UnansweredInLimit  hidden reasoning used the whole limit, twice
    ├── ContentFiltered        the provider refused this content
    ├── BudgetExhausted        the budget of calls, dollars, tokens or seconds is used up
    ├── ReplayMiss             replay only, and this content was never recorded
    └── ScriptExhausted        a scripted model has no further reply
"""

from __future__ import annotations

from tasks.domain.errors import InfrastructureError


class ModelError(InfrastructureError):
    slug = "model"
    retry = False
    maybe_paid = False
    """Whether part of the reply arrived before the error and may be charged."""


class ProviderFailed(ModelError):
    """The provider failed in all attempts.

    `kind` is that of the last attempt: `rate-limit`, `server`, `timeout`, `connection`, `cut`, `garbage`.
    """

    slug = "provider"
    retry = True

    def __init__(self, message: str, *, kind: str, hint: str = "", retry_after_s: float | None = None) -> None:
        super().__init__(message, hint=hint)
        self.kind = kind
        self.retry_after_s = retry_after_s


class ProviderRefused(ModelError):
    slug = "provider-refused"


class AccountRefused(ProviderRefused):
    """The provider refused the account.

    `certain` is false if only the provider's text indicates it: a text may repeat the caller's content.
    """

    slug = "provider-account"

    def __init__(self, message: str, *, hint: str = "", certain: bool = True) -> None:
        super().__init__(message, hint=hint)
        self.certain = certain


class ContextTooLong(ModelError):
    slug = "context-too-long"


class ReplyCut(ModelError):
    slug = "reply-cut"


class UnansweredInLimit(ReplyCut):
    slug = "unanswered-in-limit"


class ContentFiltered(ModelError):
    slug = "content-filtered"


class BudgetExhausted(ModelError):
    """A budget is used up. `what` is the limit that was or could be exceeded: `calls`, `usd`, `tokens` or `seconds`.

    `payer` is the name of the meter.
    """

    slug = "budget"

    def __init__(self, message: str, *, what: str, payer: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.what = what
        self.payer = payer


class ReplayMiss(ModelError):
    slug = "replay-miss"


class ScriptExhausted(ModelError):
    slug = "script"
