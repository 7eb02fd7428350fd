"""The gateway, held against the SDKs that agents use."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import anthropic
import httpx
import httpx2
import openai
import pytest
from llm_bench import KEY, MODEL, Bench, Benches, work

from tasks.adapters.llm.base import Finish, Options, Reply
from tasks.adapters.llm.dialects.spoken import ClientRequest
from tasks.adapters.llm.gateway.core import Gateway, Issued
from tasks.adapters.llm.gateway.grant import ANY, Grant
from tasks.adapters.llm.gateway.recorder import as_trajectory, steps_in
from tasks.adapters.llm.gateway.server import CONNECTIONS, listening
from tasks.adapters.llm.limits.budget import Budget, Meter
from tasks.domain.errors import NotFound
from tasks.domain.llm import CallStatus
from tasks.rehearsal.scripted_model import calling
from tasks.rehearsal.scripted_provider.script import Fault, Script, Step
from tasks.rehearsal.scripted_provider.server import text_step

URL = "http://gateway"
BASH = {"name": "bash", "description": "a shell"}
CHAT_TOOL = {"type": "function", "function": BASH | {"parameters": {"type": "object"}}}
RESPONSES_TOOL = {"type": "function", "strict": False} | BASH | {"parameters": {"type": "object"}}
MESSAGES_TOOL = BASH | {"input_schema": {"type": "object"}}


def shell(call: ClientRequest) -> Step:
    """Calls the tool once, then says what it got."""
    last = call.messages[-1]
    if last.role == "tool":
        return text_step(f"got {last.text}")
    if call.tools:
        return Step(reply=calling("bash", call_id="c1", text="let me look", command='ls "a b"'))
    return text_step(f"hello {last.text}", prompt=100, completion=10)


@dataclass
class Open:
    """A gateway that listens, and one run on it."""

    bench: Bench
    gateway: Gateway
    socket: Path
    issued: Issued
    stack: ExitStack

    def http(self) -> httpx.Client:
        transport = httpx.HTTPTransport(uds=str(self.socket))
        return self.stack.enter_context(httpx.Client(transport=transport, base_url=URL, timeout=60))

    def openai(self, token: str = "") -> openai.OpenAI:
        return openai.OpenAI(base_url=f"{URL}/v1", api_key=token or self.issued.token, http_client=self.http())

    def anthropic(self) -> anthropic.Anthropic:
        transport = httpx2.HTTPTransport(uds=str(self.socket))
        client = anthropic.Anthropic(
            base_url=URL, api_key=self.issued.token, http_client=anthropic.DefaultHttpxClient(transport=transport)
        )
        return self.stack.enter_context(client)

    def knock(self, opening: bytes) -> socket.socket:
        """A connection on which as much was said as there was room for within a moment."""
        made = self.connect()
        made.settimeout(0.05)
        with suppress(TimeoutError, OSError):
            made.sendall(opening)
        return made

    def connect(self) -> socket.socket:
        """A connection on which nothing was said."""
        made = self.stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        made.settimeout(60)
        made.connect(str(self.socket))
        return made

    def chat(self, text: str, model: str = MODEL) -> str:
        asked = self.openai().chat.completions.create(model=model, messages=[{"role": "user", "content": text}])
        return asked.choices[0].message.content or ""


Opened = Callable[..., Open]


@pytest.fixture
def opened(bench: Benches, tmp_path: Path) -> Iterator[Opened]:
    numbers = count()
    with ExitStack() as stack:

        def make(script: Script | list[Step], **grant: object) -> Open:
            made, number = bench(script), next(numbers)
            gateway = Gateway(made.board(), tmp_path / f"under-way-{number}")
            at = stack.enter_context(listening(gateway, tmp_path / f"s{number}"))
            given = Grant(**{"work": work("agent"), "model": MODEL} | grant)  # type: ignore[arg-type]
            return Open(made, gateway, at, gateway.issue(given), stack)

        yield make


@pytest.mark.parametrize("stream", [False, True])
def test_the_chat_dialect(opened: Opened, stream: bool) -> None:
    client = opened(shell).openai()
    asked: list[dict[str, object]] = [{"role": "user", "content": "look"}]
    call = {"model": MODEL, "tools": [CHAT_TOOL]}
    if stream:
        with client.chat.completions.stream(messages=asked, stream_options={"include_usage": True}, **call) as events:
            done = events.until_done().get_final_completion()
    else:
        done = client.chat.completions.create(messages=asked, **call)
    message = done.choices[0].message
    assert (message.content, done.choices[0].finish_reason) == ("let me look", "tool_calls")
    assert done.usage.total_tokens > 0
    [tool] = message.tool_calls
    assert json.loads(tool.function.arguments) == {"command": 'ls "a b"'}
    asked += [message.model_dump(exclude_none=True), {"role": "tool", "tool_call_id": tool.id, "content": "a.py"}]
    if stream:
        parts = client.chat.completions.create(model=MODEL, messages=asked, stream=True)
        assert "".join(part.choices[0].delta.content or "" for part in parts) == "got a.py"
    else:
        assert client.chat.completions.create(model=MODEL, messages=asked).choices[0].message.content == "got a.py"


@pytest.mark.parametrize("stream", [False, True])
def test_the_responses_dialect(opened: Opened, stream: bool) -> None:
    client = opened(shell).openai()
    asked: list[dict[str, object]] = [{"role": "user", "content": [{"type": "input_text", "text": "look"}]}]
    call = {"model": MODEL, "instructions": "be kind", "tools": [RESPONSES_TOOL, {"type": "web_search"}]}
    if stream:
        with client.responses.stream(input=asked, **call) as events:
            done = events.until_done().get_final_response()
    else:
        done = client.responses.create(input=asked, **call)
    assert (done.output_text, done.status, done.usage.input_tokens > 0) == ("let me look", "completed", True)
    tool = done.output[1]
    assert (tool.type, json.loads(tool.arguments)) == ("function_call", {"command": 'ls "a b"'})
    again = [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in done.output]
    for item in again:
        for part in item.get("content", []):
            part.pop("parsed", None)
    result = {"type": "function_call_output", "call_id": tool.call_id, "output": "a.py"}
    assert client.responses.create(model=MODEL, input=[*asked, *again, result]).output_text == "got a.py"


def test_free_form_tools_of_the_responses_dialect(opened: Opened) -> None:
    made = opened([Step(reply=calling("apply_patch", call_id="c1", input="*** Begin")), text_step("done")])
    tools = [{"type": "custom", "name": "apply_patch", "description": "edits"}]
    done = made.openai().responses.create(model=MODEL, input="edit", tools=tools)
    [item] = done.output
    assert (item.type, item.input) == ("custom_tool_call", "*** Begin")
    assert made.bench.provider.books[0].spoken.tools[0].parameters["required"] == ["input"]
    result = {"type": "custom_tool_call_output", "call_id": "c1", "output": "ok"}
    followed = ["edit", item.model_dump(exclude_none=True), result]
    asked = [{"role": "user", "content": followed[0]}, *followed[1:]]
    assert made.openai().responses.create(model=MODEL, input=asked, tools=tools).output_text == "done"
    assert made.bench.provider.books[1].spoken.messages[1].tool_calls[0].parsed() == {"input": "*** Begin"}


@pytest.mark.parametrize("stream", [False, True])
def test_the_messages_dialect(opened: Opened, stream: bool) -> None:
    client = opened(shell, aliases={ANY: MODEL}).anthropic()
    asked: list[dict[str, object]] = [{"role": "user", "content": "look"}]
    call = {"model": "claude-of-their-own", "max_tokens": 99, "tools": [MESSAGES_TOOL]}
    if stream:
        with client.messages.stream(messages=asked, system="be kind", **call) as events:
            done = events.get_final_message()
    else:
        done = client.messages.create(messages=asked, system=[{"type": "text", "text": "be kind"}], **call)
    text, tool = done.content
    assert (text.text, done.stop_reason, done.usage.input_tokens > 0) == ("let me look", "tool_use", True)
    assert (tool.name, tool.input) == ("bash", {"command": 'ls "a b"'})
    back = {"type": "tool_result", "tool_use_id": tool.id, "content": [{"type": "text", "text": "a.py"}]}
    asked += [{"role": "assistant", "content": done.content}, {"role": "user", "content": [back]}]
    assert client.messages.create(messages=asked, **call).content[0].text == "got a.py"
    assert client.messages.count_tokens(model="any", messages=asked).input_tokens > 0


def test_a_whole_conversation_is_one_trajectory(opened: Opened) -> None:
    made = opened(shell)
    client = made.openai()
    asked: list[dict[str, object]] = [{"role": "system", "content": "be kind"}, {"role": "user", "content": "look"}]
    done = client.chat.completions.create(model=MODEL, messages=asked, tools=[CHAT_TOOL]).choices[0].message
    asked += [done.model_dump(exclude_none=True), {"role": "tool", "tool_call_id": "c1", "content": "a.py"}]
    client.chat.completions.create(model=MODEL, messages=asked, tools=[CHAT_TOOL])
    row = made.gateway.finish(made.issued)
    steps = steps_in(made.bench.store.open_file(row.trajectory).read())
    assert [(step.thread, step.role, step.tool, step.text or step.arguments) for step in steps] == [
        (0, "system", "", "be kind"),
        (0, "user", "", "look"),
        (0, "assistant", "", "let me look"),
        (0, "assistant", "bash", '{"command": "ls \\"a b\\""}'),
        (0, "tool", "bash", "a.py"),
        (0, "assistant", "", "got a.py"),
    ]
    roles = [step.role for step in as_trajectory(steps)]
    assert roles == ["prompt", "prompt", "thought", "command", "output", "thought"]
    assert as_trajectory(steps)[3].text == 'bash\nls "a b"'
    later = replace(steps[-1], role="user", text="exit code 0")
    assert [step.role for step in as_trajectory([*steps, later])][-1] == "output"
    assert (row.calls, row.steps, row.threads, row.trouble, row.stopped) == (2, 6, 1, "", "")
    assert {(call.dialect, call.run_token) for call in made.bench.rows()} == {("chat", row.run_token)}
    assert made.bench.store.check() == ()


def test_a_budget_ends_a_run_in_words_and_once(opened: Opened) -> None:
    made = opened(shell, budget=Budget(calls=1), meters=(Meter("sweep", Budget(calls=9)),), aliases={ANY: MODEL})
    assert made.chat("you") == "hello you"
    with pytest.raises(openai.PermissionDeniedError, match="budget of this run is used up") as caught:
        made.chat("me")
    assert (caught.value.code, len(made.bench.provider.books)) == ("insufficient_quota", 1)
    with pytest.raises(anthropic.PermissionDeniedError, match="budget of this run"):
        made.anthropic().messages.create(model="x", max_tokens=9, messages=[{"role": "user", "content": "me"}])
    row = made.gateway.finish(made.issued)
    assert (row.stopped, row.trouble, row.calls) == ("budget: calls", "", 1)


def test_a_failing_provider_is_trouble_of_the_run_and_not_the_agents(opened: Opened) -> None:
    made = opened([Step(fault=Fault.SERVER)] * 4 + [text_step("back")])
    with pytest.raises(openai.InternalServerError, match="cannot be reached now"):
        made.chat("you")
    assert len(made.bench.provider.books) == 4  # tried by the gateway, and not once more by the agent's SDK
    [run] = made.gateway._runs.values()
    assert run.trouble.startswith("provider: HTTP 500")
    assert made.chat("you") == "back"
    assert made.gateway.finish(made.issued).trouble == ""


@pytest.mark.parametrize(
    ("fault", "kind", "trouble"),
    [
        (Fault.CONTEXT, openai.BadRequestError, False),
        (Fault.FILTER, openai.BadRequestError, False),
        (Fault.AUTH, openai.PermissionDeniedError, True),
    ],
)
def test_refusals_are_passed_on(opened: Opened, fault: Fault, kind: type[Exception], trouble: bool) -> None:
    made = opened([Step(fault=fault)])
    with pytest.raises(kind) as caught:
        made.chat("you")
    assert KEY not in str(caught.value)
    assert bool(made.gateway.finish(made.issued).trouble) is trouble


def test_an_agent_that_repeats_itself_gets_new_replies_and_a_repeated_run_the_same(opened: Opened) -> None:
    made = opened([text_step("one"), text_step("two")])
    assert [made.chat("you"), made.chat("you")] == ["one", "two"]
    again = made.gateway.issue(Grant(work=work("agent"), model=MODEL))
    made.issued = again
    assert [made.chat("you"), made.chat("you")] == ["one", "two"]
    row = made.gateway.finish(again)
    assert (row.calls, row.replayed, len(made.bench.rows())) == (2, 2, 2)
    assert row.cost_usd == pytest.approx(sum(call.cost_usd or 0 for call in made.bench.rows()))


def test_another_candidate_of_the_same_method_gets_replies_of_its_own(opened: Opened) -> None:
    made = opened([text_step("one"), text_step("two")])
    made.chat("you")
    made.issued = made.gateway.issue(Grant(work=work("agent", sample=1), model=MODEL))
    assert made.chat("you") == "two"


def test_tokens(opened: Opened) -> None:
    made = opened(shell, valid_s=60)
    assert len(made.issued.token) > 40
    assert made.issued.token not in repr(made.issued) + repr(made.gateway)
    with pytest.raises(openai.AuthenticationError):
        made.openai("swt-run-guessed").models.list()
    assert [model.id for model in made.openai().models.list()] == [MODEL]
    with pytest.raises(openai.NotFoundError, match="may not use the model gpt-x; ask for m-1"):
        made.chat("you", model="gpt-x")
    assert made.chat("you", model=f"openai/{MODEL}") == "hello you"
    made.bench.clock.sleep(61)
    with pytest.raises(openai.AuthenticationError, match="expired"):
        made.chat("you")
    made.gateway.finish(made.issued)
    with pytest.raises(openai.AuthenticationError, match="not the token of a run"):
        made.chat("you")
    with pytest.raises(NotFound):
        made.gateway.issue(Grant(work=work("agent"), model="nobody"))


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("/v1/chat/completions", {"model": MODEL, "messages": [], "n": 2}, "n is not 1"),
        ("/v1/chat/completions", {"model": MODEL}, "messages is not a list"),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "only text"),
        ("/v1/responses", {"model": MODEL, "input": "x", "previous_response_id": "r"}, "whole conversation"),
        ("/v1/messages", {"model": MODEL, "messages": [{"role": "judge", "content": ""}]}, "the role judge"),
    ],
)
def test_what_cannot_be_passed_on_is_said(opened: Opened, path: str, body: dict[str, object], said: str) -> None:
    made = opened(shell)
    answer = made.http().post(path, json=body, headers={"x-api-key": made.issued.token})
    assert (answer.status_code, answer.headers["x-should-retry"]) == (400, "false")
    assert said in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("token", "length", "status"), [("wrong", 50 << 20, 401), ("", 1 << 40, 401), ("right", 1 << 40, 400)]
)
def test_a_body_is_read_only_from_who_may_send_it(opened: Opened, token: str, length: int, status: int) -> None:
    """The headers are answered while the body is still to come."""
    made = opened(shell)
    given = made.issued.token if token == "right" else token
    head = f"POST /v1/messages HTTP/1.1\r\nHost: x\r\nx-api-key: {given}\r\nContent-Length: {length}\r\n\r\n"
    connection = made.connect()
    connection.sendall(head.encode())
    assert connection.recv(4096).startswith(f"HTTP/1.1 {status} ".encode())


def test_a_body_that_is_nested_without_end_is_no_json(opened: Opened) -> None:
    made = opened(shell)
    answer = made.http().post("/v1/messages", content=b"[" * 1_000_000, headers={"x-api-key": made.issued.token})
    assert (answer.status_code, "not JSON" in answer.text) == (400, True)


def test_five_hundred_hostile_connections_cost_little_and_nobody_else(opened: Opened) -> None:
    """An agent has a token, and does with it what it likes: 64 connections are kept, two of its large bodies read."""
    hostile, honest = opened(shell), opened(shell)
    files, memory = descriptors(), resident()
    opening = hostile_openings(hostile.issued.token)
    connections = [hostile.knock(opening[number % len(opening)]) for number in range(500)]
    kept = descriptors() - files - len(connections)
    assert honest.chat("you") == "hello you"
    assert kept <= CONNECTIONS
    assert resident() - memory < 400 << 20
    for connection in connections:
        connection.close()
    assert hostile.chat("again") == "hello again"


def hostile_openings(token: str) -> list[bytes]:
    """Nothing; half a header; a body for nobody; large ones that do not end, with a token."""
    post = b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nx-api-key: "
    large = post + token.encode() + b"\r\nContent-Length: 16000000\r\n\r\n[" + b"{}," * 5_000_000
    endless = post + token.encode() + b"\r\nTransfer-Encoding: chunked\r\n\r\n" + b"ffffff\r\n" + b" " * 1_000_000
    return [b"", post[:40], post + b"guess\r\nContent-Length: 99999999\r\n\r\n", large, endless]


def descriptors() -> int:
    """That this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_the_key_stays_outside(opened: Opened, tmp_path: Path) -> None:
    made = opened(shell)
    made.chat("you")
    row = made.gateway.finish(made.issued)
    assert made.bench.provider.books[0].headers["authorization"] == f"Bearer {KEY}"
    for secret in (KEY, made.issued.token):
        assert secret not in repr(row) + repr(made.bench.rows())
        assert not [path for path in tmp_path.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]
    assert {call.status for call in made.bench.rows()} == {CallStatus.ANSWERED}


def cut_reply(text: str) -> Step:
    return Step(reply=Reply(text=text, finish_reason=Finish.LENGTH))


def test_a_reply_that_an_agents_own_limit_cuts_is_passed_on(opened: Opened) -> None:
    made = opened(lambda _: cut_reply("half"))
    done = made.openai().chat.completions.create(
        model=MODEL, max_tokens=99, messages=[{"role": "user", "content": "hi"}]
    )
    assert (done.choices[0].message.content, done.choices[0].finish_reason) == ("half", "length")
    assert made.gateway.finish(made.issued).trouble == ""


def test_one_that_the_experiments_limit_cuts_is_trouble_of_the_run(opened: Opened) -> None:
    made = opened(lambda _: cut_reply("half"), options=Options(max_tokens=50))
    with pytest.raises(openai.InternalServerError, match="cut at 50 tokens, the limit of the experiment"):
        made.openai().chat.completions.create(model=MODEL, max_tokens=99, messages=[{"role": "user", "content": "hi"}])
    assert made.gateway.finish(made.issued).trouble.startswith("reply-cut: ")
