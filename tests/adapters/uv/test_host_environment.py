from __future__ import annotations

import sys
from pathlib import Path

from tasks.adapters.uv.host_environment import host_environment, installed_lock
from tasks.domain.names import RepoName


def test_the_running_interpreter_is_an_environment() -> None:
    built = host_environment(RepoName("demo/shop"), source_roots=("src",))
    assert built.python == Path(sys.executable)
    assert built.environment.install == ("host",)
    assert built.environment.source_roots == ("src",)
    assert "pytest==" in built.environment.lock


def test_its_id_is_what_is_installed() -> None:
    first, second = (host_environment(RepoName("demo/shop")) for _ in range(2))
    assert first.environment.env_id == second.environment.env_id
    assert first.environment.env_id != host_environment(RepoName("demo/other")).environment.env_id


def test_the_lock_is_sorted_and_bare() -> None:
    lines = installed_lock().splitlines()
    assert lines == sorted(set(lines))
    assert all(line.count("==") == 1 for line in lines)


def test_what_a_recipe_asks_for_is_in_the_row_and_in_the_id() -> None:
    plain = host_environment(RepoName("demo/shop")).environment
    asked = host_environment(RepoName("demo/shop"), env=("QUIET=1",), test_args=("-x",)).environment
    assert (asked.env, asked.test_args) == (("QUIET=1",), ("-x",))
    assert asked.env_id != plain.env_id
