"""`swt models` and its `--ask`, at a scripted provider."""

from __future__ import annotations

from dataclasses import replace

import pytest

from flows.interface.commands.models import ASKING, show_models
from flows.interface.settings import Settings
from tasks.adapters.store.tables.store import Store
from tasks.domain.errors import NotFound
from tasks.domain.llm import CallStatus, LlmCall
from tests.fakes.scripted_provider.script import Fault, Step
from tests.fakes.scripted_provider.server import ScriptedProvider, text_step

KEY = "sk-a-key-that-nobody-may-see"


def test_every_card_with_what_is_missing(settings: Settings) -> None:
    told = show_models(settings, (), {"OPENAI_API_KEY": KEY}, ask=False)
    rows = {line.split()[0]: line.split() for line in told.text.splitlines()[2:]}
    assert told.exit_code == 0
    assert rows["gpt-4o-2024-08-06"][-1] == "-"
    assert rows["scripted"][-1] == "-"
    assert {row[-1] for row in rows.values() if row[1] == "anthropic"} == {"ANTHROPIC_API_KEY"}
    assert KEY not in told.text


def test_one_that_is_asked_answers_each_time_anew(settings: Settings) -> None:
    provider = ScriptedProvider(lambda _: text_step("ready"))
    with provider.serve() as url:
        told = [show_models(settings, ["scripted"], {"SWT_SCRIPTED_BASE_URL": url}, ask=True)]
        assert (told[0].exit_code, told[0].text.splitlines()[2].split()[:2]) == (0, ["scripted", "ready"])
    (row,) = Store(settings.store).read(LlmCall, method=ASKING)
    assert (row.status, len(provider.books)) == (CallStatus.ANSWERED, 1)


def test_what_does_not_answer_is_told_for_each(settings: Settings) -> None:
    with ScriptedProvider(lambda _: Step(fault=Fault.AUTH), key=KEY).serve() as url:
        names = ["scripted", "gpt-4o-2024-08-06"]
        told = show_models(replace(settings), names, {"SWT_SCRIPTED_BASE_URL": url}, ask=True)
    asked, keyless = told.text.splitlines()[2:]
    assert told.exit_code == 1
    assert "provider-account" in asked
    assert "OPENAI_API_KEY" in keyless
    assert KEY not in told.text


def test_a_name_that_nobody_knows(settings: Settings) -> None:
    with pytest.raises(NotFound, match="gpt-4o-2024") as caught:
        show_models(settings, ["gpt-4o-2024"], {}, ask=False)
    assert "gpt-4o-2024-08-06" in str(caught.value.hint)
