"""Serves recorded GitHub answers, so that `swt demo` rebuilds two months without network.

Each line of the recording is one node as GitHub would return it, and the months in which GitHub returns it so:

    {"months": ["2025-08", "2025-11"], "field": "pullRequests", "node": {"number": 3, …}}

`tests/fakes/demo_recording.py` writes the file. Only the three queries of an undisturbed rebuild are answered, each
list as one page.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tasks.adapters.llm.transport.http_server import application, listener, read_json, said, serving
from tasks.domain.errors import BadInput

Node = Mapping[str, Any]
QUERIES = {"Repository": "repository", "PullRequests": "pullRequests", "Issues": "issues"}
"""Query → the field that is recorded for it."""
POINTS = 5000
_OPERATION = re.compile(r"^query (\w+)", re.MULTILINE)
_DATES = {"UPDATED_AT": "updatedAt", "CREATED_AT": "createdAt"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedNode:
    """One line of the recording."""

    months: tuple[str, ...]
    field: str
    node: Node


@dataclass(slots=True)
class RecordedGitHub:
    """GitHub as of one month of the recording."""

    recording: tuple[RecordedNode, ...]
    month: str

    @contextmanager
    def serve(self) -> Iterator[str]:
        """Listens on a free port of the loopback until the block ends. Yields the URL of the GraphQL interface."""

        async def answer(request: Request) -> Response:
            return said(200, self.answer(await read_json(request)))

        tcp = listener(0)
        with serving(application(answer), tcp):
            yield f"http://127.0.0.1:{tcp.getsockname()[1]}/graphql"

    def answer(self, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        """Returns the GraphQL answer to a request body with `query` and `variables`."""
        operation = _OPERATION.search(str(asked.get("query")))
        field = QUERIES.get(operation[1]) if operation else None
        if field is None:
            names = ", ".join(QUERIES)
            return {
                "errors": [{"message": f"the demo's GitHub answers {names} only, not {operation and operation[1]}"}]
            }
        nodes = [one.node for one in self.recording if one.field == field and self.month in one.months]
        repository = dict(nodes[0]) if field == "repository" else self._page(field, nodes, asked["variables"])
        resets = datetime.now(UTC) + timedelta(hours=1)
        limit = {"cost": 1, "limit": POINTS, "remaining": POINTS, "resetAt": resets.strftime("%Y-%m-%dT%H:%M:%SZ")}
        return {"data": {"repository": repository, "rateLimit": limit}}

    def _page(self, field: str, nodes: list[Node], variables: Mapping[str, Any]) -> Node:
        """All nodes in the requested order, at most one page; GitHub orders equal dates by number."""
        date, since = _DATES[variables["field"]], variables.get("since")
        if since:
            nodes = [node for node in nodes if _moment(node[date]) >= _moment(since)]
        nodes = sorted(nodes, key=lambda node: (node[date], node["number"]), reverse=variables["direction"] == "DESC")
        page = {"totalCount": len(nodes), "pageInfo": {"hasNextPage": False, "endCursor": None}, "nodes": nodes}
        return {"nameWithOwner": f"{variables['owner']}/{variables['name']}", field: page}


def read_recording(path: Path) -> tuple[RecordedNode, ...]:
    """Returns the lines of a recording. Raises `BadInput` for a line that is none."""
    try:
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        return tuple(RecordedNode(months=tuple(row["months"]), field=row["field"], node=row["node"]) for row in rows)
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(
            f"{path.name}: {error}", hint="run `python -m tests.fakes.demo_recording` in a checkout"
        ) from None


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
