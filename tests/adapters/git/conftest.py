"""A small repository with everything that trips up checkouts: links, modes, attributes, a submodule, odd names."""

import os
from pathlib import Path

import pytest
from scratch_git import git

from tasks.adapters.git.mirrors import Mirrors

REPO = "owner/name"
ATTRIBUTES = "*.sub export-subst\nhidden.txt export-ignore\n*.crlf text eol=crlf\n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    (folder / "pkg").mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / ".gitattributes").write_text(ATTRIBUTES)
    (folder / "version.sub").write_text("$Format:%H$\n")
    (folder / "hidden.txt").write_text("hidden\n")
    (folder / "lines.crlf").write_text("a\nb\n")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("pkg/mod.py")
    (folder / "pkg" / "mod.py").write_text("VALUE = 1\n")
    (folder / "pkg" / "ä b.py").write_text("x = 2\n")
    (folder / "pkg" / "old.py").write_text("print 'python 2'\n")
    os.close(os.open(os.fsencode(folder) + b"/pkg/caf\xe9.txt", os.O_CREAT | os.O_WRONLY))
    git(folder, "add", "--all")
    git(folder, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    git(folder, "commit", "--quiet", "-m", "first")
    return folder


@pytest.fixture
def sha(source: Path) -> str:
    return git(source, "rev-parse", "HEAD")


@pytest.fixture
def mirrors(source: Path, tmp_path: Path) -> Mirrors:
    made = Mirrors(tmp_path / "mirrors")
    made.add(REPO, source)
    return made
