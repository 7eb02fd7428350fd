"""Releases and copies of the project in an environment, each planted and found."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tasks.adapters.uv.leaks import Surroundings, find_environment_leaks
from tasks.adapters.uv.metadata import PTH, pth

FILES = ("__init__.py", "shelf.py", "jam/__init__.py", "jam/plum.py")


def fill(folder: Path, files: tuple[str, ...] = FILES) -> None:
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x = 1\n")


def info(folder: Path, name: str, record: str) -> None:
    folder.joinpath(name).mkdir(parents=True)
    folder.joinpath(name, "RECORD").write_text(record)


@pytest.fixture
def here(tmp_path: Path) -> Surroundings:
    """A clean environment: the checkout's metadata, one dependency, and an interpreter with pip."""
    site = tmp_path / "env" / "lib" / "python3.9" / "site-packages"
    fill(tmp_path / "checkout" / "src" / "larder")
    fill(tmp_path / "checkout" / "tests")
    fill(site / "dependency")
    fill(site / "tests")
    info(site, "dependency-1.0.dist-info", "dependency/__init__.py,,\n")
    info(site, "the_larder-2.0.dist-info", f"{PTH},,\nthe_larder-2.0.dist-info/METADATA,,\n")
    (site / PTH).write_text(pth(("src",)))
    (site / "distutils-precedence.pth").write_text("import os\n")
    fill(tmp_path / "python" / "lib" / "python3.9" / "site-packages" / "pip")
    return Surroundings(tmp_path / "env", tmp_path / "python", tmp_path / "checkout", ("src",), "Larder")


def test_a_clean_environment(here: Surroundings) -> None:
    assert find_environment_leaks(here) == ()
    assert here.names == {"larder", "the-larder"}


def newer_release(site: Path, _base: Path) -> None:
    info(site, "larder-3.0.dist-info", "larder/__init__.py,,\n")
    fill(site / "larder")


def release_of_the_metadata_name(site: Path, _base: Path) -> None:
    info(site, "The.Larder-3.0.dist-info", "larder/__init__.py,,\n")


def old_style_release(site: Path, _base: Path) -> None:
    fill(site / "Larder-3.0-py3.9.egg", ("larder/__init__.py",))


def copy_without_metadata(site: Path, _base: Path) -> None:
    fill(site / "larder")


def release_in_the_interpreter(_site: Path, base: Path) -> None:
    fill(base / "lib" / "python3.9" / "larder")


def vendored_copy(site: Path, _base: Path) -> None:
    fill(site / "pip" / "_vendor" / "larder")


def bundled_copy(_site: Path, base: Path) -> None:
    path = base / "lib" / "python3.9" / "ensurepip" / "_bundled" / "pip-23.whl"
    path.parent.mkdir(parents=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name in FILES:
            archive.writestr(f"pip/_vendor/larder/{name}", "x = 1\n")


def vendored_in_a_wheel(site: Path, _base: Path, inside: str = "pip/_vendor/larder") -> None:
    """virtualenv brings wheels of pip along, and pip rich."""
    path = site / "virtualenv" / "seed" / "wheels" / "embed" / "pip-25.whl"
    path.parent.mkdir(parents=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name in FILES:
            archive.writestr(f"{inside}/{name}", "x = 1\n")


def copy_in_a_wheel(site: Path, base: Path) -> None:
    vendored_in_a_wheel(site, base, "larder")


def downloaded_sdist(site: Path, _base: Path) -> None:
    (site.parents[1] / "larder-3.0.tar.gz").write_bytes(b"")


def other_checkout(site: Path, _base: Path) -> None:
    (site / "other.pth").write_text("/other/checkout/src\n")


def editable_install(site: Path, _base: Path) -> None:
    (site / "__editable___larder_3_0_finder.py").write_text("MAPPING = {}\n")


def folder_of_origin(site: Path, _base: Path) -> None:
    (site / "dependency-1.0.dist-info" / "direct_url.json").write_text('{"url": "file:///other/checkout"}')


def cloned_source(site: Path, _base: Path) -> None:
    fill(site.parents[1] / "src" / "other", (".git/HEAD",))


@pytest.mark.parametrize(
    ("plant", "rules", "blocking"),
    [
        (newer_release, {"project-release", "project-copy"}, True),
        (release_of_the_metadata_name, {"project-release"}, True),
        (old_style_release, {"project-release"}, True),
        (copy_without_metadata, {"project-copy"}, True),
        (release_in_the_interpreter, {"project-copy"}, True),
        (vendored_copy, {"project-copy"}, False),
        (bundled_copy, {"project-copy"}, False),
        (vendored_in_a_wheel, {"project-copy"}, False),
        (copy_in_a_wheel, {"project-copy"}, True),
        (downloaded_sdist, {"project-release"}, True),
        (other_checkout, {"foreign-path"}, True),
        (editable_install, {"foreign-path"}, True),
        (folder_of_origin, {"foreign-path"}, True),
        (cloned_source, {"repository"}, True),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_planted(plant: Callable[[Path, Path], None], rules: set[str], blocking: bool, here: Surroundings) -> None:
    plant(here.root / "lib" / "python3.9" / "site-packages", here.base_prefix)
    found = find_environment_leaks(here)
    assert {leak.rule for leak in found} == rules
    assert {leak.blocking for leak in found} == {blocking}


def test_what_is_installed_into_the_interpreter_itself_is_not_seen_and_not_looked_through(here: Surroundings) -> None:
    fill(here.base_prefix / "lib" / "python3.9" / "site-packages" / "larder")

    assert find_environment_leaks(here) == ()


def test_a_module_is_a_package_of_one_file(tmp_path: Path) -> None:
    fill(tmp_path / "checkout", ("larder.py", "setup.py", "conftest.py"))
    site = tmp_path / "env" / "lib" / "python3.9" / "site-packages"
    fill(site, ("larder.py", "setup.py"))
    here = Surroundings(tmp_path / "env", tmp_path / "none", tmp_path / "checkout", ("",), "larder")
    assert [leak.path for leak in find_environment_leaks(here)] == [str(site / "larder.py")]
