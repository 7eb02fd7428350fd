"""The models that there are: data/models.toml, and a file of one's own."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, Literal, Self, get_args

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt, model_validator

from tasks.adapters.llm.base import UNSAID, ModelQuestion, Options
from tasks.adapters.llm.limits.rate_limit import MinuteLimit
from tasks.adapters.llm.records.request import CHAT, LimitBy, ModelRequest
from tasks.adapters.toml_files import Filled, Texts, TomlTable, checked, read_toml
from tasks.domain.errors import BadInput, NotFound

MESSAGES = "messages"
Dialect = Literal["chat", "responses", "messages"]
DIALECTS = get_args(Dialect)
LITELLM = "litellm"
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


class ProviderTable(TomlTable):
    """A table `[provider.NAME]`."""

    base_url: str = ""
    base_url_env: str = ""
    """Variable whose value goes before `base_url`."""
    key_env: str = ""
    """Variable that holds the key; empty where none is needed."""
    dialect: Dialect = CHAT
    """What its models are asked in where their cards do not say."""
    max_in_flight: PositiveInt = IN_FLIGHT
    requests_per_minute: PositiveInt | None = None
    """Of all its models together, and of all processes; null where there is no such limit."""
    tokens_per_minute: PositiveInt | None = None
    """The same, sent and made together."""
    timeout_s: PositiveFloat = TIMEOUT_S
    """For a whole reply."""
    batches: bool = False
    """Whether it takes batches at half the price, in the way of OpenAI or of Anthropic."""
    stream: bool | None = None
    """Whether replies are streamed where its models' cards do not say; null: where they may be long."""
    wire: Literal["", "litellm"] = ""
    """`litellm` where that asks it, which then needs no address; else it is asked in its dialect over HTTP."""

    @model_validator(mode="after")
    def _check_wire(self) -> Self:
        if not self.base_url.startswith(("http://", "https://")) and (self.base_url or not self.wire):
            raise ValueError(f"has base_url {self.base_url!r}: it should begin with https:// or http://")
        if self.wire and (self.dialect != CHAT or self.batches):
            raise ValueError(f"has wire {LITELLM}, which takes the dialect {CHAT} and no batches")
        return self


class Provider(ProviderTable):
    """A service that answers calls of models."""

    name: str

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


class OptionsTable(TomlTable):
    """The table `options` of a model, see `Options`."""

    temperature: NonNegativeFloat | None = None
    top_p: NonNegativeFloat | None = None
    seed: PositiveInt | None = None
    stop: Texts = ()
    max_tokens: PositiveInt | None = None
    reasoning_tokens: PositiveInt | None = None
    reasoning_effort: str | None = None
    verbosity: str | None = None


class ModelTable(TomlTable):
    """A table `[model.NAME]`, see `ModelCard`. What is null here has its default there, or is the provider's."""

    model_id: str | None = Field(None, alias="id")
    provider: Filled
    cutoff: date | None = None
    context: PositiveInt | None = None
    output: PositiveInt | None = None
    options: OptionsTable = OptionsTable()
    price_key: str | None = Field(None, alias="price")
    limit_name: str = "max_tokens"
    fixed_temperature: bool = False
    dialect: Dialect | None = None
    requests_per_minute: PositiveInt | None = None
    tokens_per_minute: PositiveInt | None = None
    stream: bool | None = None
    source: Filled


class ModelsFile(TomlTable):
    """data/models.toml."""

    provider: Mapping[str, ProviderTable] = {}
    model: Mapping[str, ModelTable] = {}


class OwnFile(ModelsFile):
    """A user's own file; `read_prices` reads its prices."""

    price: Any = ()


def read_models(path: Path, own: Path | None = None) -> Models:
    """Providers and models of a file, and those of one's own in place of what is called the same.

    A table of `own` replaces the whole one, never single keys of it; a replaced provider serves all of its models.
    `BadInput` names the file, the table and the value that is wrong."""
    files: dict[str, ModelsFile] = {path.name: checked(ModelsFile, read_toml(path), path.name)}
    if own:
        files[str(own)] = checked(OwnFile, read_toml(own), str(own))
    tables = {name: table for file in files.values() for name, table in file.provider.items()}
    known = {name: Provider(name=name, **dict(table)) for name, table in tables.items()}
    cards: dict[str, ModelCard] = {}
    for where, file in files.items():
        cards |= {name: _card(name, table, known, f"{where}: model.{name}") for name, table in file.model.items()}
    return Models(cards)


def _card(name: str, table: ModelTable, providers: Mapping[str, Provider], where: str) -> ModelCard:
    if table.provider not in providers:
        hint = f"one of {', '.join(sorted(providers))}"
        raise BadInput(f"{where}: there is no provider {table.provider}", hint=hint)
    provider = providers[table.provider]
    inherited = {"model_id": name, "dialect": provider.dialect, "stream": provider.stream}
    given = {key: value for key, value in table if value not in (None, "")}
    options = Options(**{key: value for key, value in table.options if value != ""})
    return ModelCard(**inherited | given | {"name": name, "provider": provider, "options": options})
