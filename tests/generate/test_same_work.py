"""Stored work of the methods is found again: their versions are those of release 0.2.0."""

from __future__ import annotations

from tasks.generate.registry import METHODS
from tasks.generate.rows import version_of
from tasks.generate.same_work import SAME_WORK

VERSIONS = {
    "zero_shot": "1d87719fc41012fc89cae65db31200aa",
    "zero_shot_plus": "aea3b9080c62e6392c0d2d626cd06382",
    "pass_at_5": "c48d114655d143032f6446de82eab1ca",
    "libro": "7ce88c1cdda377633705424031dcfaf0",
    "auto_code_rover": "a4e2c0c390bae067538ffa2b12de3d2c",
    "agent": "eba66348d151aa08574826a64d0acc76",
    "aider": "f3a6b785b3f21989ada56f2eb92fcb87",
    "mini_swe_agent": "0d77a880245501af21d1b24bd356aab0",
    "swe_agent": "05a7b0b67594d663b9b1dbbcef92cb4c",
    "swe_agent_plus": "ab10dac320919b09ac21369540dbc109",
    "openhands": "baab2858db2b92fdfac9ba137e6b406d",
    "codex": "1046b76d4296fd6b6aa2583c4f313c0c",
    "claude_code": "134299a7eaab5615f6a2497d297c9bfc",
    "opencode": "c0b1887ce7b412437cee0bffd22ee099",
}
"""A method that does other work now gets its new version here; one that does the same gets a line in SAME_WORK."""


def test_the_versions_of_all_methods() -> None:
    assert {method.name: version_of(method) for method in METHODS.ours} == VERSIONS


def test_no_line_is_for_a_source_that_is_gone() -> None:
    assert set(SAME_WORK.values()) <= set(VERSIONS.values())
