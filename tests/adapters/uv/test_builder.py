"""Real environments, built by uv from a server on this machine."""

from __future__ import annotations

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from uv_plans import plan, toy_checkout, toy_files

from tasks.adapters.uv.builder import ROW, Builder, environment_root, load_environment, read_row, write_row
from tasks.adapters.uv.plan import TextFile
from tasks.domain.errors import BuildFailed, InfrastructureError, NotFound
from tasks.domain.names import EnvId, RepoPath


def no_checkout() -> Path:
    raise AssertionError("the checkout was not needed")


def output(python: Path, code: str, **env: str) -> str:
    done = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True, env=env, cwd="/")
    return done.stdout.strip()


def test_what_is_locked_is_installed_as_of_the_cutoff(builder: Builder, packages) -> None:
    packages.upload("alpha", "1.0", "2024-02-29T12:00:00Z", "beta")
    packages.upload("alpha", "2.0", "2024-03-01T00:00:01Z")
    packages.upload("beta", "0.1", "2020-01-01T00:00:00Z")
    built = builder.build(plan(requirements=("alpha",)), no_checkout)
    assert output(built.python, "import alpha, beta; print(alpha.version, beta.version)") == "1.0 0.1"
    assert [line.split()[0] for line in built.environment.lock.splitlines() if "==" in line] == [
        "alpha==1.0",
        "beta==0.1",
    ]
    assert "--hash=sha256:" in built.environment.lock


def test_a_lock_names_no_address(builder: Builder, packages) -> None:
    packages.upload("alpha", "1.0", "2024-01-01T00:00:00Z")
    lock = builder.lock(plan(requirements=("alpha",)))
    assert "http" not in lock
    assert "127.0.0.1" not in lock
    assert "#" not in lock


def test_no_release_of_the_project_itself_is_installed(builder: Builder, packages) -> None:
    packages.upload("plugin", "1.0", "2024-01-01T00:00:00Z", "toy")
    packages.upload("toy", "9.0", "2024-01-01T00:00:00Z")
    lock = builder.lock(plan(requirements=("plugin",)))
    assert "plugin==1.0" in lock
    assert "toy" not in lock


def test_a_constraint_bounds_what_is_pulled_in(builder: Builder, packages) -> None:
    packages.upload("alpha", "1.0", "2024-01-01T00:00:00Z", "beta")
    packages.upload("beta", "0.1", "2020-01-01T00:00:00Z")
    packages.upload("beta", "0.2", "2021-01-01T00:00:00Z")
    assert "beta==0.1" in builder.lock(plan(requirements=("alpha",), constraints=("beta<0.2", "gamma<1")))


def test_the_same_question_is_resolved_once(builder: Builder, packages) -> None:
    packages.upload("alpha", "1.0", "2024-01-01T00:00:00Z")
    first = builder.lock(plan(requirements=("alpha",)))
    packages.asked.clear()
    assert builder.lock(plan(requirements=("alpha",), source_roots=("lib",))) == first
    assert packages.asked == []


def test_requirements_that_cannot_be_satisfied_are_terminal_and_say_no_address(builder: Builder, packages) -> None:
    packages.upload("alpha", "1.0", "2025-01-01T00:00:00Z")
    with pytest.raises(BuildFailed, match="alpha") as caught:
        builder.lock(plan(requirements=("alpha",)))
    assert caught.value.hint
    assert "secret" not in str(caught.value)
    assert "127.0.0.1" not in str(caught.value)


def test_a_server_that_is_away_is_our_failure(builder: Builder, surroundings: dict[str, str]) -> None:
    away = replace(builder, environ={**surroundings, "UV_DEFAULT_INDEX": "http://me:secret@127.0.0.1:9/all"})
    with pytest.raises(InfrastructureError) as caught:
        away.lock(plan(requirements=("alpha",)))
    assert "secret" not in str(caught.value)


def test_the_metadata_of_the_checkout_points_at_testbed(builder: Builder, tmp_path: Path) -> None:
    checkout = toy_checkout(tmp_path / "checkout")
    built = builder.build(plan(editable=True, project_files=toy_files()), lambda: checkout)
    code = (
        "import importlib.metadata as m; d = m.distribution('toy'); print(d.version, [e.name for e in d.entry_points])"
    )
    assert output(built.python, code) == "1.5 ['toy']"
    assert output(built.python, "import toy; print(toy.place)", PYTHONPATH=str(checkout / "src")) == "checkout"
    scripts = (built.root / "bin" / "toy").read_text()
    assert str(built.python) in scripts
    assert [path.read_text() for path in built.root.glob("lib/*/site-packages/__testbed__.pth")] == ["/testbed/src\n"]


