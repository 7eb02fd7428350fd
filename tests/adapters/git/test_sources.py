"""What git is given to copy from: a place, and never an option or a command."""

from __future__ import annotations

from pathlib import Path

import pytest

from tasks.adapters.git.command import Git, GitFailed
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.git.sources import git_source, source_of
from tasks.domain.errors import BadInput
from tasks.domain.names import RepoName

REPO = "owner/name"


@pytest.mark.parametrize(
    "source",
    [
        "https://github.com/pallets/flask.git",
        "https://token@example.org:8443/a/b",
        "ssh://git@example.org:2222/~a/b.git",
        "git@github.com:pallets/flask.git",
        "host.example.org:a/b",
        "git://example.org/a",
        "file:///srv/mirrors/flask.git",
        "/srv/mirrors/flask.git",
        "../mirrors/a b",
        "https://[::1]:80/a",
        Path("mirrors/flask"),
    ],
    ids=str,
)
def test_places_are_taken_as_they_are(source: Path | str) -> None:
    assert git_source(source) == str(source)


@pytest.mark.parametrize(
    "source",
    [
        "--upload-pack=touch ran; : owner/name",
        "-uconfig",
        Path("-u"),
        "",
        "ext::sh -c touch% ran",
        "fd::17/a",
        "https::https://example.org/a",
        "http://example.org/a",
        "ftp://example.org/a",
        "HTTPS2://example.org/a",
        "file://example.org/a",
        "ssh://-oProxyCommand=touch ran/a",
        "ssh://-oProxyCommand=x@example.org/a",
        "ssh://example.org/-a",
        "https:///a",
        "-oProxyCommand=x:a",
        "a b:c",
        "user@-host:a",
        "host:-a",
        "host:",
        "https://example.org/a\nb",
        "a\0b",
    ],
    ids=repr,
)
def test_what_git_could_take_for_an_option_or_a_command_is_refused(source: Path | str) -> None:
    with pytest.raises(BadInput, match="git does not copy from") as refused:
        git_source(source)
    assert "https, ssh, git, file" in refused.value.hint


@pytest.mark.parametrize("source", ["--upload-pack=touch {mark}; : owner/name", "ext::sh -c touch% {mark}"])
def test_no_mirror_runs_a_command_of_its_source(tmp_path: Path, source: str) -> None:
    mark, mirrors = tmp_path / "ran", Mirrors(tmp_path / "mirrors")
    asked = source.format(mark=mark)
    for ask in (mirrors.reach, lambda given: mirrors.add(REPO, given)):
        with pytest.raises(BadInput):
            ask(asked)
    assert not mark.exists()


def test_git_itself_allows_no_other_scheme(tmp_path: Path) -> None:
    """The second barrier: a source that no check of ours saw."""
    with pytest.raises(GitFailed, match="transport 'ext' not allowed"):
        Git(tmp_path).run("-c", "protocol.ext.allow=always", "ls-remote", "--", "ext::sh -c true")
    with pytest.raises(GitFailed, match="transport 'http' not allowed"):
        Git(tmp_path).run("ls-remote", "--", "http://127.0.0.1:1/a")


def test_a_template_names_the_repository_and_nothing_else() -> None:
    assert source_of("https://github.com/{repo}.git", RepoName("a/b")) == "https://github.com/a/b.git"
    assert source_of("/srv/{repo}/{repo.__class__}", RepoName("a/b")) == "/srv/a/b/{repo.__class__}"
    with pytest.raises(BadInput):
        source_of("--upload-pack=x; : {repo}", RepoName("a/b"))
