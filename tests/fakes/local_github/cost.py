"""What a query costs: GitHub charges a point per hundred connections that it may have to open, and at least one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphql import DocumentNode, FieldNode, FragmentDefinitionNode, FragmentSpreadNode, IntValueNode, VariableNode
from graphql import InlineFragmentNode as InlineFragment
from graphql import OperationDefinitionNode as Operation
from graphql import SelectionSetNode as Selections


def points(document: DocumentNode, variables: Mapping[str, Any]) -> int:
    """Points for one execution."""
    fragments = {node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)}
    operations = [node for node in document.definitions if isinstance(node, Operation)]
    opened = sum(_opened(operation.selection_set, 1, variables, fragments) for operation in operations)
    return max(1, round(opened / 100))


def _opened(
    selections: Selections | None,
    times: int,
    variables: Mapping[str, Any],
    fragments: Mapping[str, FragmentDefinitionNode],
) -> int:
    """Connections below a selection that is reached so many times."""
    opened = 0
    for node in selections.selections if selections else ():
        if isinstance(node, FragmentSpreadNode):
            opened += _opened(fragments[node.name.value].selection_set, times, variables, fragments)
        elif isinstance(node, InlineFragment):
            opened += _opened(node.selection_set, times, variables, fragments)
        elif isinstance(node, FieldNode):
            first = _first(node, variables)
            opened += times if first is not None else 0
            opened += _opened(node.selection_set, times * (first or 1), variables, fragments)
    return opened


def _first(node: FieldNode, variables: Mapping[str, Any]) -> int | None:
    """How many nodes a connection is asked for; null for a field that is none."""
    for argument in node.arguments or ():
        if argument.name.value == "first":
            value = argument.value
            if isinstance(value, VariableNode):
                return int(variables[value.name.value])
            return int(value.value) if isinstance(value, IntValueNode) else None
    return None
