"""What can go wrong between a method and a model. None of it is a candidate's failure.

InfrastructureError
└── ModelError                 the root of this file; `retry` says whether a later attempt may pass
    ├── ProviderFailed         rate limits, 5xx, timeouts, cut streams, garbage: after all attempts (retry)
    ├── ProviderRefused        the model's name or a parameter is wrong: stop and look
    │   └── AccountRefused     the key is dead or the account is empty: where certain, the provider is not asked again
    ├── ContextTooLong         more tokens than the model takes: a method may shorten and ask again
    ├── ReplyCut               a limit that is not the model's own ended the reply: give it more room
    │   └── UnansweredInLimit  all of that limit went into hidden reasoning, twice
    ├── ContentFiltered        the provider would not answer this content
    ├── BudgetExhausted        calls, dollars, tokens or seconds are used up
    ├── ReplayMiss             replay only, and this content was never recorded
    └── ScriptExhausted        a scripted model has nothing more to say
"""

from __future__ import annotations

from tasks.domain.errors import InfrastructureError


class ModelError(InfrastructureError):
    slug = "model"
    retry = False
    maybe_paid = False
    """Whether a part of the reply had come before the provider said this, and may be charged."""


class ProviderFailed(ModelError):
    """`kind` is the last attempt's: `rate-limit`, `server`, `timeout`, `connection`, `cut`, `garbage`."""

    slug = "provider"
    retry = True

    def __init__(self, message: str, *, kind: str, hint: str = "", retry_after_s: float | None = None) -> None:
        super().__init__(message, hint=hint)
        self.kind = kind
        self.retry_after_s = retry_after_s


class ProviderRefused(ModelError):
    slug = "provider-refused"


class AccountRefused(ProviderRefused):
    """`certain` is false where only the text of the provider says so: a text may repeat what the caller asked."""

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
    """`what` is the ceiling that was reached, or that a call could pass: `calls`, `usd`, `tokens` or `seconds`; `payer`
    the name of the meter that keeps it."""

    slug = "budget"

    def __init__(self, message: str, *, what: str, payer: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.what = what
        self.payer = payer


class ReplayMiss(ModelError):
    slug = "replay-miss"


class ScriptExhausted(ModelError):
    slug = "script"
