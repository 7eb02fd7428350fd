"""Methods by name: ours, and a stranger's that is installed with an entry point."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tasks.adapters.llm.base import UNSAID, Options
from tasks.adapters.llm.catalogue.models import ModelCard, Provider
from tasks.domain.errors import BadInput, NotFound
from tasks.generate.registry import METHODS, OURS, method_named, methods
from tasks.methods.method import Method
from tasks.rehearsal.contract import BUDGET, HELPFUL, check
from tasks.rehearsal.scripted_model import Scripted
from tasks.rehearsal.toys import TOYS

ROOT = Path(__file__).resolve().parents[2]
CARD = ModelCard(
    name="warm",
    model_id="warm",
    provider=Provider(name="p", base_url="http://127.0.0.1:9"),
    options=Options(temperature=1.0),
    source="a test",
)
EXAMPLE = ROOT / "docs" / "method_template.py"


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, *points: str) -> None:
    """A distribution as a stranger would install it: a module and its metadata on the path."""
    (folder / "strangers_method.py").write_text(EXAMPLE.read_text(encoding="utf-8"), encoding="utf-8")
    info = folder / "strangers_method-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: strangers-method\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{METHODS.group}]\n" + "\n".join(points) + "\n")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "strangers_method", raising=False)


def test_ours_are_there_and_described() -> None:
    assert set(methods()) >= {"zero_shot", "zero_shot_plus", "pass_at_5", "libro", "auto_code_rover", "agent"}
    assert all(method.summary for method in OURS)


@pytest.mark.parametrize("method", OURS, ids=lambda method: method.name)
def test_what_a_method_says_of_temperature_anyway_is_what_it_asks_with(method: Method, tmp_path: Path) -> None:
    """An experiment of that temperature would send the same calls under a second name, whatever the model's card."""
    model = Scripted(lambda _: HELPFUL)
    with TOYS[0].bench(tmp_path) as bench:
        list(method.run(TOYS[0].assignment, bench, model, BUDGET))
    asked = {question.options.temperature or 0.0 for question in model.asked}
    said = {one for one in method.anyway if one.startswith("temperature=")}
    assert said == {f"temperature={max(asked):g}"}, (
        "libro's judge is asked for the likeliest reply, its samples are not"
    )
    for question in model.asked if len(asked) == 1 else ():
        same = Options(temperature=max(asked))
        assert CARD.request(question, same) == CARD.request(question, UNSAID)


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(NotFound) as raised:
        method_named("zero-shot")
    assert "zero_shot_plus" in raised.value.hint


def test_the_template_is_a_method_that_keeps_the_contract(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, "theirs = strangers_method:two_steps")
    method = method_named("theirs")
    assert method.summary
    assert check(method, TOYS[:1]) == ()


@pytest.mark.parametrize(
    ("point", "said"),
    [
        ("agent = strangers_method:two_steps", "two methods are called agent"),
        ("theirs = strangers_method:nothing", "cannot be imported"),
        ("theirs = strangers_method:STEPS", "is no method"),
    ],
)
def test_plug_ins_that_are_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str, said: str) -> None:
    install(tmp_path, monkeypatch, point)
    with pytest.raises(BadInput, match=said):
        methods()
