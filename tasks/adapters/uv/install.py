"""The steps that fill a virtual environment."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tasks.adapters.uv.build_gate import GatedUv
from tasks.adapters.uv.lock import building_options, cutoff
from tasks.adapters.uv.metadata import PTH, pointing_wheel, pth
from tasks.adapters.uv.plan import EnvironmentPlan, Interpreter
from tasks.adapters.uv.process import Tool
from tasks.domain.errors import BuildFailed


def install(uv: GatedUv, plan: EnvironmentPlan, lock: str, root: Path, checkout: Callable[[], Path]) -> None:
    """Create a virtual environment at `root` and run every step of the plan in it."""
    uv.run("venv", "--quiet", "--no-project", "--python", str(uv.python), str(root))
    python = root / "bin" / "python"
    if lock:
        _sync(uv, plan, lock, python)
    if plan.editable:
        _install_metadata(uv, plan, python, checkout().resolve())
    else:
        _site_packages(root).joinpath(PTH).write_text(pth(plan.source_roots), encoding="utf-8")
    uv.gate.restore(root)
    compile_packages(uv, plan.interpreter, root)
    _generate(plan, root)


def _sync(uv: GatedUv, plan: EnvironmentPlan, lock: str, python: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="swt-lock-") as folder:
        path = Path(folder) / "lock.txt"
        path.write_text(lock, encoding="utf-8")
        uv.run(
            *("pip", "sync", "--quiet", "--no-sources", "--python", str(python), "--require-hashes"),
            *building_options(plan.building, Path(folder)),
            *(*cutoff(plan.exclude_newer), str(path)),
            hint="a locked package does not build here: drop it in the recipe, or install what it needs",
        )


def _install_metadata(uv: GatedUv, plan: EnvironmentPlan, python: Path, checkout: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="swt-wheel-") as name:
        folder = Path(name).resolve()
        (folder / "built").mkdir()
        uv.run(
            *("build", "--wheel", "--no-sources", "--python", str(python)),
            *(*cutoff(plan.exclude_newer), "--out-dir", str(folder / "built"), str(checkout)),
            build_env=plan.build_env,
            source=checkout,
            output=folder / "built",
            hint="the project's metadata does not build at this commit: install = none in the recipe may do",
        )
        wheel = pointing_wheel(_only_wheel(folder / "built"), folder / "pointing", plan.source_roots)
        uv.run("pip", "install", "--quiet", "--no-deps", "--offline", "--python", str(python), str(wheel))
    for leak in _site_packages(python.parent.parent).glob("*.dist-info/direct_url.json"):
        leak.unlink()


def _only_wheel(folder: Path) -> Path:
    wheels = sorted(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise BuildFailed(f"building the checkout left {len(wheels)} wheels", hint="write a recipe with install = none")
    return wheels[0]


def _site_packages(root: Path) -> Path:
    (folder,) = root.glob("lib/python*/site-packages")
    return folder


def compile_packages(uv: GatedUv, interpreter: Interpreter, root: Path) -> None:
    """Compile installed packages, so that test runs neither write bytecode nor show compile-time warnings.

    Compiling runs no third-party code: `-S` prevents the interpreter from processing `.pth` files.
    """
    tool = Tool(interpreter.path, uv.tool.environ, uv.tool.timeout_s)
    folder = str(_site_packages(root))
    tool.run(*("-I", "-S", "-W", "ignore", "-m", "compileall", "-q", "-j", "2"), folder, tolerate=(1,))


def _generate(plan: EnvironmentPlan, root: Path) -> None:
    for file in plan.generated:
        path = root / "generated" / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8")


def text_files(root: Path) -> Iterator[Path]:
    """Yield files of an environment that contain its own path as text: scripts, `.pth` files, its configuration."""
    yield from sorted(path for path in (root / "bin").iterdir() if path.is_file() and not path.is_symlink())
    yield from sorted(_site_packages(root).glob("*.pth"))
    yield root / "pyvenv.cfg"


def move(built: Path, final: Path) -> None:
    """Rename a finished environment, after rewriting its texts to the new path."""
    old, new = str(built).encode(), str(final).encode()
    for path in text_files(built):
        data = path.read_bytes()
        if old in data:
            mode = path.stat().st_mode
            path.unlink()  # it may be a hard link into the package cache
            path.write_bytes(data.replace(old, new))
            path.chmod(mode)
    built.rename(final)
