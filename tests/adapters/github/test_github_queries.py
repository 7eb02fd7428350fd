"""Every query is valid on the schema that GitHub publishes and on our reduced copy of it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLUnionType,
    build_schema,
    parse,
    validate,
)

from tasks.adapters.github import queries

PUBLISHED = Path(__file__).parents[4] / "shared" / "github" / "schema.graphql"
WITH_FIELDS = (GraphQLObjectType, GraphQLInterfaceType, GraphQLInputObjectType)


@cache
def published() -> GraphQLSchema:
    if not PUBLISHED.is_file():
        pytest.skip("GitHub's published schema is not at ../shared/github/schema.graphql")
    return build_schema(PUBLISHED.read_text(encoding="utf-8"), assume_valid=True, assume_valid_sdl=True)


@cache
def reduced() -> GraphQLSchema:
    return build_schema(queries.SCHEMA.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", queries.names())
def test_a_query_is_valid_on_our_schema(name: str) -> None:
    assert validate(reduced(), parse(queries.document(name))) == []


@pytest.mark.parametrize("name", queries.names())
def test_a_query_is_valid_on_the_published_schema(name: str) -> None:
    assert validate(published(), parse(queries.document(name))) == []


def test_our_schema_says_nothing_that_the_published_one_does_not() -> None:
    """Every type, field, argument, enum value and union member of ours is there, with the same type."""
    theirs = published().type_map
    for name, ours in reduced().type_map.items():
        assert name in theirs
        if isinstance(ours, WITH_FIELDS):
            for field, definition in ours.fields.items():
                published_field = theirs[name].fields[field]  # type: ignore[attr-defined]
                assert str(definition.type) == str(published_field.type), f"{name}.{field}"
                for argument, value in getattr(definition, "args", {}).items():
                    assert str(value.type) == str(published_field.args[argument].type), f"{name}.{field}({argument})"
        elif isinstance(ours, GraphQLEnumType):
            assert set(ours.values) <= set(theirs[name].values)  # type: ignore[attr-defined]
        elif isinstance(ours, GraphQLUnionType):
            members = {member.name for member in ours.types}
            assert members <= {member.name for member in theirs[name].types}  # type: ignore[attr-defined]


def test_a_page_of_fifty_costs_few_points() -> None:
    """A point buys a hundred connections; those of one page are counted in the query."""
    text = queries.document("pull_requests")
    per_pull_request = sum(text.count(f"{name}(first") for name in ("labels", "parents", "commits", "files"))
    per_pull_request += text.count("closingIssuesReferences(first")
    assert (1 + 50 * per_pull_request) // 100 <= 4
