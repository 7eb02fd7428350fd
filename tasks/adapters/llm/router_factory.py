"""Builds a model router from folders, the tracked tables and environment variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tasks.adapters.clock import Clock, SystemClock
from tasks.adapters.coordination.backends import open_coordinator
from tasks.adapters.llm.catalogue.models import LITELLM, Models, Provider, read_models
from tasks.adapters.llm.catalogue.prices import read_prices
from tasks.adapters.llm.limits.budget import Budget, Meter, Spent
from tasks.adapters.llm.limits.rate_limit import RateLimiter
from tasks.adapters.llm.limits.spend import join_ledger
from tasks.adapters.llm.records.reply_cache import open_archive
from tasks.adapters.llm.records.row_maker import Stamp
from tasks.adapters.llm.router import ModelRouter
from tasks.adapters.llm.secret import Secret
from tasks.adapters.llm.transport.litellm_http import LiteLLMWire
from tasks.adapters.llm.transport.openai_http import OpenAIWire, Transport
from tasks.adapters.store.files.disk import place_in_leases
from tasks.adapters.store.files.provenance import project_commit, project_dirty, project_version
from tasks.adapters.store.tables.store import Store
from tasks.domain.llm import CallStatus, LlmCall
from tasks.domain.names import content_key

RATE_LIMITS = "rate-limits"


def make_router(
    *,
    store: Store,
    cache: Path,
    data: Path,
    own: Path | None = None,
    environ: Mapping[str, str],
    config_hash: str = "",
    replay_only: bool = False,
) -> ModelRouter:
    """Build the router of a process. Close it at the end, and call `recover` at the start of paying work.

    `data` holds models.toml and prices.toml; `own` is a user's file of model cards and prices. Keys come from
    `environ`; a provider without a key can only be replayed.
    """
    models = read_models(data / "models.toml", own)
    stamp = Stamp(
        project_commit=project_commit(),
        project_dirty=project_dirty(),
        project_version=project_version(),
        config_hash=config_hash,
    )
    return ModelRouter(
        archive=open_archive(store, cache),
        models=models,
        prices=read_prices(data / "prices.toml", own),
        wires={} if replay_only else wires_of(models, environ),
        stamp=stamp,
        rate_limiter=open_rate_limiter(cache, SystemClock()),
        replay_only=replay_only,
    )


def wires_of(models: Models, environ: Mapping[str, str]) -> dict[str, Transport]:
    """Return the transport of each provider that has a key or needs none."""
    providers = {card.provider.name: card.provider for card in models.cards.values()}
    return {
        name: _transport(one, environ) for name, one in providers.items() if not one.key_env or environ.get(one.key_env)
    }


def open_rate_limiter(cache: Path, clock: Clock) -> RateLimiter:
    """Open the rate limits of all processes of this machine, or of all cooperating machines, for any store."""
    return RateLimiter(open_coordinator(cache / RATE_LIMITS, RATE_LIMITS, clock), clock)


@contextmanager
def metered(store: Store, cache: Path, payer: str, budget: Budget, *, name: str = "") -> Iterator[Meter]:
    """Yield the meter of a payer.

    The meter starts with the spend in the store. All processes of the payer share its budget, on this machine or on all
    cooperating machines.
    """
    folder = cache / "budgets" / content_key("budget", store.url, payer)
    coordinator = open_coordinator(folder, f"{place_in_leases(store.disk)}/{payer}")
    with join_ledger(coordinator, lambda: spent_by(store, payer)) as (ledger, already):
        yield Meter(name or payer, budget, already=already, shared=ledger)


def spent_by(store: Store, sweep: str) -> Spent:
    """Return what earlier processes paid for a sweep: the starting value of a resumed meter."""
    rows = store.read(LlmCall, sweep=sweep, status=(CallStatus.ANSWERED, CallStatus.CUT, CallStatus.UNKNOWN))
    return Spent(
        calls=sum(row.status is CallStatus.ANSWERED for row in rows),
        usd=sum(row.cost_usd or 0.0 for row in rows),
        unpriced=sum(row.cost_usd is None for row in rows),
        estimated_usd=sum(row.estimate_usd or 0.0 for row in rows if row.cost_usd is None),
        tokens=sum((row.tokens_in or 0) + (row.tokens_out or 0) for row in rows),
    )


def _transport(provider: Provider, environ: Mapping[str, str]) -> Transport:
    if provider.wire == LITELLM:
        return LiteLLMWire(
            base_url=provider.address(environ),
            key=Secret(environ.get(provider.key_env, "")),
            timeout_s=provider.timeout_s,
        )
    return OpenAIWire(
        base_url=provider.address(environ),
        key=Secret(environ.get(provider.key_env, "")),
        timeout_s=provider.timeout_s,
    )
