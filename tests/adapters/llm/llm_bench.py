"""A switchboard over a scripted provider: everything but the provider is what runs for real."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock

import pytest

from tasks.adapters.llm.base import ModelQuestion, Options, user
from tasks.adapters.llm.catalogue.models import Models, read_models
from tasks.adapters.llm.catalogue.prices import Prices, read_prices
from tasks.adapters.llm.limits.retries import CallRetries
from tasks.adapters.llm.records.reply_cache import UNDER_WAY, open_archive
from tasks.adapters.llm.records.row_maker import Stamp
from tasks.adapters.llm.router import ModelRouter
from tasks.adapters.llm.router_factory import open_rate_limiter
from tasks.adapters.llm.secret import Secret
from tasks.adapters.llm.transport.openai_http import OpenAIWire
from tasks.adapters.store.tables.store import Store
from tasks.domain.llm import LlmCall, Work
from tests.fakes.scripted_provider.script import ListScript, Script, Step
from tests.fakes.scripted_provider.server import ScriptedProvider

KEY = "sk-real-key-that-nobody-may-see"
MODEL = "m-1"
MODELS = """
[provider.p]
base_url = "http://127.0.0.1:9/v1"
key_env = "P_KEY"
[model.m-1]
id = "vendor/m-1"
provider = "p"
price = "m"
context = 8192
source = "a test"
[model.fixed]
provider = "p"
limit_name = "max_completion_tokens"
fixed_temperature = true
source = "a test"
"""
PRICES = """
checked = 2026-01-01
[[price]]
key = "m"
valid_from = 2020-01-01
input = 1.0
output = 2.0
cached = 0.5
source = "a test"
"""


@dataclass
class TestClock:
    """A clock that only moves when somebody sleeps."""

    __test__ = False
    seconds: float = 0.0
    slept: list[float] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def now(self) -> datetime:
        return datetime(2026, 11, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        with self._lock:
            self.slept.append(seconds)
            self.seconds += seconds


def models_in(folder: Path) -> Models:
    (folder / "models.toml").write_text(MODELS)
    return read_models(folder / "models.toml")


def prices_in(folder: Path) -> Prices:
    (folder / "prices.toml").write_text(PRICES)
    return read_prices(folder / "prices.toml")


@dataclass
class Bench:
    """A switchboard, its store, and the provider behind it."""

    folder: Path
    provider: ScriptedProvider
    base_url: str
    clock: TestClock = field(default_factory=TestClock)
    wires: list[OpenAIWire] = field(default_factory=list)
    store_name: str = "store"
    """`replace` gives a second store that shares the cache."""

    def wire(self, base_url: str = "") -> OpenAIWire:
        self.wires.append(OpenAIWire(base_url or self.base_url, Secret(KEY), timeout_s=5))
        return self.wires[-1]

    def close(self) -> None:
        for wire in self.wires:
            wire.close()

    def board(self, **changes: object) -> ModelRouter:
        """A new one, as another process would make it."""
        board = ModelRouter(
            archive=open_archive(self.store, self.folder / "cache"),
            models=models_in(self.folder),
            prices=prices_in(self.folder),
            wires={"p": self.wire()},
            stamp=Stamp(project_version="test"),
            rate_limiter=open_rate_limiter(self.folder / "cache", self.clock),
            patience=CallRetries(attempts=4),
            clock=self.clock,
        )
        return replace(board, **changes)  # type: ignore[arg-type]

    @property
    def store(self) -> Store:
        return Store(str(self.folder / self.store_name))

    @property
    def under_way(self) -> list[Path]:
        """What is left of calls under way, of whichever store."""
        return [path for path in self.folder.rglob(f"{UNDER_WAY}/*") if path.is_file()]

    def rows(self, **where: object) -> tuple[LlmCall, ...]:
        return tuple(sorted(self.store.read(LlmCall, **where), key=lambda row: (row.position, row.attempt)))


Benches = Callable[[Script | list[Step]], Bench]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Benches]:
    """Makes a bench over a script."""
    with ExitStack() as stack:

        def make(script: Script | list[Step]) -> Bench:
            ready = ListScript(tuple(script)) if isinstance(script, list) else script
            provider = ScriptedProvider(ready, key=KEY)
            made = Bench(tmp_path, provider, stack.enter_context(provider.serve()))
            stack.callback(made.close)
            return made

        yield make


def ask(text: str, **options: float) -> ModelQuestion:
    """A question; `options` as of `Options`."""
    return ModelQuestion(messages=(user(text),), options=Options(**{"temperature": 0.0} | options))  # type: ignore[arg-type]


def work(method: str = "zero_shot", **more: Mapping[str, object] | str | int) -> Work:
    return Work(method=method, instance_id="a__b-1", instance_key="k1", **more)  # type: ignore[arg-type]
