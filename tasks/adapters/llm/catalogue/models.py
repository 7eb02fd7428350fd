"""Reads the available models: data/models.toml and a user's own file."""

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
"""Default limit of a reply in tokens, in the dialect that requires a limit."""
STREAMED_ABOVE = 21_333
"""Tokens of a reply above which replies are streamed. A longer reply may take over ten minutes, at the 128,000 tokens
per hour that Anthropic's SDKs assume. These SDKs refuse such requests without a stream, since proxies close idle
connections (https://docs.anthropic.com/en/api/errors#long-requests)."""
MORE_ROOM = 4
"""Factor by which the limit rises after a cut reply: 4,096 tokens become 16,384."""
LEAST_ROOM = 4_096
"""Smallest limit of a reply: below it, the limit is not lowered to make room for the prompt."""


class ProviderTable(TomlTable):
    """A table `[provider.NAME]`."""

    base_url: str = ""
    base_url_env: str = ""
    """Environment variable whose value overrides `base_url`."""
    key_env: str = ""
    """Environment variable that holds the key; empty if no key is needed."""
    dialect: Dialect = CHAT
    """Default dialect of its models."""
    max_in_flight: PositiveInt = IN_FLIGHT
    requests_per_minute: PositiveInt | None = None
    """For all its models and all processes together; None means no limit."""
    tokens_per_minute: PositiveInt | None = None
    """The same for prompt and completion tokens together."""
    timeout_s: PositiveFloat = TIMEOUT_S
    """Time limit for a whole reply."""
    batches: bool = False
    """Whether it accepts batches at half the price, with the API of OpenAI or Anthropic."""
    stream: bool | None = None
    """Default for streaming of its models. None: stream if replies may be long."""
    wire: Literal["", "litellm"] = ""
    """`litellm` to call it through litellm, which needs no address; else HTTP in its dialect."""

    @model_validator(mode="after")
    def _check_wire(self) -> Self:
        if not self.base_url.startswith(("http://", "https://")) and (self.base_url or not self.wire):
            raise ValueError(f"has base_url {self.base_url!r}: it should begin with https:// or http://")
        if self.wire and (self.dialect != CHAT or self.batches):
            raise ValueError(f"has wire {LITELLM}, which takes the dialect {CHAT} and no batches")
        return self


class Provider(ProviderTable):
    """A service that serves models."""

    name: str

    def address(self, environ: Mapping[str, str]) -> str:
        """Return the effective base URL."""
        return environ.get(self.base_url_env, "") or self.base_url


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCard:
    """The known facts about one model."""

    name: str
    model_id: str
    provider: Provider
    cutoff: date | None = None
    """Last day of its training data; None if not published."""
    context: int | None = None
    """Context window in tokens, including the reply."""
    output: int | None = None
    """Longest reply in tokens, including hidden reasoning."""
    options: Options = UNSAID
    """Default options of its calls."""
    price_key: str | None = None
    limit_name: str = "max_tokens"
    fixed_temperature: bool = False
    dialect: str = CHAT
    """Dialect of its calls: `chat`, `responses` or `messages`."""
    requests_per_minute: int | None = None
    """Limit of this model alone, in addition to the provider's."""
    tokens_per_minute: int | None = None
    stream: bool | None = None
    """Whether its replies are streamed. None: if they may exceed `STREAMED_ABOVE` tokens."""
    source: str

    @property
    def minute_limits(self) -> tuple[MinuteLimit, ...]:
        """Rate limits of its provider and of the model itself."""
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
        """Return the request for a question. A sweep's options override the question's, which override the card's.

        `more` are an agent's parameters in the chat dialect; None for a question of this project. If nothing limits the
        reply, such a question gets the model's own limit.
        """
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
        """Return the request with a limit that is `MORE_ROOM` times higher; None if the limit is already at its
        maximum."""
        if request.max_tokens is None:
            return None
        limit = self._clamped(request.max_tokens * MORE_ROOM)
        if limit <= request.max_tokens:
            return None
        limit, limit_by = self._limited(limit, request.limit_by)
        return replace(request, max_tokens=limit, limit_by=limit_by)

    def with_less_room(self, request: ModelRequest) -> ModelRequest | None:
        """Return the request with a `MORE_ROOM`th of the limit, if the model's own limit leaves no room for the prompt.

        None if the limit has another origin, or is already low.
        """
        if request.limit_by is not LimitBy.MODEL or (request.max_tokens or 0) < LEAST_ROOM * MORE_ROOM:
            return None
        return replace(request, max_tokens=(request.max_tokens or 0) // MORE_ROOM)

    def streamed(self, request: ModelRequest) -> bool:
        """Whether the reply is streamed. Streaming does not change the reply, so the request's
        key does not include it."""
        if self.stream is not None:
            return self.stream
        return (request.max_tokens or self.output or 0) > STREAMED_ABOVE

    def _asker(self, asked: Options, sweep: Options, *, by_agent: bool) -> LimitBy:
        """Return the origin of the limit on the reply, by precedence of the options; the model
        if no options set one."""
        if sweep.max_tokens is not None:
            return LimitBy.EXPERIMENT
        if asked.max_tokens is not None:
            return LimitBy.AGENT if by_agent else LimitBy.EXPERIMENT
        if self.options.max_tokens is not None:
            return LimitBy.CARD
        return LimitBy.DIALECT if by_agent else LimitBy.MODEL

    def _limit(self, said: Options, by: LimitBy) -> tuple[int | None, LimitBy]:
        """Return the limit for reasoning and visible text together, as providers count it, and its origin."""
        if said.max_tokens is not None:
            return self._limited(self._clamped(said.max_tokens + (said.reasoning_tokens or 0)), by)
        if by is LimitBy.MODEL and self.output is not None:
            return self.output, by
        if self.dialect == MESSAGES:
            return self._limited(self._clamped(MESSAGES_LIMIT), LimitBy.DIALECT)
        return None, LimitBy.MODEL

    def _limited(self, limit: int, by: LimitBy) -> tuple[int, LimitBy]:
        """Return a limit and its origin; a limit equal to the model's own counts as the model's."""
        return limit, LimitBy.MODEL if limit == self.output else by

    def _clamped(self, tokens: int) -> int:
        return tokens if self.output is None else min(tokens, self.output)


@dataclass(frozen=True, slots=True)
class Models:
    """All models by name."""

    cards: Mapping[str, ModelCard]

    def card(self, name: str) -> ModelCard:
        """Return the card of a model. Raises `NotFound` with similar names if there is none."""
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
    """A table `[model.NAME]`, see `ModelCard`. None means the default there, or the provider's value."""

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
    """Read providers and models from a file; entries of `own` replace those of the same name.

    A table of `own` replaces the whole table, not single keys. A replaced provider serves all of its models. Raises
    `BadInput` with the file, the table and the invalid value.
    """
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
