"""Which modules are collected to see who reads a data file."""

from __future__ import annotations

from tasks.domain.names import RepoPath
from tasks.environment.readiness.data_readers import AT_MOST, drivers


def test_what_many_modules_say_does_not_hide_the_driver() -> None:
    """pylint keeps its data in folders of one letter, which every other module has in quotes."""
    modules = {RepoPath(f"tests/test_{number}.py"): 'x = "c"; y = "comparison"' for number in range(40)}
    driver = RepoPath("tests/test_functional.py")
    modules[driver] = 'DATA = HERE / "functional"'
    found = drivers([RepoPath("tests/functional/c/comparison/comparison_with_callable.py")], modules)
    assert found[0] == driver
    assert len(found) == AT_MOST


def test_who_names_the_file_comes_before_who_names_its_folder() -> None:
    modules = {
        RepoPath("tests/test_folder.py"): 'HERE / "inputs"',
        RepoPath("tests/test_file.py"): 'open("tests/inputs/table.csv")',
        RepoPath("tests/test_remark.py"): "# inputs come in tables",
    }
    found = drivers([RepoPath("tests/inputs/table.csv")], modules)
    assert found == ("tests/test_file.py", "tests/test_folder.py")
