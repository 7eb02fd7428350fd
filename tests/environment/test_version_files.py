from __future__ import annotations

from collections.abc import Callable

import pytest

from tasks.environment.project_files.version_files import latest_version, version_files, version_module


def reader(**files: str) -> Callable[[str], str | None]:
    held = {name.replace("__", "/").replace("_dot_", "."): text for name, text in files.items()}
    return held.get


FILES = {
    "setuptools-scm": ('[tool.setuptools_scm]\nwrite_to = "src/_pytest/_version.py"\n', "src/_pytest/_version.py"),
    "setuptools-scm, its newer key": ('[tool.setuptools_scm]\nversion_file = "a/_version.py"\n', "a/_version.py"),
    "hatch-vcs": ('[tool.hatch.build.hooks.vcs]\nversion-file = "a/_version.py"\n', "a/_version.py"),
    "PDM": ('[tool.pdm.version]\nsource = "scm"\nwrite_to = "a/VERSION.py"\n', "a/VERSION.py"),
}


@pytest.mark.parametrize(("text", "path"), FILES.values(), ids=FILES)
def test_what_a_build_would_write_is_put_there(text: str, path: str) -> None:
    ((found, module),) = version_files(reader(pyproject_dot_toml=text), "9.1.2")

    names: dict[str, object] = {}
    exec(module, names)
    assert found == path
    assert (names["__version__"], names["version"], names["version_tuple"]) == ("9.1.2", "9.1.2", (9, 1, 2))


def test_a_version_of_one_number_is_a_tuple_too() -> None:
    names: dict[str, object] = {}
    exec(version_module("24"), names)
    assert names["version_tuple"] == (24,)


def test_setup_py_asks_by_a_dictionary() -> None:
    text = 'setup(\n    use_scm_version={"write_to": "a/_version.py"},\n)'

    assert [path for path, _ in version_files(reader(setup_dot_py=text), "1.0")] == ["a/_version.py"]


def test_the_projects_own_template_is_filled_if_a_version_is_all_it_wants() -> None:
    table = '[tool.setuptools_scm]\nwrite_to = "a/v.py"\nwrite_to_template = "V = \'{%s}\'"\n'

    ((_, own),) = version_files(reader(pyproject_dot_toml=table % "version"), "1.0")
    ((_, ours),) = version_files(reader(pyproject_dot_toml=table % "scm_version.node"), "1.0")

    assert own == "V = '1.0'"
    assert ours == version_module("1.0")


def test_nothing_is_written_over_a_file_or_out_of_the_checkout() -> None:
    held = '[tool.setuptools_scm]\nwrite_to = "a.py"\n'
    climbing = '[tool.setuptools_scm]\nwrite_to = "../a.py"\n'

    assert version_files(reader(pyproject_dot_toml=held, a_dot_py="V = 1"), "1.0") == ()
    assert version_files(reader(pyproject_dot_toml=climbing), "1.0") == ()


CHANGE_LOGS = {
    "reStructuredText": ("Changelog\n=========\n\nVersion 3.2.0\n-------------\n\n- fixed 1.0\n", "3.2.0"),
    "Markdown": ("# Changelog\n\n## [2.1.0] - 2026-01-01\n- since 3.9 ...\n", "2.1.0"),
    "with the project's name": ("pytest 9.0.2 (2026-01-05)\n=========================\n", "9.0.2"),
    "with a v": ("## v1.4\n", "1.4"),
    "numbers in prose only": ("We need Python in version 3.9 or later.\n", None),
    "empty": ("", None),
}


def test_a_change_log_that_only_says_where_the_other_is() -> None:
    logs = {
        "CHANGELOG.rst": "The changelog is in doc/en.\n",
        "doc/en/changelog.rst": "pytest 5.4.3 (2020-06-02)\n===\n",
    }
    assert latest_version(logs.get) == "5.4.3"


@pytest.mark.parametrize(("text", "version"), CHANGE_LOGS.values(), ids=CHANGE_LOGS)
def test_the_first_heading_with_a_version_is_the_latest(text: str, version: str | None) -> None:
    assert latest_version(reader(CHANGES_dot_rst=text)) == version
