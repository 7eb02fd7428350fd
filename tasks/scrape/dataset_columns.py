"""One reader per column of a SWE-bench file: the value as it came → the value in `TaskInstance`.

Each raises `WrongValue` with the end of a sentence that starts with the column's name.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from tasks.adapters.input_files.raw import UnsafeValue, WrongValue, describe, is_missing, moment_of, text_of
from tasks.domain.errors import BadInput
from tasks.domain.names import InstanceId, RepoName, Sha, parse_instance_id, path_component, repo_name

_SHA = re.compile(r"[0-9a-fA-F]{40}")


def repo(value: object) -> RepoName:
    """`owner/name`."""
    try:
        return repo_name(text_of(value))
    except BadInput as error:
        raise WrongValue(str(error)) from error


def instance_id(value: object) -> InstanceId:
    """`owner__name-number`."""
    text = text_of(value)
    try:
        parse_instance_id(text)
    except ValueError as error:
        raise WrongValue(f"{text!r} is not of the form owner__name-number") from error
    return InstanceId(text)


def sha(value: object) -> Sha:
    """40 hexadecimal digits, in small letters."""
    text = text_of(value)
    if not _SHA.fullmatch(text):
        raise WrongValue(f"{text!r} is not 40 hexadecimal digits")
    return Sha(text.lower())


def optional_sha(value: object) -> Sha | None:
    """The same, or None where there is none."""
    return None if is_missing(value) else sha(value)


def patch(value: object) -> str:
    """A diff that is not blank, character for character."""
    text = text_of(value)
    if not text.strip():
        raise WrongValue("is empty")
    return text


def statement(value: object) -> str:
    """The issue's text; blank ones are kept but worth a word."""
    text = text_of(value)
    if not text.strip():
        raise WrongValue("is empty")
    return text


def version(value: object) -> str | None:
    """Text that can be part of a file name; a number is written as Python writes it."""
    if is_missing(value):
        return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    text = text_of(value)
    try:
        return path_component(text)
    except BadInput as error:
        raise UnsafeValue(f"{text!r} cannot be part of a file name") from error


def cases(value: object) -> tuple[str, ...] | None:
    """A list of names, or the same as the text of a JSON or Python list. None where there is no list, which is not the
    empty list."""
    if is_missing(value):
        return None
    listed = _from_text(value) if isinstance(value, str | bytes) else value
    if not isinstance(listed, list):
        raise WrongValue(f"is {describe(listed)} and not a list")
    return tuple(text_of(name) for name in listed)


REQUIRED: Mapping[str, Callable[[object], Any]] = MappingProxyType(
    {"instance_id": instance_id, "repo": repo, "base_commit": sha, "patch": patch, "test_patch": patch}
)
"""A row in which one of these is missing or wrong is not taken."""

OPTIONAL: Mapping[str, Callable[[object], Any]] = MappingProxyType(
    {
        "problem_statement": statement,
        "hints_text": text_of,
        "created_at": moment_of,
        "version": version,
        "FAIL_TO_PASS": cases,
        "PASS_TO_PASS": cases,
        "environment_setup_commit": optional_sha,
    }
)
"""A row in which one of these is wrong is taken without it, unless its value is an `UnsafeValue`."""


ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "fail_to_pass": "FAIL_TO_PASS",
        "pass_to_pass": "PASS_TO_PASS",
        "golden_code_patch": "patch",
        "golden_test_patch": "test_patch",
    }
)
"""Other names of columns: the lists of SWE-bench Pro, and the patches in SWT-Bench's own data sets."""


def _from_text(value: str | bytes) -> object:
    text = text_of(value)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise WrongValue("is text that is neither a JSON list nor a Python list") from error
