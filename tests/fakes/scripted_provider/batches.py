"""Batches of the scripted provider, in OpenAI's way (files) and in Anthropic's. Items are answered by its script."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from email.parser import BytesParser
from email.policy import HTTP
from secrets import token_hex
from threading import Lock
from types import ModuleType
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tasks.adapters.llm.batches.counter import STATUSES
from tasks.adapters.llm.dialects import messages
from tasks.adapters.llm.dialects.by_name import BY_PATH
from tasks.adapters.llm.dialects.spoken import ClientRequest
from tasks.adapters.llm.transport.http_server import read_json, said

Played = tuple[int, Mapping[str, Any]]
"""Status and body of one item."""
Play = Callable[[ModuleType, ClientRequest], Played]


def _uploaded(kind: str, body: bytes) -> str:
    """The file in a form."""
    form = BytesParser(policy=HTTP).parsebytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body)
    parts = {part.get_param("name", header="content-disposition"): part for part in form.iter_parts()}
    assert parts["purpose"].get_content().strip() == "batch"
    file = parts["file"].get_payload(decode=True)
    assert isinstance(file, bytes)
    return file.decode()


@dataclass(slots=True)
class KeptBatch:
    batch_id: str
    metadata: Mapping[str, str]
    left: int
    """Looks until it is over."""
    lines: tuple[Mapping[str, Any], ...]
    """Results, which are there from the beginning and shown at the end."""
    url: str


@dataclass(slots=True)
class Batches:
    """What was handed in, oldest first."""

    play: Play
    looks: int = 1
    """After how many looks a batch is over."""
    expiring: int = 0
    """So many of the next items are not answered in time."""
    made: list[KeptBatch] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock, repr=False)

    async def answer(self, request: Request, path: str) -> Response:
        """`path` is below the base URL."""
        if request.method == "POST" and path == "/files":
            file_id = f"file-{token_hex(6)}"
            self.files[file_id] = _uploaded(request.headers["content-type"], await request.body())
            return said(200, {"id": file_id, "object": "file", "purpose": "batch"})
        body = await read_json(request) if request.method == "POST" else {}
        with self._lock:
            return self._answered(path, body, request)

    def _answered(self, path: str, body: Mapping[str, Any], request: Request) -> Response:
        ours = path.startswith("/messages")
        rest = path.removeprefix("/messages").removeprefix("/batches").strip("/")
        if request.method == "POST":
            return said(200, self._shown(self._made(body, ours), ours))
        if path.startswith("/files"):
            return Response(self._file(path.split("/")[2]))
        if not rest:
            listed = [one for one in reversed(self.made) if bool(one.url) is not ours]
            for one in listed:
                one.left -= 1
            return said(200, {"data": [self._shown(one, ours) for one in listed], "has_more": False})
        name, _, what = rest.partition("/")
        found = next((one for one in self.made if one.batch_id == name), None)
        if found is None:
            return said(404, messages.error_body("not_found_error", f"no batch {name}"))
        if what == "results":
            return Response("".join(json.dumps(line) + "\n" for line in found.lines))
        found.left -= 1
        return said(200, self._shown(found, ours))

    def _made(self, body: Mapping[str, Any], ours: bool) -> KeptBatch:
        if ours:
            items = [(one["custom_id"], one["params"]) for one in body["requests"]]
            lines = [{"custom_id": name, "result": self._result(params)} for name, params in items]
        else:
            asked = [json.loads(line) for line in self.files[body["input_file_id"]].split("\n") if line]
            assert {line["url"] for line in asked} == {body["endpoint"]}
            lines = [{"id": token_hex(4), "custom_id": one["custom_id"]} | self._line(one) for one in asked]
        name = f"{'msgbatch' if ours else 'batch'}_{token_hex(6)}"
        url = "" if ours else body["endpoint"]
        self.made.append(KeptBatch(name, body.get("metadata") or {}, self.looks, tuple(lines), url))
        return self.made[-1]

    def _result(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        if self._expires():
            return {"type": "expired"}
        status, body = self._played(messages, params)
        if status == 200:
            return {"type": "succeeded", "message": body}
        kind = next((kind for kind, one in STATUSES.items() if one == status), "api_error")
        return {"type": "errored", "error": messages.error_body(kind, body["error"]["message"])}

    def _line(self, line: Mapping[str, Any]) -> dict[str, Any]:
        if self._expires():
            return {"response": None, "error": {"code": "batch_expired", "message": "not executed in time"}}
        status, body = self._played(BY_PATH[line["url"].removeprefix("/v1")], line["body"])
        return {"response": {"status_code": status, "request_id": token_hex(4), "body": body}, "error": None}

    def _played(self, dialect: ModuleType, body: Mapping[str, Any]) -> Played:
        call: ClientRequest = replace(dialect.spoken(body), body=body)
        return self.play(dialect, call)

    def _expires(self) -> bool:
        self.expiring -= 1
        return self.expiring >= 0

    def _shown(self, batch: KeptBatch, ours: bool) -> Mapping[str, Any]:
        over = batch.left <= 0
        if ours:
            return {"id": batch.batch_id, "processing_status": "ended" if over else "in_progress"}
        done = [one for one in batch.lines if (one["response"] or {}).get("status_code") == 200]
        files = {"output_file_id": f"out-{batch.batch_id}" if over and done else None}
        files["error_file_id"] = f"err-{batch.batch_id}" if over and len(done) < len(batch.lines) else None
        status = "completed" if over else "in_progress"
        return {"id": batch.batch_id, "status": status, "metadata": batch.metadata, **files}

    def _file(self, name: str) -> str:
        kind, _, batch_id = name.partition("-")
        (batch,) = (one for one in self.made if one.batch_id == batch_id)
        good = [(one["response"] or {}).get("status_code") == 200 for one in batch.lines]
        chosen = [one for one, fine in zip(batch.lines, good, strict=True) if fine is (kind == "out")]
        return "".join(json.dumps(line) + "\n" for line in chosen)
