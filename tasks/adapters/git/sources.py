"""Checks where git copies a repository from: git reads some addresses as an option or as a command to run."""

from __future__ import annotations

import re
from pathlib import Path

from tasks.domain.errors import BadInput
from tasks.domain.names import RepoName

SCHEMES = ("https", "ssh", "git", "file")
"""All that git may use here. Remote helpers (`ext::`, `fd::`) run a command, plain `http` lets anyone on the way
choose the code."""
HINT = f"give a local path, user@host:path, or an address with one of: {', '.join(SCHEMES)}"
PLACE = "{repo}"

_HELPER = re.compile(r"[A-Za-z0-9][A-Za-z0-9+.-]*::")
_ADDRESS = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<host>[^/]*)(?P<path>.*)")
_SCP = re.compile(r"(?P<host>[^/:]+):(?P<path>.*)")
_HOST = re.compile(r"(?:[^@/\s-][^@/\s]*@)?(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9][A-Za-z0-9._-]*)(?::\d+)?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def git_source(source: Path | str) -> str:
    """Returns the source as git takes it; raises `BadInput` if git could read anything else in it than a place."""
    text = str(source)
    if not text or text.startswith("-") or _CONTROL.search(text) or _HELPER.match(text):
        raise _refused(text)
    if isinstance(source, Path):
        return text
    if address := _ADDRESS.fullmatch(text):
        local = address["scheme"] == "file"
        fitting = address["host"] in ("", "localhost") if local else _HOST.fullmatch(address["host"])
        if address["scheme"] not in SCHEMES or not fitting or address["path"].startswith("/-"):
            raise _refused(text)
    elif (remote := _SCP.fullmatch(text)) and (not _HOST.fullmatch(remote["host"]) or remote["path"][:1] in ("-", "")):
        raise _refused(text)
    return text


def is_local(source: Path | str) -> bool:
    """Whether a source is a folder; an address and `host:path` have a colon."""
    return isinstance(source, Path) or ":" not in source


def source_of(template: str, repo: RepoName) -> str:
    """The source of one repository; in `template`, `{repo}` stands for `owner/name`. Raises `BadInput` as
    `git_source`."""
    return git_source(template.replace(PLACE, repo))


def _refused(text: str) -> BadInput:
    return BadInput(f"git does not copy from {text!r}", hint=HINT)
