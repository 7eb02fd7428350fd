"""data/models.toml and data/prices.toml, and what is said of files like them that are wrong."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from llm_bench import MODELS, PRICES

from tasks.adapters.llm.base import Usage
from tasks.adapters.llm.catalogue.models import read_models
from tasks.adapters.llm.catalogue.prices import read_prices
from tasks.domain.errors import BadInput, NotFound

DATA = Path(__file__).resolve().parents[3] / "data"
OF_THE_PAPERS = (
    "gpt-4-1106-preview",
    "claude-3-haiku-20240307",
    "claude-3-5-sonnet-20240620",
    "mistral-large-2407",
    "open-mixtral-8x22b",
    "gpt-4o-mini-2024-07-18",
    "gpt-4.1-2025-04-14",
    "gpt-5-2025-08-07",
    "claude-sonnet-4-20250514",
    "qwen2.5-coder-32b-instruct",
    "qwen3-coder-30b-a3b-instruct",
)


def test_the_models_of_the_papers_are_there_and_every_price_is_used() -> None:
    models, prices = read_models(DATA / "models.toml"), read_prices(DATA / "prices.toml")
    assert set(OF_THE_PAPERS) <= set(models.cards)
    assert {card.price_key for card in models.cards.values()} - {None} == prices.keys()
    assert all(card.context and card.source for card in models.cards.values())
    assert models.card("gpt-4-1106-preview").cutoff == date(2023, 4, 30)
    assert models.card("mistral-large-2407").cutoff is None


@pytest.mark.parametrize(
    ("key", "day", "usage", "cost"),
    [
        ("gpt-4-turbo", 20260101, Usage(prompt=27_000, completion=500), 0.285),
        ("gpt-4-turbo", 20230101, Usage(prompt=27_000, completion=500), None),  # before it had a price
        ("mistral-large-2", 20240801, Usage(prompt=1_000_000, completion=0), 3.0),
        ("mistral-large-2", 20241001, Usage(prompt=1_000_000, completion=0), 2.0),
        ("gpt-4o-mini", 20260101, Usage(prompt=1_000_000, completion=0, cached=400_000), 0.12),
        ("gpt-4-turbo", 20260101, Usage(prompt=1_000_000, completion=0, cached=400_000), 10.0),
        ("gpt-4o-mini", 20260101, Usage(prompt=10), None),
        ("gpt-4o-mini", 20260101, Usage(completion=10), None),
        ("claude-sonnet-4-5", 20260101, Usage(prompt=200_000, completion=0), 0.6),
        ("claude-sonnet-4-5", 20260101, Usage(prompt=200_001, completion=0), None),
        ("nobody", 20260101, Usage(prompt=1, completion=1), None),
        (None, 20260101, Usage(prompt=1, completion=1), None),
    ],
)
def test_what_calls_cost(key: str | None, day: int, usage: Usage, cost: float | None) -> None:
    moment = datetime.strptime(str(day), "%Y%m%d").replace(tzinfo=UTC)
    price = read_prices(DATA / "prices.toml").at(key, moment)
    assert (price.cost(usage) if price else None) == (None if cost is None else pytest.approx(cost))


def test_a_free_model_costs_nothing_and_that_is_known(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(PRICES.replace("1.0", "0").replace("2.0", "0").replace("0.5", "0"))
    price = read_prices(tmp_path / "p.toml").at("m", datetime(2026, 1, 1, tzinfo=UTC))
    assert price is not None
    assert price.cost(Usage(prompt=5, completion=5)) == 0.0


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('provider = "p"', 'provider = "q"', "there is no provider q"),
        ('source = "a test"', "", "source is missing"),
        ("context = 8192", 'context = "8192"', "context is '8192'"),
        ("context = 8192", "context = 0", "context is 0"),
        ("context = 8192", 'cutoff = "2024-01-01"', "cutoff is '2024-01-01'"),
        ("context = 8192", "cutoff = 2024-01-01T00:00:00Z", "cutoff is"),
        ("context = 8192", "cut_off = 2024-01-01", "model.m-1 has cut_off"),
        ("fixed_temperature = true", "fixed_temperature = 1", "fixed_temperature is 1"),
        ("[model.fixed]", "[modell.fixed]", "has modell"),
        ("[model.fixed]", "[model", "is not TOML"),
    ],
)
def test_what_is_wrong_with_models(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(BadInput, match=f"t.toml.*{said}"):
        _read(tmp_path, MODELS, old, new, read_models)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("input = 1.0", "input = -1", "price 1: input is -1"),
        ("input = 1.0", "", "input is missing"),
        ("output = 2.0", "output = true", "output is True"),
        ("valid_from = 2020-01-01", "valid_from = 2020", "valid_from is 2020"),
        ("checked = 2026-01-01", "", "checked is missing"),
        ("cached = 0.5", "caches = 0.5", "price 1 has caches"),
        ("[[price]]", "[price]", "price is .*it should be a list"),
    ],
)
def test_what_is_wrong_with_prices(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(BadInput, match=f"t.toml.*{said}"):
        _read(tmp_path, PRICES, old, new, read_prices)


def test_two_prices_from_one_day(tmp_path: Path) -> None:
    twice = PRICES + PRICES.partition("[[price]]")[1] + PRICES.partition("[[price]]")[2]
    with pytest.raises(BadInput, match="2 prices of m"):
        _read(tmp_path, twice, "", "", read_prices)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(NotFound) as caught:
        read_models(tmp_path / "models.toml")
    assert caught.value.hint


def _read(folder: Path, text: str, old: str, new: str, read: Callable[[Path], object]) -> None:
    assert old in text
    (folder / "t.toml").write_text(text.replace(old, new, 1) if old else text)
    read(folder / "t.toml")


OWN = """
[provider.p]
base_url = "https://proxy.example/v1"
[model.m-1]
provider = "p"
price = "m"
source = "my own"
[model.mine]
provider = "p"
source = "my own"
[[price]]
key = "m"
valid_from = 2025-01-01
input = 7.0
output = 8.0
source = "my own"
"""


def test_a_file_of_ones_own_goes_before_the_bundled_one_table_by_table(tmp_path: Path) -> None:
    for name, text in (("models", MODELS), ("prices", PRICES), ("own", OWN)):
        (tmp_path / f"{name}.toml").write_text(text)
    models = read_models(tmp_path / "models.toml", tmp_path / "own.toml")
    assert set(models.cards) == {"m-1", "fixed", "mine"}
    assert (models.card("m-1").model_id, models.card("m-1").context) == ("m-1", None)  # nothing of the bundled card
    assert models.card("fixed").fixed_temperature
    assert {card.provider.base_url for card in models.cards.values()} == {"https://proxy.example/v1"}
    prices = read_prices(tmp_path / "prices.toml", tmp_path / "own.toml")
    now = prices.at("m", datetime(2026, 1, 1, tzinfo=UTC))
    assert now is not None
    assert (now.input, now.source) == (7.0, "my own")
    assert prices.at("m", datetime(2024, 1, 1, tzinfo=UTC)) is None


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('[model.mine]\nprovider = "p"', "[model.mine]\ncontext = true\nprovider = 'p'", "model.mine.context is True"),
        ('[model.mine]\nprovider = "p"', '[model.mine]\nprovider = "r"', "model.mine: there is no provider r"),
        ("https://proxy.example", "proxy.example", "provider.p has base_url 'proxy.example/v1'"),
        ("[[price]]", "[[prices]]", "own.toml has prices"),
    ],
)
def test_what_is_wrong_with_a_file_of_ones_own(tmp_path: Path, old: str, new: str, said: str) -> None:
    (tmp_path / "models.toml").write_text(MODELS)
    (tmp_path / "own.toml").write_text(OWN.replace(old, new))
    with pytest.raises(BadInput, match=said) as caught:
        read_models(tmp_path / "models.toml", tmp_path / "own.toml")
    assert str(tmp_path / "own.toml") in str(caught.value)


@pytest.mark.parametrize(
    "block", re.findall(r"```toml\n(.*?)```", (DATA.parent / "docs" / "models.md").read_text("utf-8"), re.S)
)
def test_what_the_docs_show_is_a_file_of_ones_own(block: str, tmp_path: Path) -> None:
    own = tmp_path / "mine.toml"
    own.write_text(block)
    models, prices = read_models(DATA / "models.toml", own), read_prices(DATA / "prices.toml", own)
    bundled = read_models(DATA / "models.toml")
    mine = {card.price_key for name, card in models.cards.items() if card != bundled.cards.get(name)}
    assert mine <= {None, *prices.keys()}
    assert mine
