"""What only containers have: images made of layers, a disk budget, and labels by which leftovers are found."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest
from docker.types import Ulimit

from tasks.adapters.sandbox.base import Mount
from tasks.adapters.sandbox.docker.budget import LAYER, drop, images, to_remove
from tasks.adapters.sandbox.docker.container import RUN, orphans
from tasks.domain.errors import SandboxError

pytestmark = pytest.mark.docker
ROOT = Path(__file__).resolve().parents[3]
MIB = 1 << 20
EIGHT = 8

FLOW = """
import os
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tasks.adapters.sandbox.base import Job
from tasks.adapters.sandbox.select import pick
from tasks.domain.outcome import SandboxKind
root = Path(sys.argv[1])
sandbox = pick(SandboxKind.DOCKER, trusted=False, base=root / "base")
def run(number):
    folder = root / str(number)
    for name in ("checkout", "outbox"):
        (folder / name).mkdir(parents=True)
    argv = ("sh", "-c", "setsid sleep " + sys.argv[2] + " & sleep " + sys.argv[2])
    try:
        sandbox.run(Job(argv=argv, checkout=folder / "checkout", outbox=folder / "outbox", log=folder / "log"))
    finally:  # none of them ends by itself, and the others would be waited for
        traceback.print_exc()
        os._exit(1)
with ThreadPoolExecutor(8) as pool:
    list(pool.map(run, range(8)))
