"""`swt agents`: what there is, and agents from a registry that cannot be reached."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flows.interface.cli import app
from flows.interface.commands.machine import install_agents
from flows.interface.settings import Settings
from tasks.adapters.agents.catalogue import AGENTS, agent_named
from tasks.adapters.agents.install import place
from tasks.domain.errors import NotFound


def test_the_list_has_every_agent_and_says_which_are_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(cache=tmp_path)
    root = place(settings.places.agents, agent_named("codex"))
    root.mkdir(parents=True)
    (root / "installed.json").write_text(json.dumps({"lock": ["@openai/codex@1"], "seconds": 1.0}))
    monkeypatch.setenv("SWT_CACHE", str(tmp_path))
    said = CliRunner().invoke(app, ["agents", "list"])
    assert said.exit_code == 0, said.output
    _, _, *rows, _, where = said.stdout.strip().splitlines()
    assert where.endswith(str(settings.places.agents))
    cells = {row.split()[0]: row.split()[1:] for row in rows}
    assert set(cells) == {agent.name for agent in AGENTS}
    assert cells["codex"] == [agent_named("codex").kit.release, "responses", "1", root.name]
    assert cells["aider"][2:] == ["-", "-"]


def test_one_that_cannot_be_installed_is_a_problem_with_a_hint(tmp_path: Path) -> None:
    settings = replace(Settings(), cache=tmp_path)
    done = install_agents(settings, ["codex"], {"PATH": str(tmp_path)})
    assert (done.exit_code, done.text) == (3, "")
    assert "npm is not installed" in done.problems[0]
    with pytest.raises(NotFound, match="no agent 'no-such'"):
        install_agents(settings, ["codex", "no-such"], {})