def test_nothing_in_an_environment_says_where_it_was_built(builder: Builder, tmp_path: Path, packages) -> None:
    packages.upload("alpha", "1.0", "2024-01-01T00:00:00Z")
    checkout = toy_checkout(tmp_path / "checkout")
    built = builder.build(plan(editable=True, project_files=toy_files(), requirements=("alpha",)), lambda: checkout)
    texts = [path for path in built.root.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    telling = [path for path in texts if b".half" in (data := path.read_bytes()) or str(checkout).encode() in data]
    assert telling == []


def test_the_source_roots_are_importable_where_nothing_is_installed(builder: Builder) -> None:
    built = builder.build(plan(source_roots=("", "lib")), no_checkout)
    (pth,) = built.root.glob("lib/*/site-packages/__testbed__.pth")
    assert pth.read_text() == "/testbed\n/testbed/lib\n"
    assert built.environment.install == ("path", "compile")


def test_generated_files_come_back_with_the_environment(builder: Builder) -> None:
    file = TextFile(path=RepoPath("src/toy/_version.py"), text="version = '1.5.0'\n")
    built = builder.build(plan(generated=(file,)), no_checkout)
    assert built.environment.install[-1] == "generate:src/toy/_version.py"
    assert built.generated == (file,)
    assert load_environment(environment_root(builder.cache, built.environment.env_id)) == built


def test_equal_locks_are_one_environment_whatever_the_cutoff(builder: Builder, packages) -> None:
    packages.upload("alpha", "1.0", "2020-01-01T00:00:00Z")
    early = plan(
        requirements=("alpha",), rung="extras", recipe="inferred", exclude_newer=datetime(2021, 1, 1, tzinfo=UTC)
    )
    first = builder.build(early, no_checkout)
    second = builder.build(plan(requirements=("alpha",)), no_checkout)
    assert second == first


@pytest.mark.parametrize(
    "change",
    [
        {"env": ()},
        {"test_args": ("-x",)},
        {"source_roots": ("",)},
        {"build_env": ("A=1",)},
        {"generated": (TextFile(path=RepoPath("a.py"), text=""),)},
        {"project_files": (TextFile(path=RepoPath("setup.py"), text=""),)},
    ],
)
def test_whatever_decides_the_result_is_in_the_id(change: dict[str, object]) -> None:
    assert plan(**change).env_id("") != plan().env_id("")


def test_builders_at_the_same_time_do_one_build(builder: Builder, packages) -> None:
    packages.upload("alpha", "1.0", "2024-01-01T00:00:00Z")
    wanted = plan(requirements=("alpha",))
    with ThreadPoolExecutor(4) as pool:
        built = list(pool.map(lambda _: builder.build(wanted, no_checkout), range(4)))
    assert len({one.environment.built_at for one in built}) == 1
    assert len([path for path in packages.asked if path.startswith("GET /files/")]) <= 2


def test_a_build_that_fails_leaves_nothing_behind(builder: Builder, tmp_path: Path) -> None:
    checkout = toy_checkout(tmp_path / "checkout")
    (checkout / "backend.py").write_text("raise SystemExit('broken at this commit')")
    with pytest.raises(BuildFailed, match="broken at this commit"):
        builder.build(plan(editable=True, project_files=toy_files()), lambda: checkout)
    assert [path.suffix for path in (builder.cache / "environments").iterdir()] == [".lock"]


def test_a_half_built_environment_of_a_killed_builder_is_built_again(builder: Builder) -> None:
    env_id = plan().env_id("")
    (environment_root(builder.cache, env_id) / "bin").mkdir(parents=True)
    stale = environment_root(builder.cache, env_id).with_name(f".{env_id}.1.half")
    stale.mkdir()
    assert output(builder.build(plan(), no_checkout).python, "print(1)") == "1"
    assert not stale.exists()


def test_an_environment_that_is_not_there(builder: Builder) -> None:
    with pytest.raises(NotFound):
        load_environment(environment_root(builder.cache, EnvId("0" * 32)))


def test_a_damaged_environment_is_our_failure(builder: Builder) -> None:
    built = builder.build(plan(), no_checkout)
    (built.root / ROW).write_text("{")
    with pytest.raises(InfrastructureError, match="damaged"):
        load_environment(environment_root(builder.cache, built.environment.env_id))


def test_the_row_survives_its_file(builder: Builder, tmp_path: Path) -> None:
    row = builder.build(plan(test_args=("-rA",)), no_checkout).environment
    write_row(tmp_path / "row.json", row)
    assert read_row(tmp_path / "row.json") == row
    assert json.loads((tmp_path / "row.json").read_text())["exclude_newer"] == "2024-03-01T00:00:00+00:00"


def test_the_python_needs_nothing_but_what_it_binds(builder: Builder) -> None:
    built = builder.build(plan(), no_checkout)
    assert built.python.resolve().is_relative_to(built.interpreter.base_prefix)
    links = [path for path in built.root.rglob("*") if path.is_symlink()]
    assert all(any(link.resolve().is_relative_to(bind) for bind in built.binds) for link in links)
