"""Who asks the gateway for a stream hears from it while a long reply is on its way."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import anthropic
import httpx
import openai
import pytest
from llm_bench import MODEL
from test_gateway import Opened, opened

from tasks.adapters.llm.gateway import patience
from tests.fakes.scripted_provider.script import Fault, Step
from tests.fakes.scripted_provider.server import text_step

pytestmark = pytest.mark.slow  # waits for limits

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


@pytest.mark.slow
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


def test_a_stream_that_is_asked_for_late_hears_signs_of_life(opened: Opened, soon: None) -> None:
    """Who sends a long question slowly, or waits for a place with one, had heard nothing when we knew of the stream."""
    made = opened(lambda _: replace(text_step("hello"), wait_s=SLOW_S))
    body = json.dumps(ASKED["/messages"] | {"stream": True}).encode()

    def slowly() -> Iterator[bytes]:
        yield body[:10]
        time.sleep(3 * patience.SILENT_S)
        yield body[10:]

    key = {"Authorization": f"Bearer {made.issued.token}", "Content-Type": "application/json"}
    said = made.http().post("/v1/messages", content=slowly(), headers=key)
    assert "hello" in said.text
    assert said.text.count(patience.PING) >= 2


@pytest.mark.parametrize("stream", [False, True])
def test_who_hangs_up_and_asks_again_is_given_what_was_paid(opened: Opened, soon: None, stream: bool) -> None:
    """And not one reply more, whether the first had come by then or not. It was counted as another question."""
    made = opened(lambda _: replace(text_step("hello"), wait_s=SLOW_S))
    body = ASKED["/chat/completions"] | {"stream": stream}
    key = {"Authorization": f"Bearer {made.issued.token}"}
    for pause in (0.0, 2 * SLOW_S):
        asked = made.http().stream("POST", "/v1/chat/completions", json=body, headers=key, timeout=SLOW_S / 2)
        with suppress(httpx.ReadTimeout), asked as answer:
            assert next(answer.iter_lines()).startswith(":")
        time.sleep(pause)
        assert "hello" in made.http().post("/v1/chat/completions", json=body, headers=key).text
    assert len(made.bench.provider.books) == 2
    assert "hello" in made.http().post("/v1/chat/completions", json=body, headers=key).text
    assert len(made.bench.provider.books) == 3, "an agent that repeats itself gets a new reply"
