"""Batch APIs of providers.

OpenAI: a file of lines, a batch over it, a file of results and a file of errors
(https://platform.openai.com/docs/guides/batch). Anthropic: one request with all calls, one response with a line per
call (https://docs.anthropic.com/en/docs/build-with-claude/batch-processing).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tasks.adapters.llm.base import Reply
from tasks.adapters.llm.dialects.by_name import PATHS
from tasks.adapters.llm.errors import ModelError, ProviderFailed
from tasks.adapters.llm.transport.openai_http import OpenAIWire

Outcome = Reply | ModelError
"""Result of one item. A `ProviderFailed` may be retried."""
NAME = "swt"
"""Metadata key that identifies an OpenAI batch, so that a later process can find it."""
OVER = ("completed", "expired", "cancelled", "failed")
LISTED = 100
"""Number of newest batches to search for one that was submitted before a kill."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One call of a batch."""

    custom_id: str
    """At most 64 letters, digits and hyphens. It starts with the name of its batch."""
    body: Mapping[str, Any]


class BatchApi(Protocol):
    def hand_in(self, name: str, items: Sequence[Item]) -> str:
        """Submit a batch; return the provider's id. Raises `ModelError`."""
        ...

    def look(self, batch_id: str) -> Mapping[str, Outcome] | None:
        """Return the outcome of each item by its id; None while the batch is pending. A missing item has expired."""
        ...

    def found(self, name: str) -> str:
        """Return the id of a batch by name, if it was submitted before a kill; empty if it was not."""
        ...


def counter_of(wire: OpenAIWire, dialect: str) -> BatchApi:
    return MessageBatches(wire) if dialect == "messages" else FileBatches(wire, dialect)


@dataclass(frozen=True, slots=True)
class FileBatches:
    """OpenAI's batch API."""

    wire: OpenAIWire
    dialect: str

    def hand_in(self, name: str, items: Sequence[Item]) -> str:
        url = f"/v1{PATHS[self.dialect]}"
        lines = [{"custom_id": one.custom_id, "method": "POST", "url": url, "body": one.body} for one in items]
        data = "".join(json.dumps(line) + "\n" for line in lines).encode()
        file = self.wire.talk("post", "/files", self.dialect, upload=(f"{name}.jsonl", data))
        asked = {"input_file_id": json.loads(file)["id"], "endpoint": url, "completion_window": "24h"}
        made = self.wire.talk("post", "/batches", self.dialect, body=asked | {"metadata": {NAME: name}})
        return str(json.loads(made)["id"])

    def look(self, batch_id: str) -> Mapping[str, Outcome] | None:
        batch = json.loads(self.wire.talk("get", f"/batches/{batch_id}", self.dialect))
        if batch["status"] not in OVER:
            return None
        found: dict[str, Outcome] = {}
        for name in ("output_file_id", "error_file_id"):
            if batch.get(name):
                text = self.wire.talk("get", f"/files/{batch[name]}/content", self.dialect)
                found |= {line["custom_id"]: self._outcome(line) for line in _lines(text)}
        return found

    def found(self, name: str) -> str:
        listed = json.loads(self.wire.talk("get", f"/batches?limit={LISTED}", self.dialect))["data"]
        return next((str(one["id"]) for one in listed if (one.get("metadata") or {}).get(NAME) == name), "")

    def _outcome(self, line: Mapping[str, Any]) -> Outcome:
        answer = line.get("response") or {}
        if answer.get("status_code") == 200:
            return self.wire.read(json.dumps(answer["body"]), self.dialect)
        said = (answer.get("body") or {}).get("error") or line.get("error") or {}
        return self.wire.complaint(answer.get("status_code") or 500, said)


@dataclass(frozen=True, slots=True)
class MessageBatches:
    """Anthropic's batch API. Batches have no name; the ids of the items identify a batch."""

    wire: OpenAIWire

    def hand_in(self, name: str, items: Sequence[Item]) -> str:  # noqa: ARG002 - the ids of its items tell it
        asked = [{"custom_id": one.custom_id, "params": one.body} for one in items]
        return str(json.loads(self._talk("post", "", {"requests": asked}))["id"])

    def look(self, batch_id: str) -> Mapping[str, Outcome] | None:
        batch = json.loads(self._talk("get", f"/{batch_id}"))
        if batch["processing_status"] != "ended":
            return None
        return {line["custom_id"]: self._outcome(line["result"]) for line in self._results(batch_id)}

    def found(self, name: str) -> str:
        """Return the id of a batch by name. A pending batch shows no ids, so raises `ProviderFailed` while one is
        pending."""
        for batch in json.loads(self._talk("get", f"?limit={LISTED}"))["data"]:
            if batch["processing_status"] != "ended":
                raise ProviderFailed(f"{batch['id']} is under way, and may be the one that is looked for", kind="batch")
            if any(line["custom_id"].startswith(name) for line in self._results(batch["id"])):
                return str(batch["id"])
        return ""

    def _talk(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> str:
        return self.wire.talk(method, f"/messages/batches{path}", "messages", body=body)

    def _results(self, batch_id: str) -> Iterator[Mapping[str, Any]]:
        return _lines(self._talk("get", f"/{batch_id}/results"))

    def _outcome(self, result: Mapping[str, Any]) -> Outcome:
        if result["type"] == "succeeded":
            return self.wire.read(json.dumps(result["message"]), "messages")
        if result["type"] != "errored":
            return ProviderFailed(f"the batch was over before this was answered: {result['type']}", kind="batch")
        said = result["error"].get("error") or result["error"]
        return self.wire.complaint(STATUSES.get(str(said.get("type")), 500), said)


STATUSES: Mapping[str, int] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "overloaded_error": 529,
}
"""HTTP status of Anthropic's errors, which carry no number in a batch (https://docs.anthropic.com/en/api/errors)."""


def _lines(text: str) -> Iterator[Mapping[str, Any]]:
    # Not `splitlines`: JSON may hold the line separators of Unicode as they are.
    return (json.loads(line) for line in text.split("\n") if line)
