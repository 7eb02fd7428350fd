from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

import pytest

from tasks.adapters.uv.interpreters import KEPT, ask, find_interpreters, find_uv, machine_interpreters, pick
from tasks.adapters.uv.plan import Interpreter
from tasks.domain.errors import NotFound


def made(version: str) -> Interpreter:
    return Interpreter(path=Path("/opt/python"), version=version, base_prefix=Path("/opt"))


def test_the_interpreter_behind_this_one_is_told_in_full() -> None:
    found = ask(Path(sys.executable).resolve())
    assert found is not None
    assert found.version == platform.python_version()
    assert found.base_prefix == Path(sys.base_prefix)


def test_what_does_not_start_is_no_interpreter(tmp_path: Path) -> None:
    assert ask(tmp_path / "python") is None
    assert ask(Path("/bin/true")) is None


def test_one_for_each_minor_version_newest_first() -> None:
    found = find_interpreters(os.environ, find_uv())
    assert len({one.minor for one in found}) == len(found) > 0
    assert [one.number for one in found] == sorted((one.number for one in found), reverse=True)


def test_picking_by_minor_version() -> None:
    have = (made("3.11.7"), made("3.9.18"))
    assert pick(have, "3.9") == have[1]
    with pytest.raises(NotFound, match=r"no CPython 3\.1 .*3\.11, 3\.9"):
        pick(have, "3.1")


def test_versions_compare_as_numbers() -> None:
    assert made("3.10.1").number > made("3.9.18").number
    assert made("3.10.1").minor == "3.10"


@pytest.mark.slow
def test_what_was_found_is_kept_until_something_changes(tmp_path, monkeypatch) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    machine_interpreters.cache_clear()
    found = machine_interpreters(tmp_path)
    assert found == find_interpreters(os.environ, find_uv())
    kept = (tmp_path / KEPT).stat().st_mtime_ns
    machine_interpreters.cache_clear()
    assert machine_interpreters(tmp_path) == found
    assert (tmp_path / KEPT).stat().st_mtime_ns == kept, "nothing was asked"
    (folder / "python3").symlink_to("/bin/true")
    machine_interpreters.cache_clear()
    assert machine_interpreters(tmp_path) == found
    assert (tmp_path / KEPT).stat().st_mtime_ns > kept, "a folder that is searched has changed"
    (tmp_path / KEPT).write_text("{}")
    machine_interpreters.cache_clear()
    assert machine_interpreters(tmp_path) == found
    machine_interpreters.cache_clear()
