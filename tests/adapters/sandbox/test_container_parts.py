"""The parts of the container sandbox that need no engine: names, framing, control groups, the choice of what goes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.adapters.sandbox.docker.budget import Image, to_remove
from tasks.adapters.sandbox.docker.cgroup import cgroup_of
from tasks.adapters.sandbox.docker.engine import DEFAULT_BASE, docker_settings
from tasks.adapters.sandbox.docker.layers import ImageName, image_tag, parse_image_tag
from tasks.adapters.sandbox.docker.sandbox import Docker
from tasks.adapters.sandbox.docker.watch import Frames
from tasks.domain.errors import BadInput, SandboxError
from tasks.domain.names import content_key

CONTENTS = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9._]*(-[A-Za-z0-9._]+){0,3}", fullmatch=True).map(
    lambda text: text[:80]
)
REMOTES = st.one_of(
    st.just(""), st.from_regex(r"[a-z0-9.]{1,20}(:[0-9]{1,5})?(/[a-z0-9._-]{1,12}){0,2}", fullmatch=True)
)
NAMES = st.builds(
    ImageName,
    content=CONTENTS.filter(lambda text: text[-1] != "-"),
    key=st.text().map(content_key),
    remote=REMOTES,
)


@pytest.mark.slow
@settings(deadline=None)
@given(NAMES)
def test_a_tag_is_parsed_back(name):
    assert parse_image_tag(image_tag(name)) == name


@settings(deadline=None)
@given(st.text())
def test_what_is_not_ours_is_nobodys(text):
    name = parse_image_tag(text)
    assert name is None or image_tag(name) == text.removeprefix("localhost/")


@pytest.mark.parametrize(
    "tag", ["python:3.9-slim", "swt-layer:latest", "swt-layer:a-" + "g" * 32, "x swt-layer:a-" + "0" * 32]
)
def test_foreign_tags(tag):
    assert parse_image_tag(tag) is None


@settings(deadline=None)
@given(st.lists(st.binary(max_size=40), max_size=6), st.integers(1, 30))
def test_frames_in_pieces_of_any_size(payloads, size):
    data = b"".join(bytes([1, 0, 0, 0]) + len(one).to_bytes(4, "big") + one for one in payloads)
    frames = Frames()
    said = b"".join(piece for at in range(0, len(data), size) for piece in frames.feed(data[at : at + size]))
    assert said == b"".join(payloads)


def _write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_one_tree_of_control_groups(tmp_path):
    folder = "cg/system.slice/docker-1.scope"
    _write(
        tmp_path,
        {
            "proc/7/cgroup": "0::/system.slice/docker-1.scope\n",
            "cg/cgroup.controllers": "cpu memory pids\n",
            f"{folder}/cgroup.procs": "7\n12\n",
            f"{folder}/cpu.stat": "usage_usec 2500000\nuser_usec 2000000\nsystem_usec 500000\n",
            f"{folder}/memory.events": "low 0\nhigh 0\nmax 9\noom 1\noom_kill 1\noom_group_kill 0\n",
            f"{folder}/pids.events": "max 3\n",
        },
    )
    group = cgroup_of(7, tmp_path / "cg", tmp_path / "proc")
    assert (group.pids(), group.cpu_s(), group.oom_kills(), group.refused_forks()) == ([7, 12], 2.5, 1, 3)


def test_a_tree_for_each_controller(tmp_path):
    _write(
        tmp_path,
        {
            "proc/7/cgroup": "9:pids:/docker/1\n4:memory:/docker/1\n2:cpu,cpuacct:/docker/1\n1:name=x:/y\n0::/z\n",
            "cg/pids/docker/1/cgroup.procs": "7\n",
            "cg/pids/docker/1/pids.events": "max 0\n",
            "cg/cpuacct/docker/1/cpuacct.usage": "1500000000\n",
            "cg/memory/docker/1/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
        },
    )
    group = cgroup_of(7, tmp_path / "cg", tmp_path / "proc")
    assert (group.pids(), group.cpu_s(), group.oom_kills(), group.refused_forks()) == ([7], 1.5, 2, 0)


def test_control_groups_that_cannot_be_seen(tmp_path):
    for files in ({}, {"proc/7/cgroup": "0::/\n"}, {"proc/7/cgroup": "0::/a\n", "cg/cgroup.controllers": ""}):
        _write(tmp_path, files)
        with pytest.raises(SandboxError, match="cannot be watched"):
            cgroup_of(7, tmp_path / "cg", tmp_path / "proc")


def _image(name: str, parent: str, size: int, used: str) -> Image:
    return Image(id=name, parent=parent, own_bytes=size, used=used)


CHAIN = (
    _image("python", "base", 50, "2026-01-09"),
    _image("old", "python", 30, "2026-01-01"),
    _image("new", "python", 30, "2026-01-05"),
    _image("other-python", "base", 50, "2026-01-02"),
    _image("other", "other-python", 30, "2026-01-03"),
)


@pytest.mark.parametrize(
    ("limit", "gone"),
    [
        (190, []),
        (160, ["old"]),
        (159, ["old", "other"]),
        (80, ["old", "other", "other-python"]),
        (0, ["old", "other", "other-python"]),
    ],
)
def test_the_least_recently_used_go_first_and_never_what_others_stand_on(limit, gone):
    assert [image.id for image in to_remove(CHAIN, limit, keep="new")] == gone


def test_settings():
    read = docker_settings({"SWT_DOCKER_DISK_GB": "0.5", "DOCKER_HOST": "unix:///x", "HOME": "/root"})
    assert (read.base, read.disk_bytes) == (DEFAULT_BASE, 500_000_000)
    assert read.environ == {"DOCKER_HOST": "unix:///x"}
    for wrong in ("0", "-1", "much", "nan", "inf"):
        with pytest.raises(BadInput, match="SWT_DOCKER_CPUS"):
            docker_settings({"SWT_DOCKER_CPUS": wrong})


@pytest.mark.parametrize("host", ["unix:///nonexistent.sock", "tcp://127.0.0.1:9"])
def test_without_an_engine_it_says_so(host, tmp_path):
    why_not = Docker(tmp_path, docker_settings({"DOCKER_HOST": host})).why_not()
    assert why_not == f"docker: no engine answers at {host} (DOCKER_HOST says where else)"
    assert not list(tmp_path.iterdir())
