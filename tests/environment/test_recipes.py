from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tasks.domain.errors import BadInput
from tasks.domain.outcome import RunnerKind
from tasks.environment.recipes import assignments, libraries_of_builds, load_book, load_recipes, load_service

RECIPES = Path(__file__).parents[2] / "data" / "environments"
GOOD = """
repo = "owner/name"
[defaults]
python = "3.9"
install = "none"
runner = "pytest"
exclude_newer = 2024-03-01T00:00:00Z
env = { LANG = "C.UTF-8", A = "1" }
[defaults.generated]
"a/_version.py" = "version = '{version}'"
[[version_rules]]
path = "a.py"
pattern = '^v = (\\d+)'
[[versions]]
versions = ["1.0", "1.4"]
[[versions]]
versions = ["1.10", "2.1"]
python = "3.11"
packages = ["a==1"]
own = false
"""


def written(folder: Path, text: str, name: str = "owner__name.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_defaults_hold_where_a_group_says_nothing(tmp_path: Path) -> None:
    book = load_book(written(tmp_path, GOOD))
    first, second = book.recipes
    assert (first.python, second.python) == ("3.9", "3.11")
    assert (first.own, second.own) == (True, False)
    assert first.runner is RunnerKind.PYTEST
    assert assignments(first.env) == ("A=1", "LANG=C.UTF-8")
    assert first.exclude_newer == datetime(2024, 3, 1, tzinfo=UTC)
    assert second.generated == {"a/_version.py": "version = '{version}'"}


@pytest.mark.parametrize(
    ("version", "name"),
    [
        ("1.0", "owner__name.toml#1.0"),
        ("1.4", "owner__name.toml#1.0"),
        ("2.1", "owner__name.toml#1.10"),
        ("1.9", "owner__name.toml#1.0~1.9"),
        ("1.12", "owner__name.toml#1.10~1.12"),
        ("2.7", "owner__name.toml#1.10~2.7"),
        ("2.0", None),
        ("3.0", None),
        ("0.9", None),
        (None, None),
    ],
)
def test_its_own_recipe_else_the_nearest_lower_of_the_series(
    tmp_path: Path, version: str | None, name: str | None
) -> None:
    picked = load_book(written(tmp_path, GOOD)).pick(version)
    assert (picked.name if picked else None) == name


BUILD = """
build_commands = [["python", "setup.py", "build_ext"], ["make", "-C", "a b"]]
build_requires = ["cython<3"]
build_libraries = ["freetype2"]
build_env = { CFLAGS = "-O1" }
build_beside = { "helpers" = "a/helpers", "build/lib" = "c/lib@0123456789012345678901234567890123456789" }
build_files = { "build.cfg" = "[libs]" }
"""
COMPILED = GOOD.replace('install = "none"\n', f'install = "build"{BUILD}', 1)


def test_a_compiled_project_says_how_it_is_built(tmp_path: Path) -> None:
    _, recipe = load_book(written(tmp_path, COMPILED)).recipes
    assert recipe.build_commands == (("python", "setup.py", "build_ext"), ("make", "-C", "a b"))
    assert (recipe.build_requires, recipe.build_libraries) == (("cython<3",), ("freetype2",))
    assert (recipe.build_env, recipe.build_files) == ({"CFLAGS": "-O1"}, {"build.cfg": "[libs]"})
    assert {(one.path, one.repo, (one.commit or "")[:4]) for one in recipe.beside} == {
        ("helpers", "a/helpers", ""),
        ("build/lib", "c/lib", "0123"),
    }
    assert libraries_of_builds(tmp_path) == {"owner/name": ("freetype2",)}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('install = "build"', 'install = "none"', 'versions 1 has build_commands without install = "build"'),
        (
            'build_commands = [["python", "setup.py", "build_ext"], ["make", "-C", "a b"]]',
            "",
            "has build_commands without install",
        ),
        (
            '["python", "setup.py", "build_ext"]',
            '"python setup.py"',
            "build_commands 1 is .* it should be a list",
        ),
        ('"a/helpers"', '"helpers"', "build_beside.helpers is 'helpers': it should be owner/name"),
        ("lib@0123456789", "lib@main", "build_beside.build/lib is .*: it should be owner/name"),
    ],
)
def test_a_bad_build_names_its_key(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in COMPILED
    with pytest.raises(BadInput, match=message):
        load_book(written(tmp_path, COMPILED.replace(old, new, 1)))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('python = "3.9"', "python = 3.9", "versions 1: python is 3.9: it should be text"),
        ('python = "3.9"', 'python = "3.9.1"', "python is '3.9.1': it should match"),
        ('python = "3.9"\n', "", "versions 1: python is missing"),
        ('install = "none"', 'install = "pip"', "'pip': it should be 'editable', 'none'"),
        ('runner = "pytest"', 'runner = "nose"', "'nose': it should be 'pytest', 'unittest', 'django'"),
        ("2024-03-01T00:00:00Z", "2024-03-01", "exclude_newer is .*: it should be a timestamp with a zone"),
        ('packages = ["a==1"]', 'packages = "a==1"', "versions 2: packages is 'a==1': it should be a list"),
        ('packages = ["a==1"]', 'pakages = ["a==1"]', "versions 2 has pakages; known keys are .*packages"),
        ("own = false", 'own = "no"', "own is 'no': it should be true or false"),
        ('LANG = "C.UTF-8"', "LANG = 1", "env.LANG is 1: it should be text"),
        ('["1.10", "2.1"]', '["1.10", "1.0"]', "1.0 twice in versions"),
        ('["1.10", "2.1"]', "[]", "versions 2: versions is .*should not be empty"),
        ("'^v = (\\d+)'", "'^v = ('", "version_rules 1: pattern is .* valid regular expression"),
        ('repo = "owner/name"', 'repo = "other/name"', "does not fit the name of the file"),
        ('repo = "owner/name"', "repo = owner", "not TOML|Invalid"),
    ],
)
def test_a_bad_recipe_names_its_file_and_key(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(BadInput, match=message) as caught:
        load_book(written(tmp_path, GOOD.replace(old, new, 1)))
    assert "owner__name.toml" in str(caught.value)
    assert caught.value.hint


def test_a_file_without_versions(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="versions is missing"):
        load_book(written(tmp_path, 'repo = "owner/name"\n'))


def test_the_recipes_that_we_ship() -> None:
    books = load_recipes(RECIPES)
    assert len(books) >= 12
    for book in books.values():
        for recipe in book.recipes:
            assert all(book.pick(version) for version in recipe.versions)
            assert recipe.exclude_newer < datetime(2025, 1, 1, tzinfo=UTC) or recipe.install == "host"


def test_a_generated_version_file_is_python() -> None:
    book = load_book(RECIPES / "pytest-dev__pytest.toml")
    picked = book.pick("7.1")
    assert picked is not None
    ((path, text),) = picked.recipe.generated.items()
    names: dict[str, object] = {}
    exec(text.replace("{version}", "7.1"), names)
    assert path == "src/_pytest/_version.py"
    assert (names["version"], names["version_tuple"]) == ("7.1.0", (7, 1, 0))


SERVICE = """
python = "3.11"
exclude_newer = 2024-03-01T00:00:00Z
packages = ["shelf==1.0"]
command = ["-m", "shelf", "{port}"]
env = { SHELF_URL = "http://127.0.0.1:{port}/" }
"""


def test_a_service_is_a_file_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "services").mkdir()
    (tmp_path / "services" / "shelf.toml").write_text(SERVICE)
    service = load_service(tmp_path, "shelf")
    assert (service.command, service.env) == (("-m", "shelf", "{port}"), {"SHELF_URL": "http://127.0.0.1:{port}/"})
    with pytest.raises(BadInput, match=r"there is no other\.toml"):
        load_service(tmp_path, "other")
    (tmp_path / "services" / "other.toml").write_text(SERVICE.replace("command", "commands"))
    with pytest.raises(BadInput, match=r"other\.toml has commands; known keys are command"):
        load_service(tmp_path, "other")


def test_every_service_that_a_recipe_names_is_there() -> None:
    folder = Path(__file__).parents[2] / "data" / "environments"
    named = {name for book in load_recipes(folder).values() for recipe in book.recipes for name in recipe.services}
    assert named == {"httpbin"}
    assert all(load_service(folder, name).env for name in named)
