from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.environment.project_files.requirements import Requirements, name_of, normal, parse_lines, read_requirements


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a==1.0", ("a==1.0",)),
        ("a ; python_version < '3.8'  # why", ("a ; python_version < '3.8'",)),
        ("a==1.0 --hash=sha256:00 --hash=sha256:11", ("a==1.0",)),
        ("a[b,c]>=2", ("a[b,c]>=2",)),
        ("-e .[testutils]", ()),
        (".[dev]", ()),
        (".", ()),
        ("./sub", ()),
        ("--editable=.", ()),
        ("-i https://somewhere/all", ()),
        ("--no-binary :all:", ()),
        ("git+https://somewhere/x.git", ()),
        ("a @ https://somewhere/x.zip", ()),
        ("# nothing", ()),
        ("", ()),
        ("pkg#fragment==1", ("pkg#fragment==1",)),
    ],
)
def test_one_line(line: str, expected: tuple[str, ...]) -> None:
    assert parse_lines([line]) == expected


def test_files_are_followed_from_where_they_are() -> None:
    files = {
        "requirements/dev.txt": "-r tests.txt\n-r ../base.txt\n-c bounds.txt\nb\n",
        "requirements/tests.txt": "pytest\\\n>=7\n-r dev.txt\n",
        "requirements/bounds.txt": "idna<3\n",
        "base.txt": "\ufeffa==1\r\nb\r\n",
    }
    found = read_requirements(files.get, "requirements/dev.txt")
    assert found == Requirements(("pytest >=7", "a==1", "b"), ("idna<3",))


def test_a_missing_file_asks_for_nothing() -> None:
    assert read_requirements({}.get, "requirements.txt") == Requirements()


def test_names_are_compared_in_their_normal_form() -> None:
    found = Requirements(("Zope.Interface>=1", "b"), ("zope_interface<2",))
    assert found.without(["zope-interface"]) == Requirements(("b",))
    assert found.names == {"zope-interface", "b"}


@given(st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,8}[A-Za-z0-9])?", fullmatch=True))
def test_the_normal_form_is_stable(name: str) -> None:
    assert normal(normal(name)) == normal(name) == name_of(f"{name}>=1; python_version > '3'")
