"""The list of repositories: ours, and what is said of a wrong one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tasks.domain.errors import BadInput, NotFound
from tasks.filter.rules import RuleLimits
from tasks.scrape.repositories import find_repository, read_repositories

LIST = Path(__file__).parents[2] / "data" / "repositories.toml"
GOOD = '["a/b"]\nlicence = "MIT"\ndefault_branch = "main"\n'
TWELVE = {
    "astropy/astropy",
    "django/django",
    "matplotlib/matplotlib",
    "mwaskom/seaborn",
    "pallets/flask",
    "psf/requests",
    "pydata/xarray",
    "pylint-dev/pylint",
    "pytest-dev/pytest",
    "scikit-learn/scikit-learn",
    "sphinx-doc/sphinx",
    "sympy/sympy",
}


def test_our_list() -> None:
    found = read_repositories(LIST)
    names = [repository.repo for repository in found]
    assert names == sorted(names, key=str.lower)
    assert len({name.lower() for name in names}) == len(names) >= 42
    assert set(names) >= TWELVE
    assert not [one.repo for one in found if one.licence not in RuleLimits().licences]


def test_the_licences_of_the_filter_are_all_in_use() -> None:
    assert set(RuleLimits().licences) == {one.licence for one in read_repositories(LIST)}


def test_a_repository_is_found_in_any_case() -> None:
    found = read_repositories(LIST)
    assert find_repository(found, "PALLETS/flask").repo == "pallets/flask"
    with pytest.raises(NotFound, match="a/b is not in the list"):
        find_repository(found, "a/b")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('["a"]\nlicence = "MIT"\n', "'a' is not owner/name"),
        ('"a/b" = 3\n', "'a/b' is 3: it should be a table"),
        ('["a/b"]\ndefault_branch = "main"\n', "'a/b': licence is missing"),
        ('["a/b"]\nlicence = "MIT"\ndefault_branch = ""\n', "'a/b': default_branch is '': it should not be empty"),
        (GOOD + "branch = 1\n", "'a/b' has branch; known keys"),
        (GOOD + 'test_globs = "t/*"\n', "test_globs is 't/\\*': it should be a list"),
        (GOOD + GOOD.replace("a/b", "A/b"), "a/b and A/b are the same repository"),
        (GOOD + GOOD, "Cannot declare"),
        ("[", "repositories.toml"),
    ],
)
def test_what_is_wrong_is_named(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "repositories.toml"
    path.write_text(text)
    with pytest.raises(BadInput, match=message):
        read_repositories(path)


def test_a_list_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="there is no file"):
        read_repositories(tmp_path / "none.toml")
