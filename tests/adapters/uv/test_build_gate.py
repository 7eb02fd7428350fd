"""Hostile builds: what they see, what they may leave, and what becomes of the environment."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from uv_plans import PYPROJECT, plan, toy_files

from tasks.adapters.tool_environment import tool_environment
from tasks.adapters.uv.builder import Builder
from tasks.adapters.uv.install import compile_packages
from tasks.adapters.uv.interpreters import machine_interpreters
from tasks.adapters.uv.plan import Interpreter
from tasks.adapters.uv.process import PackageFailed
from tasks.domain.errors import BuildFailed

DAY = "2024-01-01T00:00:00Z"
CANARIES = {
    "OPENAI_API_KEY": "canary-openai",
    "GITHUB_TOKEN": "canary-github",
    "AWS_SECRET_ACCESS_KEY": "canary-aws",
    "SWT_LEASES": "postgresql://swt:canary-password@db/swt",
}

SPY = """
import json, os, socket, zipfile

def look(outside, home, port):
    found = {"env": dict(os.environ), "home": os.environ.get("HOME", ""), "open": []}
    for name, attempt in {
        "list the home folder": lambda: os.listdir(home),
        "read a key": lambda: open(home + "/.ssh/id").read(),
        "write beside itself": lambda: open(outside, "w").write("planted"),
        "connect": lambda: socket.create_connection(("127.0.0.1", port), 2),
    }.items():
        try:
            attempt()
        except OSError:
            continue
        found["open"].append(name)
    found["files at home"] = os.listdir(found["home"])
    return found

