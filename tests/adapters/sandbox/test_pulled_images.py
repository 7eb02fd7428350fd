"""Images from a server: a real one on this machine, pushed to and pulled from by the engine."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import tarfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from urllib.request import urlopen

import pytest
from docker.errors import ImageNotFound

from tasks.adapters.sandbox.docker.layers import ImageName, image_tag, parse_image_tag
from tasks.domain.errors import SandboxError

pytestmark = pytest.mark.docker
PROGRAM = "docker-registry"
PROGRAMS = ("sh", "cat", "env", "true", "wc")
KIB = 1 << 10

SERVER = """
version: 0.1
storage:
  filesystem:
    rootdirectory: {folder}/images
http:
  addr: {address}
"""


@pytest.fixture
def server(client, tmp_path: Path) -> Iterator[str]:
    """`host:port` of an empty server of images; engines speak plain HTTP to those of their own machine."""
    program = shutil.which(PROGRAM)
    if program is None:
        pytest.skip(f"{PROGRAM} is not installed (Debian has it as a package)")
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    config, log = tmp_path / "server.yml", tmp_path / "server.log"
    config.write_text(SERVER.format(folder=tmp_path, address=address))
    with log.open("wb") as output:
        process = subprocess.Popen([program, "serve", str(config)], stdout=output, stderr=output, cwd=tmp_path)
    try:
        _wait(address, log)
        yield address
    finally:
        process.terminate()
        process.wait()


@pytest.fixture
def small(docker_bench, client, tmp_path: Path):
    """The bench on a base image of a few megabytes, which is quickly pushed: a handful of this machine's programs."""
    if (listing := shutil.which("ldd")) is None:
        pytest.skip("ldd is not installed: it says which libraries a program needs")
    archive, name = tmp_path / "small.tar", f"swt-test-small:{os.getpid()}"
    with tarfile.open(archive, "w", dereference=True) as tar:
        libraries = set()
        for program in PROGRAMS:
            path = str(Path(shutil.which(program) or program).resolve())
            tar.add(path, f"bin/{program}")
            tar.add(path, f"usr/bin/{program}")
            needed = subprocess.run([listing, path], capture_output=True, text=True, check=True).stdout
            libraries |= set(re.findall(r"(/\S+) \(0x", needed))
        for library in sorted(libraries):
            tar.add(library, library.lstrip("/"))
    client.import_image_from_file(str(archive), *name.split(":"))
    try:
        yield _with_settings(docker_bench, base=name)
    finally:
        client.remove_image(name, force=True)


def _wait(address: str, log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with suppress(OSError), urlopen(f"http://{address}/v2/", timeout=5):
            return
        time.sleep(0.05)
    raise AssertionError(f"the server does not answer: {log.read_text()[-500:]}")


def _with_settings(docker_bench, **settings):
    """The bench with other settings of containers."""
    sandbox = replace(docker_bench.sandbox, settings=replace(docker_bench.sandbox.settings, **settings))
    return replace(docker_bench, sandbox=sandbox)


def _push(client, image: str, name: str) -> None:
    """Tag, push and forget an image; it stays here under its other names."""
    client.tag(image, name)
    said = list(client.push(name, stream=True, decode=True))
    assert not [line for line in said if "error" in line]
    client.remove_image(name)


def _size(bench, mount):
    return bench.sandbox.run(bench.job("wc", "-c", f"{mount.host}/data", mounts=(mount,)))


def test_a_base_that_is_not_here_is_pulled(small, client, server, folder, tags):
    built = _size(small, folder("base", KIB)).image
    _push(client, built, f"{server}/some/base:3.9-small")
    client.remove_image(tags([f"test.{os.getpid()}.base"])[0])
    with pytest.raises(ImageNotFound):
        client.inspect_image(built)
    elsewhere = _with_settings(small, base=f"{server}/some/base:{{version}}-small")
    job = replace(elsewhere.job("true"), python="3.9")
    try:
        finished = elsewhere.sandbox.run(job)
    finally:
        client.remove_image(f"{server}/some/base:3.9-small")
    assert (finished.exit_code, finished.image) == (0, built)


def test_a_layer_that_the_server_has_is_pulled_and_not_built(small, client, server, folder, tags):
    mount = folder("theirs", KIB)
    built = _size(small, mount).image
    (tag,) = tags([mount.content])
    _push(client, built, image_tag(replace(_name(tag), remote=f"{server}/layers")))
    client.remove_image(tag)
    (mount.host / "data").unlink()
    pulling = _with_settings(small, remote=f"{server}/layers")
    finished = _size(pulling, mount)
    assert (finished.exit_code, finished.image) == (0, built), small.said()
    assert pulling.said().split()[0] == str(KIB), "what was pulled has the file that is no longer here"
    assert tags([mount.content]) == [tag], "it is here under its own name, and counts for the budget"


def test_a_layer_that_the_server_lacks_is_built(small, server, folder):
    finished = _size(_with_settings(small, remote=f"{server}/layers"), folder("ours", KIB))
    assert finished.exit_code == 0, small.said()


def test_a_layer_is_built_where_no_server_answers(small, folder):
    finished = _size(_with_settings(small, remote=f"{_nobody()}/layers"), folder("alone", KIB))
    assert finished.exit_code == 0, small.said()


def test_a_base_that_nobody_has_is_named_with_the_reason(small, server):
    for host, reason in ((server, "not found"), (_nobody(), "refused")):
        elsewhere = _with_settings(small, base=f"{host}/nothing:{{version}}")
        with pytest.raises(SandboxError, match=rf"the base image {host}/nothing:.* cannot be pulled .*{reason}"):
            elsewhere.sandbox.run(elsewhere.job("true"))


def _name(tag: str) -> ImageName:
    name = parse_image_tag(tag)
    assert name is not None
    return name


def _nobody() -> str:
    """A place of this machine where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return f"127.0.0.1:{free.getsockname()[1]}"
