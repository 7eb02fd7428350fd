"""Who asks the gateway for a stream hears from it while a long reply is on its way."""

from __future__ import annotations

from dataclasses import replace

import anthropic
import openai
import pytest
from llm_bench import MODEL
from test_gateway import Opened, opened

from tasks.adapters.llm.gateway import patience
from tasks.rehearsal.scripted_provider.script import Fault, Step
from tasks.rehearsal.scripted_provider.server import text_step

__all__ = ["opened"]

SLOW_S = 0.6


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "SILENT_S", 0.1)
    monkeypatch.setattr(patience, "ALIVE_S", 0.1)


ASKED = {
    "/chat/completions": {"model": MODEL, "messages": [{"role": "user", "content": "hi"}]},
    "/messages": {"model": MODEL, "max_tokens": 50, "messages": [{"role": "user", "content": "hi"}]},
    "/responses": {"model": MODEL, "input": "hi"},
}


@pytest.mark.parametrize("path", ASKED)
@pytest.mark.parametrize("stream", [False, True])
def test_who_asked_for_a_stream_hears_signs_of_life(opened: Opened, soon: None, path: str, stream: bool) -> None:
    made = opened(lambda _: replace(text_step("hello"), wait_s=SLOW_S))
    key = {"Authorization": f"Bearer {made.issued.token}"}
    said = made.http().post(f"/v1{path}", json=ASKED[path] | {"stream": stream}, headers=key)
    signs = said.text.count(patience.PING) + said.text.count(patience.COMMENT)
    assert said.status_code == 200
    assert "hello" in said.text
    assert (signs >= 3) is stream
    assert len(made.bench.provider.books) == 1


def test_the_sdks_pass_over_signs_of_life_and_see_what_went_wrong(opened: Opened, soon: None) -> None:
    well, wrong = replace(text_step("hello"), wait_s=SLOW_S), Step(fault=Fault.CONTEXT, wait_s=SLOW_S)
    made = opened([well] * 3 + [wrong] * 3)
    chat, messages = made.openai().chat.completions, made.anthropic().messages
    responses = made.openai().responses

    def chatted() -> str:
        parts = chat.create(model=MODEL, messages=[{"role": "user", "content": "hi"}], stream=True)
        return "".join(part.choices[0].delta.content or "" for part in parts)

    def told() -> str:
        with messages.stream(model=MODEL, max_tokens=50, messages=[{"role": "user", "content": "hi"}]) as stream:
            return stream.get_final_text()

    def kinds() -> list[str]:
        return [event.type for event in responses.create(model=MODEL, input="hi", stream=True)]

    assert (chatted(), told(), kinds()[-1]) == ("hello", "hello", "response.completed")
    with pytest.raises(openai.APIError, match="maximum context length"):
        chatted()
    with pytest.raises(anthropic.APIError, match="maximum context length"):
        told()
    assert kinds() == ["response.failed"]
    assert len(made.bench.provider.books) == 6