def wheel(folder, name, files, version="1.0"):
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(f"{folder}/{name}-{version}-py3-none-any.whl", "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        archive.writestr(f"{info}/entry_points.txt", files.get("entry_points", ""))
        archive.writestr(f"{info}/RECORD", "")
    return f"{name}-{version}-py3-none-any.whl"
"""


def backend(body: str) -> dict[str, str]:
    """A source tree whose backend is its own; `body` is that of `build_wheel(folder)`."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    head = "def build_wheel(folder, config_settings=None, metadata_directory=None):\n"
    return {"pyproject.toml": PYPROJECT, "backend.py": f"{SPY}\n{head}{lines}"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with a key, and variables that nobody may see."""
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id").write_text("canary-key")
    monkeypatch.setenv("HOME", str(home))
    for name, value in CANARIES.items():
        monkeypatch.setenv(name, value)
    return home


def told(built: Path) -> dict[str, object]:
    (file,) = built.glob("lib/python*/site-packages/spy.json")
    found: dict[str, object] = json.loads(file.read_text())
    return found


def check(found: dict[str, object], builder: Builder, planted: Path) -> None:
    assert "canary" not in json.dumps(found)
    assert found["files at home"] == []
    if builder.sandbox.isolates:
        assert found["open"] == []
        assert not planted.exists()


def test_a_source_distribution_sees_no_secret_and_leaves_nothing(
    each_builder: Builder, packages, tmp_path: Path, home: Path, surroundings: dict[str, str]
) -> None:
    planted = tmp_path / "planted"
    look = f"look({str(planted)!r}, {str(home)!r}, {packages.port})"
    body = f"return wheel(folder, 'hostile', {{'spy.json': json.dumps({look})}})"
    packages.upload_source("hostile", "1.0", DAY, backend(body))
    built = each_builder.build(plan(requirements=("hostile",)), lambda: tmp_path)
    check(told(built.root), each_builder, planted)


def test_a_checkout_that_is_built_sees_no_secret_and_leaves_nothing(
    each_builder: Builder, packages, tmp_path: Path, home: Path
) -> None:
    planted, checkout = tmp_path / "planted", tmp_path / "checkout"
    checkout.mkdir()
    look = f"look({str(planted)!r}, {str(home)!r}, {packages.port})"
    body = f"found = json.dumps({look})\nreturn wheel(folder, 'toy', {{'entry_points': '[spy]\\nx = ' + found}}, '1.5')"
    for path, text in backend(body).items():
        (checkout / path).write_text(text)
    built = each_builder.build(plan(editable=True, project_files=toy_files()), lambda: checkout)
    (points,) = built.root.glob("lib/python*/site-packages/toy-1.5.dist-info/entry_points.txt")
    check(json.loads(points.read_text().partition("x = ")[2]), each_builder, planted)


@pytest.mark.slow
@pytest.mark.parametrize("interpreter", machine_interpreters(), ids=lambda found: found.minor)
def test_every_python_of_this_machine_builds(
    builder: Builder, packages, tmp_path: Path, interpreter: Interpreter
) -> None:
    """A source distribution into an environment, then a checkout: uv links build environments in several ways."""
    packages.upload_source("needed", "1.0", DAY, backend("return wheel(folder, 'needed', {'needed.py': 'x = 5'})"))
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    for path, text in backend("return wheel(folder, 'toy', {}, '1.5')").items():
        (checkout / path).write_text(text)
    wanted = plan(requirements=("needed",), interpreter=interpreter, editable=True, project_files=toy_files())
    built = builder.build(wanted, lambda: checkout)
    done = subprocess.run([built.python, "-c", "import needed, sys; print(needed.x, sys.prefix)"], capture_output=True)
    assert done.stdout.decode().split() == ["5", str(built.root)]


def test_variables_of_the_plan_reach_a_build(builder: Builder, tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    body = "return wheel(folder, 'toy', {'entry_points': '[spy]\\nx = ' + os.environ['PRETEND']}, '1.5')"
    for path, text in backend(body).items():
        (checkout / path).write_text(text)
    wanted = plan(editable=True, project_files=toy_files(), build_env=("PRETEND=seen",))
    built = builder.build(wanted, lambda: checkout)
    (points,) = built.root.glob("lib/python*/site-packages/toy-1.5.dist-info/entry_points.txt")
    assert points.read_text().endswith("x = seen")


def test_a_build_cannot_store_a_wheel_for_another_project(builder: Builder, packages, tmp_path: Path) -> None:
    packages.upload("other", "1.0", DAY)
    body = "wheel(folder, 'hostile', {})\nreturn wheel(folder, 'other', {'other.py': 'version = 2'})"
    packages.upload_source("hostile", "1.0", DAY, backend(body))
    with pytest.raises(BuildFailed):
        builder.build(plan(requirements=("hostile",)), lambda: tmp_path)
    built = builder.build(plan(requirements=("other",)), lambda: tmp_path)
    done = subprocess.run(
        [built.python, "-c", "import other; print(other.version)"], capture_output=True, text=True, check=True
    )
    assert done.stdout == "1.0\n"


def test_links_that_a_build_leaves_are_not_followed(builder: Builder, packages, tmp_path: Path) -> None:
    if not builder.sandbox.isolates:
        pytest.skip("nothing isolates here")
    secret = tmp_path / "secret.whl"
    secret.write_text("canary")
    name = "hostile-1.0-py3-none-any.whl"
    packages.upload_source(
        "hostile", "1.0", DAY, backend(f"os.symlink({str(secret)!r}, folder + '/{name}')\nreturn '{name}'")
    )
    with pytest.raises(BuildFailed):
        builder.build(plan(requirements=("hostile",)), lambda: tmp_path)


def test_a_build_that_wants_the_network_is_named_and_not_tried_again(
    builder: Builder, packages, tmp_path: Path
) -> None:
    if not builder.sandbox.isolates:
        pytest.skip("nothing isolates here")
    body = f"socket.create_connection(('127.0.0.1', {packages.port}))"
    packages.upload_source("hostile", "1.0", DAY, backend(body))
    with pytest.raises(PackageFailed, match="a build asks for the network, and builds have none") as caught:
        builder.build(plan(requirements=("hostile",)), lambda: tmp_path)
    assert caught.value.packages == {"hostile"}


def test_a_build_is_ended_at_the_time_limit(builder: Builder, packages, tmp_path: Path) -> None:
    from dataclasses import replace

    packages.upload_source("hostile", "1.0", DAY, backend("import time\ntime.sleep(600)"))
    with pytest.raises(Exception, match=r"took longer|time, "):
        replace(builder, timeout_s=4).build(plan(requirements=("hostile",)), lambda: tmp_path)


def test_startup_files_of_an_environment_do_not_run_on_the_host(builder: Builder, packages, tmp_path: Path) -> None:
    if not builder.sandbox.isolates:
        pytest.skip("nothing isolates here")
    planted, checkout = tmp_path / "planted", tmp_path / "checkout"
    line = f"import pathlib; pathlib.Path({str(planted)!r}).touch()\n"
    packages.upload_source(
        "hostile", "1.0", DAY, backend(f"return wheel(folder, 'hostile', {{'hostile.pth': {line!r}}})")
    )
    checkout.mkdir()
    for path, text in backend("return wheel(folder, 'toy', {}, '1.5')").items():
        (checkout / path).write_text(text)
    wanted = plan(requirements=("hostile",), editable=True, project_files=toy_files())
    built = builder.build(wanted, lambda: checkout)
    assert list(built.root.glob("lib/python*/site-packages/hostile.pth"))
    compile_packages(builder.gated(wanted.interpreter), wanted.interpreter, built.root)
    assert not planted.exists()


def test_an_environment_has_the_real_interpreter(builder: Builder, tmp_path: Path) -> None:
    built = builder.build(plan(), lambda: tmp_path)
    assert built.python.resolve() == plan().interpreter.path.resolve()
    assert "gates" not in (built.root / "pyvenv.cfg").read_text()


def test_only_allowed_variables_reach_the_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in CANARIES.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy")
    allowed = tool_environment(os.environ)
    assert "canary" not in json.dumps(allowed)
    assert "HOME" not in allowed
    assert allowed["HTTPS_PROXY"] == "http://proxy"
    assert allowed["PATH"] == os.environ["PATH"]
