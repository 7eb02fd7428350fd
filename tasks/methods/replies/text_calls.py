"""Tool calls in plain text, for models without tool calls.

The prompt shows each tool as a signature. The model writes Python calls, one on each line, in a block marked `search`:

    search_method("scaled", class_name="Recipe")
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Sequence

from tasks.adapters.llm.base import ToolCall, ToolSpec
from tasks.domain.syntax import syntax_tree
from tasks.methods.replies.fences import fenced_blocks

MARK = "search"
LONGEST = 1_000
"""Maximum characters of a line that is parsed as a call."""
_CALL = re.compile(r"[-*`\s]*(?P<call>(?P<name>[A-Za-z_]\w*)\(.*\))[`;\s]*")


def signatures(specs: Iterable[ToolSpec]) -> list[str]:
    """Returns each tool with its arguments and its purpose: `search_class(class_name): Outline of a class by its
    name.`"""
    return [f"{spec.name}({', '.join(_arguments(spec))}): {spec.description}" for spec in specs]


def _arguments(spec: ToolSpec) -> list[str]:
    required = spec.parameters["required"]
    return [name if name in required else f"{name}=…" for name in spec.parameters["properties"]]


def calls_in(reply: str, specs: Sequence[ToolSpec]) -> tuple[ToolCall, ...]:
    """Returns the calls of a reply, in order. Without a marked block, a line is a call only if it names a known
    tool."""
    known = {spec.name: spec for spec in specs}
    marked = [block.body for block in fenced_blocks(reply) if block.mark.lower() == MARK]
    lines = "\n".join(marked or [reply]).splitlines()
    found = [_CALL.fullmatch(line) for line in lines if len(line) <= LONGEST]
    taken = [match for match in found if match and (marked or match["name"] in known)]
    return tuple(
        ToolCall(call_id=f"call_{number}", name=match["name"], arguments=_read(match["call"], known.get(match["name"])))
        for number, match in enumerate(taken)
    )


def _read(call: str, spec: ToolSpec | None) -> str:
    """Returns the arguments as JSON. If they cannot be parsed, returns the call itself, which is no JSON either."""
    try:
        (statement,) = syntax_tree(call).body
        values = _values(statement, tuple(spec.parameters["properties"]) if spec else ())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return call
    return json.dumps(values)


def _values(statement: ast.stmt, names: Sequence[str]) -> dict[str, object]:
    """Returns the arguments by name. Raises `ValueError` if there are more arguments than names, or if one is no plain
    value."""
    if not isinstance(statement, ast.Expr) or not isinstance(call := statement.value, ast.Call):
        raise ValueError
    if len(call.args) > len(names):
        raise ValueError
    given = [*zip(names, call.args, strict=False), *((one.arg or "", one.value) for one in call.keywords)]
    return {name: _value(node) for name, node in given}


def _value(node: ast.expr) -> object:
    """Returns a text or a number. A bare name counts as a text without quotes."""
    if isinstance(node, ast.Name | ast.Attribute):
        return ast.unparse(node)
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int):
        return node.value
    raise ValueError
