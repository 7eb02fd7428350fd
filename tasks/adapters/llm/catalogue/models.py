"""The models that there are: data/models.toml, and a file of one's own."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import date
from pathlib import Path
from typing import Any

from tasks.adapters.llm.base import UNSAID, ModelQuestion, Options
from tasks.adapters.llm.catalogue.tables import TomlTable, read_toml
from tasks.adapters.llm.limits.rate_limit import MinuteLimit
from tasks.adapters.llm.records.request import CHAT, LimitBy, ModelRequest
from tasks.domain.errors import BadInput, NotFound

PROVIDER_KEYS = (
    "base_url",
    "base_url_env",
    "key_env",
    "dialect",
    "max_in_flight",
    "requests_per_minute",
    "tokens_per_minute",
    "timeout_s",
    "batches",
    "stream",
    "wire",
)
MODEL_KEYS = (
    "id",
    "provider",
    "cutoff",
    "context",
    "price",
    "limit_name",
    "fixed_temperature",
    "source",
    "output",
    "options",
    "dialect",
    "requests_per_minute",
    "tokens_per_minute",
    "stream",
)
MESSAGES = "messages"
DIALECTS = (CHAT, "responses", MESSAGES)
LITELLM = "litellm"
WIRES = ("", LITELLM)
OWN_TABLES = ("provider", "model", "price")
"""What a file of one's own may hold."""
TIMEOUT_S = 600.0
IN_FLIGHT = 8
MESSAGES_LIMIT = 32_000
"""Tokens of a reply where nobody said a limit, in the dialect that wants one."""
STREAMED_ABOVE = 21_333
"""Tokens of a reply. A longer one may take over ten minutes, at the 128,000 tokens an hour that SDKs of Anthropic
reckon with; they refuse to ask for it without a stream, for connections without a word are closed on the way
(https://docs.anthropic.com/en/api/errors#long-requests)."""
MORE_ROOM = 4
"""How much higher the limit is for a reply that a limit of ours cut: 4,096 tokens become 16,384."""
LEAST_ROOM = 4_096
"""Tokens of a reply below which a limit is not lowered to make room for the prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """Somebody who answers."""

    name: str
    base_url: str
    base_url_env: str = ""
    """Variable whose value goes before `base_url`."""
    key_env: str = ""
    """Variable that holds the key; empty where none is needed."""
    dialect: str = CHAT
    """What its models are asked in where their cards do not say."""
    max_in_flight: int = IN_FLIGHT
    requests_per_minute: int | None = None
    """Of all its models together, and of all processes; null where there is no such limit."""
    tokens_per_minute: int | None = None
    """The same, sent and made together."""
    timeout_s: float = TIMEOUT_S
    """For a whole reply."""
    batches: bool = False
    """Whether it takes batches at half the price, in the way of OpenAI or of Anthropic."""
    stream: bool | None = None
    """Whether replies are streamed where its models' cards do not say; null: where they may be long."""
    wire: str = ""
    """`litellm` where that asks it, which then needs no address; else it is asked in its dialect over HTTP."""

    def address(self, environ: Mapping[str, str]) -> str:
        """The base URL in force."""
        return environ.get(self.base_url_env, "") or self.base_url


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCard:
    """What is known of one model."""

    name: str
    model_id: str
    provider: Provider
    cutoff: date | None = None
    """Last day of its training data; null where nobody published it."""
    context: int | None = None
    """Tokens that fit, reply included."""
    output: int | None = None
    """Most tokens that a reply may have, hidden reasoning included."""
    options: Options = UNSAID
    """What it is asked with, where nobody says otherwise."""
    price_key: str | None = None
    limit_name: str = "max_tokens"
    fixed_temperature: bool = False
    dialect: str = CHAT
    """`chat`, `responses` or `messages`: what it is asked in."""
    requests_per_minute: int | None = None
    """Of this model alone, besides the provider's."""
    tokens_per_minute: int | None = None
    stream: bool | None = None
    """Whether its replies are streamed; null: where they may be longer than `STREAMED_ABOVE` tokens."""
    source: str

    @property
    def minute_limits(self) -> tuple[MinuteLimit, ...]:
        """What may be asked of it in a minute, by its provider and by itself."""
        provider, mine = self.provider, (self.requests_per_minute, self.tokens_per_minute)
        both = {
            f"provider {provider.name}": (provider.requests_per_minute, provider.tokens_per_minute),
            f"model {self.name}": mine,
        }
        return tuple(
            MinuteLimit(name=name, requests=requests, tokens=tokens)
            for name, (requests, tokens) in both.items()
            if requests or tokens
        )

    def request(self, question: ModelQuestion, sweep: Options, more: Mapping[str, Any] | None = None) -> ModelRequest:
        """A question as this model is sent it: a sweep's options go before the question's, these before the card's.

        `more` are parameters in the chat dialect's words, which an agent said; null for a question of this project.
        Where nobody limits its replies, a question of this project has the model's own limit."""
        said = sweep.over(question.options).over(self.options)
        limit, limit_by = self._limit(said, self._asker(question.options, sweep, by_agent=more is not None))
        named = {
            "top_p": said.top_p,
            "stop": list(said.stop) or None,
            "reasoning_effort": said.reasoning_effort,
            "verbosity": said.verbosity,
        }
        if self.dialect == MESSAGES:
            named["thinking_tokens"] = said.reasoning_tokens
        options = {**(more or {}), **{name: value for name, value in named.items() if value is not None}}
        thinks = "thinking_tokens" in options
        return ModelRequest(
            model=self.name,
            model_id=self.model_id,
            messages=question.messages,
            tools=question.tools,
            temperature=None if self.fixed_temperature or thinks else said.temperature,
            seed=said.seed if self.dialect == CHAT else None,
            sample=question.sample,
            max_tokens=limit,
            limit_by=limit_by,
            options=json.dumps(options, sort_keys=True),
            dialect=self.dialect,
        )

    def with_more_room(self, request: ModelRequest) -> ModelRequest | None:
        """The same with a limit on the reply that is `MORE_ROOM` times as high; null where it is at its highest."""
        if request.max_tokens is None:
            return None
        limit = self._clamped(request.max_tokens * MORE_ROOM)
        if limit <= request.max_tokens:
            return None
        limit, limit_by = self._limited(limit, request.limit_by)
        return replace(request, max_tokens=limit, limit_by=limit_by)

    def with_less_room(self, request: ModelRequest) -> ModelRequest | None:
        """The same with a `MORE_ROOM`th of the limit on the reply, where this is the model's own and does not fit
        beside the prompt; null where it is another's, or is low already."""
        if request.limit_by is not LimitBy.MODEL or (request.max_tokens or 0) < LEAST_ROOM * MORE_ROOM:
            return None
        return replace(request, max_tokens=(request.max_tokens or 0) // MORE_ROOM)

    def streamed(self, request: ModelRequest) -> bool:
        """Whether the reply to a request is asked for as a stream. It comes to the same, so it is no part of a request
        and of its key."""
        if self.stream is not None:
            return self.stream
        return (request.max_tokens or self.output or 0) > STREAMED_ABOVE

    def _asker(self, asked: Options, sweep: Options, *, by_agent: bool) -> LimitBy:
        """Who limits the reply, by whose options come first; the model where nobody does."""
        if sweep.max_tokens is not None:
            return LimitBy.EXPERIMENT
        if asked.max_tokens is not None:
            return LimitBy.AGENT if by_agent else LimitBy.EXPERIMENT
        if self.options.max_tokens is not None:
            return LimitBy.CARD
        return LimitBy.DIALECT if by_agent else LimitBy.MODEL

    def _limit(self, said: Options, by: LimitBy) -> tuple[int | None, LimitBy]:
        """Room for reasoning and what is read together, as providers count it, and whose limit it is."""
        if said.max_tokens is not None:
            return self._limited(self._clamped(said.max_tokens + (said.reasoning_tokens or 0)), by)
        if by is LimitBy.MODEL and self.output is not None:
            return self.output, by
        if self.dialect == MESSAGES:
            return self._limited(self._clamped(MESSAGES_LIMIT), LimitBy.DIALECT)
        return None, LimitBy.MODEL

    def _limited(self, limit: int, by: LimitBy) -> tuple[int, LimitBy]:
        """A limit and whose it is: one that is as high as the model's own is the model's."""
        return limit, LimitBy.MODEL if limit == self.output else by

    def _clamped(self, tokens: int) -> int:
        return tokens if self.output is None else min(tokens, self.output)


@dataclass(frozen=True, slots=True)
class Models:
    """The files, read."""

    cards: Mapping[str, ModelCard]

    def card(self, name: str) -> ModelCard:
        """`NotFound` with the nearest names where there is no such model."""
        if name in self.cards:
            return self.cards[name]
        near = difflib.get_close_matches(name, self.cards, n=3, cutoff=0.4) or sorted(self.cards)
        hint = f"did you mean {', '.join(near)}? Otherwise add it to a file of your own (SWT_MODELS, docs/models.md)"
        raise NotFound(f"no model is called {name}", hint=hint)


def read_models(path: Path, own: Path | None = None) -> Models:
    """Providers and models of a file, and those of one's own in place of what is called the same.

    A table of `own` replaces the whole one, never single keys of it; a replaced provider serves all of its models.
    `BadInput` names the file, the table and the value that is wrong."""
    content = read_toml(path)
    TomlTable(content, path.name).known(("provider", "model"))
    providers = _tables(content, "provider", path.name)
    cards = _tables(content, "model", path.name)
    if own:
        more = read_toml(own)
        TomlTable(more, str(own)).known(OWN_TABLES)
        providers |= _tables(more, "provider", str(own))
        cards |= _tables(more, "model", str(own))
    known = {name: _provider(name, table) for name, table in providers.items()}
    return Models({name: _card(name, table, known) for name, table in cards.items()})


def _tables(content: Mapping[str, Any], kind: str, file: str) -> dict[str, TomlTable]:
    found = content.get(kind, {})
    if not isinstance(found, dict) or not all(isinstance(value, dict) for value in found.values()):
        raise BadInput(f"{file}: {kind} holds something that is no table", hint=f"begin each with [{kind}.'NAME']")
    return {name: TomlTable(value, f"{file}: {kind}.{name}") for name, value in found.items()}


def _provider(name: str, table: TomlTable) -> Provider:
    table.known(PROVIDER_KEYS)
    wire = table.text("wire", "")
    if wire not in WIRES:
        raise BadInput(f"{table.where}: wire is {wire!r}", hint=f"leave it out, or say {LITELLM}")
    base_url = table.text("base_url", "" if wire else None)
    if not base_url.startswith(("http://", "https://")) and not (wire and not base_url):
        raise BadInput(f"{table.where}: base_url is {base_url!r}", hint="it begins with https:// or http://")
    if wire and (table.text("dialect", CHAT) != CHAT or table.flag("batches")):
        raise BadInput(f"{table.where}: {LITELLM} is asked in the dialect {CHAT}, one call at a time", hint="say so")
    return Provider(
        name=name,
        base_url=base_url,
        base_url_env=table.text("base_url_env", ""),
        key_env=table.text("key_env", ""),
        dialect=_dialect(table, CHAT),
        max_in_flight=table.count_or_none("max_in_flight") or IN_FLIGHT,
        requests_per_minute=table.count_or_none("requests_per_minute"),
        tokens_per_minute=table.count_or_none("tokens_per_minute"),
        timeout_s=table.number_or_none("timeout_s") or TIMEOUT_S,
        batches=table.flag("batches"),
        stream=table.flag_or_none("stream"),
        wire=wire,
    )


def _card(name: str, table: TomlTable, providers: Mapping[str, Provider]) -> ModelCard:
    table.known(MODEL_KEYS)
    provider = table.text("provider")
    if provider not in providers:
        raise BadInput(f"{table.where}: there is no provider {provider}", hint=f"one of {', '.join(sorted(providers))}")
    return ModelCard(
        name=name,
        model_id=table.text("id", name),
        provider=providers[provider],
        cutoff=table.day_or_none("cutoff"),
        context=table.count_or_none("context"),
        output=table.count_or_none("output"),
        options=_options(table),
        price_key=table.text("price", "") or None,
        limit_name=table.text("limit_name", "max_tokens"),
        fixed_temperature=table.flag("fixed_temperature"),
        dialect=_dialect(table, providers[provider].dialect),
        requests_per_minute=table.count_or_none("requests_per_minute"),
        tokens_per_minute=table.count_or_none("tokens_per_minute"),
        stream=_first(table.flag_or_none("stream"), providers[provider].stream),
        source=table.text("source"),
    )


def _first(mine: bool | None, other: bool | None) -> bool | None:
    return other if mine is None else mine


def _dialect(table: TomlTable, default: str) -> str:
    said = table.text("dialect", default)
    if said not in DIALECTS:
        raise BadInput(f"{table.where}: dialect is {said!r}", hint=f"one of {', '.join(DIALECTS)}")
    return said


def _options(table: TomlTable) -> Options:
    """The table `options` of a model."""
    given = table.values.get("options", {})
    if not isinstance(given, dict):
        raise BadInput(f"{table.where}: options is {given!r}", hint='it has to be like { reasoning_effort = "low" }')
    inner = TomlTable(given, f"{table.where}: options").known([one.name for one in fields(Options)])
    stop = given.get("stop", [])
    if not isinstance(stop, list) or not all(isinstance(one, str) for one in stop):
        raise BadInput(f"{inner.where}: stop is {stop!r}", hint="it has to be a list of texts")
    return Options(
        temperature=inner.number_or_none("temperature"),
        top_p=inner.number_or_none("top_p"),
        seed=inner.count_or_none("seed"),
        stop=tuple(stop),
        max_tokens=inner.count_or_none("max_tokens"),
        reasoning_tokens=inner.count_or_none("reasoning_tokens"),
        reasoning_effort=inner.text("reasoning_effort", "") or None,
        verbosity=inner.text("verbosity", "") or None,
    )