"""

LABEL = "from tasks.adapters.sandbox.label import Label; print(Label.new())"


def _size(docker_bench, mounts):
    return docker_bench.sandbox.run(
        docker_bench.job("wc", "-c", *(f"{one.host}/data" for one in mounts), mounts=mounts)
    )


def test_a_layer_is_made_once_and_holds_its_folder(docker_bench, client, folder, tags):
    mount = folder("kept", MIB)
    first = _size(docker_bench, (mount,))
    assert (first.exit_code, docker_bench.said().split()[0]) == (0, str(MIB)), docker_bench.said()
    (mount.host / "data").unlink()
    second = _size(docker_bench, (mount,))
    assert second.exit_code == 0, "what the image holds does not come from the host any more"
    assert first.image == second.image
    assert first.image.startswith("sha256:")


def test_layers_below_are_shared(docker_bench, client, folder, tags):
    below, one, other = folder("below", MIB), folder("one", MIB), folder("other", MIB)
    first, second = (_size(docker_bench, (below, top)) for top in (one, other))
    layers = [client.inspect_image(run.image)["RootFS"]["Layers"] for run in (first, second)]
    assert layers[0][:-1] == layers[1][:-1]
    assert layers[0][-1] != layers[1][-1]
    assert len(tags([below.content])) == 1


def test_the_budget_removes_bytes_from_the_engine(docker_bench, client, folder, tags):
    mounts = [folder(f"part{number}", 24 * MIB) for number in range(3)]
    for mount in (*mounts, mounts[0]):  # the first is used again: the second is now the oldest
        _size(docker_bench, (mount,))
        time.sleep(0.02)
    if client.inspect_image(tags([mounts[0].content])[0])["Metadata"]["LastTagTime"].startswith("0001"):
        pytest.skip("this engine does not say when an image was last used: the oldest go first")
    ids = [client.inspect_image(tag)["Id"] for mount in mounts for tag in tags([mount.content])]
    ours = [image for image in images(client) if image.id in ids]
    taken = sum(image.own_bytes for image in ours)
    assert 70 * MIB < taken < 80 * MIB
    before = client.df()["LayersSize"]
    assert drop(client, to_remove(ours, taken - MIB, keep=ids[2])) == 1
    assert [len(tags([mount.content])) for mount in mounts] == [1, 0, 1]
    assert before - client.df()["LayersSize"] > 23 * MIB
    assert _size(docker_bench, (mounts[1],)).exit_code == 0, "what was removed is built again"


class EarlierListing:
    """The engine as it looks to one who listed its images before one of them was removed."""

    def __init__(self, client, listed):
        self._client, self._listed = client, listed

    def images(self, **_):
        return self._listed

    def __getattr__(self, name):
        return getattr(self._client, name)


def test_an_image_that_somebody_removes_meanwhile_is_none(docker_bench, client, folder):
    image = _size(docker_bench, (folder("kept", MIB),)).image
    (kept,) = [facts for facts in client.images(filters={"label": LAYER}) if facts["Id"] == image]
    gone = kept | {"Id": "sha256:" + 64 * "0"}
    assert [found.id for found in images(EarlierListing(client, [gone, kept]))] == [image]


def test_what_the_runs_own_folders_would_cover_is_mounted(docker_bench, tags, tmp_path):
    below = tmp_path / "covered"
    below.mkdir()
    (below / "data").write_bytes(b"below /tmp")
    finished = _size(docker_bench, (Mount(below, PurePosixPath(below), content=f"test.{os.getpid()}.covered"),))
    assert finished.exit_code == 0, docker_bench.said()
    assert tags([f"test.{os.getpid()}.covered"]) == []


def test_a_folder_that_is_not_at_its_own_path_is_refused(docker_bench, tmp_path):
    mount = Mount(tmp_path, PurePosixPath("/elsewhere"), content="test-moved")
    with pytest.raises(SandboxError, match="its own path"):
        docker_bench.sandbox.run(docker_bench.job("true", mounts=(mount,)))


def test_eight_at_once_build_a_layer_once(docker_bench, client, folder, tags):
    mount = folder("raced", MIB)
    benches = [docker_bench.beside(str(number)) for number in range(EIGHT)]
    with ThreadPoolExecutor(EIGHT) as pool:
        runs = list(pool.map(lambda bench: _size(bench, (mount,)), benches))
    assert {run.image for run in runs} == {runs[0].image}
    assert not [facts for facts in client.images(filters={"label": "swt.layer", "dangling": True}) if _raced(facts)]


def _raced(facts) -> bool:
    return facts["Labels"]["swt.layer"] == f"test.{os.getpid()}.raced"


def test_a_killed_flow_with_eight_containers_leaves_none(docker_bench, client, alive, until, tmp_path):
    seconds = f"7{os.getpid()}.8"
    (tmp_path / "base").mkdir()
    flow = subprocess.Popen([sys.executable, "-c", FLOW, str(tmp_path), seconds], cwd=ROOT)
    try:
        until(lambda: flow.poll() is not None or len(alive("sleep\0" + seconds)) >= 2 * EIGHT)
        assert flow.poll() is None, "a job ended; standard error says how"
        assert len(_of(client, flow.pid)) == EIGHT
    finally:
        flow.kill()
        flow.wait()
    until(lambda: not alive("sleep\0" + seconds))
    replace(docker_bench.sandbox, base=tmp_path / "base").sweep()
    assert _of(client, flow.pid) == []
    assert not list((tmp_path / "base").iterdir())


def test_a_container_that_never_got_its_lifeline_is_swept(docker_bench, client):
    """A kill between two calls of the engine leaves a container that nothing holds and nothing ends."""
    dead = subprocess.run([sys.executable, "-c", LABEL], cwd=ROOT, capture_output=True, text=True, check=True)
    image = docker_bench.sandbox.run(docker_bench.job("true")).image
    modest = client.create_host_config(ulimits=[Ulimit(name=name, soft=99, hard=99) for name in ("nofile", "nproc")])
    left = client.create_container(image, ["sleep", "60"], labels={RUN: dead.stdout.strip()}, host_config=modest)["Id"]
    client.start(left)
    assert left in orphans(client)
    assert docker_bench.sandbox.sweep() >= 1
    assert left not in [facts["Id"] for facts in client.containers(all=True)]


def test_what_others_started_is_left_alone(docker_bench, client):
    image = docker_bench.sandbox.run(docker_bench.job("true")).image
    theirs = client.create_container(image, ["sleep", "60"], labels={RUN: "of-somebody"})["Id"]
    try:
        docker_bench.sandbox.sweep()
        assert client.inspect_container(theirs)["Id"] == theirs
    finally:
        client.remove_container(theirs, force=True)


def test_the_kernel_holds_memory_where_a_look_is_too_late(docker_bench):
    """The hard limit of the container: a job that takes everything at once is ended by the kernel, and named."""
    code = "kept = [bytearray(1 << 30) for _ in range(64)]"
    finished = docker_bench.python(code, memory_mb=100, disk_mb=100)
    assert (finished.limit, finished.timed_out) == ("memory", False)


def _of(client, pid: int) -> list[str]:
    return [
        one["Id"] for one in client.containers(all=True) if one["Labels"].get(RUN, "").startswith(f"swt-run-{pid}-")
    ]
