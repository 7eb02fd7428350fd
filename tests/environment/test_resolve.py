from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from domain_rows import task_instance

from tasks.adapters.uv.host_environment import host_environment
from tasks.adapters.uv.plan import Building, BuiltEnvironment, EnvironmentPlan, Interpreter, TextFile
from tasks.adapters.uv.process import PackageFailed
from tasks.domain.environment import Cause
from tasks.domain.errors import BuildFailed, InfrastructureError, NotFound
from tasks.domain.instance import TaskInstance
from tasks.domain.names import RepoName, RepoPath
from tasks.domain.outcome import RunnerKind
from tasks.environment.plan_adjustments import BuildOptions
from tasks.environment.project_files.project import Project
from tasks.environment.project_files.requirements import Read
from tasks.environment.readiness.build_problems import BuildProblem
from tasks.environment.recipes import load_recipes
from tasks.environment.resolve import MENDED, Books, Climb, climb, plan_ladder, resolve

HAVE = tuple(
    Interpreter(path=Path(f"/opt/{version}/bin/python"), version=version, base_prefix=Path(f"/opt/{version}"))
    for version in ("3.12.1", "3.11.7", "3.9.18")
)
DATE = datetime(2023, 1, 1, 12, tzinfo=UTC)
RECIPE = """
repo = "owner/name"
[defaults]
python = "3.9"
install = "editable"
runner = "pytest"
exclude_newer = 2024-03-01T00:00:00Z
requirements = ["missing.txt|dev.txt"]
packages = ["Click==8.1.3"]
drop = ["pylibmc"]
extras = ["test"]
build_env = { PRETEND = "{version}.0" }
generated = { "v.py" = "{version}" }
[[version_rules]]
path = "v"
pattern = '(\\d+)\\.(\\d+)'
[[versions]]
versions = ["1.0"]
"""
FILES = {
    "dev.txt": "click==8.0\npylibmc\nblack\n",
    "setup.cfg": "[metadata]\nname = thing\n[options]\ninstall_requires =\n    click>=8\n"
    "[options.extras_require]\ntest = mock\n",
    "v": "1.3.0.dev1",
}


def instance(version: str | None = None, repo: str = "owner/name") -> TaskInstance:
    return task_instance(repo=RepoName(repo), version=version)


@pytest.fixture
def books(tmp_path: Path):
    (tmp_path / "owner__name.toml").write_text(RECIPE)
    return load_recipes(tmp_path)


def ladder(
    instance: TaskInstance, read: Read, books: Books, have: tuple[Interpreter, ...] = HAVE
) -> tuple[EnvironmentPlan, ...]:
    return tuple(plan_ladder(resolve(instance, read, books), read, have, DATE))


def test_the_rows_own_version_wins(books) -> None:
    assert resolve(instance("1.0"), FILES.get, books).version == "1.0"
    assert resolve(instance(), FILES.get, books).version == "1.3"
    assert resolve(instance(), {}.get, books).version is None
    assert resolve(instance(repo="a/b"), FILES.get, books).version is None


def test_a_recipe_becomes_the_first_plan_and_gives_way_to_inference(books) -> None:
    plan, *inferred = ladder(instance(), FILES.get, books)
    assert [one.recipe for one in inferred] == ["inferred", "inferred"]
    assert plan.requirements == ("Click==8.1.3", "black", "click>=8", "mock")
    assert plan.recipe == "owner__name.toml#1.0~1.3"
    assert plan.project == "thing"
    assert plan.interpreter.version == "3.9.18"
    assert plan.build_env == ("PRETEND=1.3.0",)
    assert plan.generated == (TextFile(path=RepoPath("v.py"), text="1.3"),)
    assert [file.path for file in plan.project_files] == ["setup.cfg"]
    assert plan.steps == ("editable", "compile", "generate:v.py")


def test_without_a_recipe_every_rung_is_a_plan_as_of_the_base_commit() -> None:
    plans = ladder(instance(), FILES.get, {})
    assert [plan.rung for plan in plans] == ["extras", "bare"]
    assert plans[0].requirements == ("click>=8", "mock", "pytest")
    assert {plan.exclude_newer for plan in plans} == {DATE}
    assert {plan.interpreter.version for plan in plans} == {"3.11.7"}
    assert {plan.recipe for plan in plans} == {"inferred"}


def test_a_version_that_no_recipe_covers_is_inferred(books) -> None:
    assert ladder(instance("0.1"), FILES.get, books)[0].recipe == "inferred"


def test_a_machine_without_the_interpreter(books) -> None:
    with pytest.raises(NotFound, match=r"CPython 3\.9"):
        ladder(instance("1.0"), FILES.get, books, HAVE[:1])
    files = {**FILES, "setup.py": "setup(python_requires='<3.9')"}
    with pytest.raises(NotFound, match=r"'<3\.9' of 2023-01-01"):
        ladder(instance(), files.get, {})


def go_up(
    build: Callable[[EnvironmentPlan], BuiltEnvironment],
    check: Callable[[BuiltEnvironment], BuildProblem | None] = lambda _: None,
    some: Iterable[EnvironmentPlan] = (),
) -> Climb:
    project = Project(extras={"test": ("Mock>=2",)})
    return climb(instance(), tuple(some) or plans(), build, check, BuildOptions(project=project, interpreters=HAVE))


def plans() -> tuple[EnvironmentPlan, ...]:
    return ladder(instance(), FILES.get, {})


def built() -> BuiltEnvironment:
    return host_environment(RepoName("owner/name"))


def test_the_first_rung_that_builds_ends_the_climb() -> None:
    climbed = go_up(lambda plan: built())
    assert climbed.built == replace(built(), environment=climbed.built.environment)
    assert [(one.rung, one.error) for one in climbed.attempts] == [("extras", "")]
    assert climbed.attempts[0].env_id == climbed.built.environment.env_id


def test_a_rung_that_fails_is_recorded() -> None:
    def build(plan: EnvironmentPlan) -> BuiltEnvironment:
        if plan.rung == "extras":
            raise BuildFailed("no solution")
        return built()

    climbed = go_up(build)
    assert [(one.rung, one.error, one.env_id is None) for one in climbed.attempts] == [
        ("extras", "build: no solution\nno solution", True),
        ("bare", "", False),
    ]


def test_a_package_of_the_tests_that_does_not_build_is_left_out() -> None:
    tried: list[EnvironmentPlan] = []

    def build(plan: EnvironmentPlan) -> BuiltEnvironment:
        tried.append(plan)
        if "mock" in plan.requirements:
            raise PackageFailed("Failed to build `six==1.0`", frozenset({"six", "Mock"}))
        return built()

    climbed = go_up(build)
    assert [(one.rung, one.error) for one in climbed.attempts] == [
        ("extras", "build (Mock, six): Failed to build `six==1.0`\nFailed to build `six==1.0`"),
        ("extras, without mock", ""),
    ]
    assert tried[1].requirements == ("click>=8", "pytest")


def test_what_the_project_itself_needs_is_never_left_out() -> None:
    def build(plan: EnvironmentPlan) -> BuiltEnvironment:
        raise PackageFailed("Failed to build `click==8.0`", frozenset({"click"}))

    rungs = ["extras", "extras, click as a wheel", "bare", "bare, click as a wheel"]
    assert [one.rung for one in go_up(build).attempts] == rungs


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("pytest==2.8.1", "pytest"),
        ("pytest<3", "pytest"),
        ("pytest<3.1", "pytest<3.1"),
        ("pytest>=2.8,<9", "pytest>=2.8,<9"),
    ],
)
def test_a_pytest_that_the_runner_cannot_drive_is_not_asked_for(asked: str, expected: str) -> None:
    files = {"requirements.txt": f"{asked}\npytest-cov==2.1.0\n"}
    assert ladder(instance(), files.get, {})[0].requirements == (expected, "pytest-cov==2.1.0")


def test_djangos_own_script_is_known_by_its_function() -> None:
    script = {"tests/runtests.py": "def django_tests(verbosity):\n    pass\n"}
    other = {"tests/runtests.py": "import pytest\npytest.main()\n"}
    runners = [ladder(instance(), {**FILES, **more}.get, {})[0].runner for more in ({}, script, other)]
    assert runners == [RunnerKind.PYTEST, RunnerKind.DJANGO, RunnerKind.PYTEST]


MANAGE = 'os.environ.setdefault("DJANGO_SETTINGS_MODULE", "site.settings")\n'
MANAGED = ("test", "--verbosity", "2", "--noinput")


@pytest.mark.parametrize(
    ("files", "runner", "args"),
    [
        ({"manage.py": MANAGE}, RunnerKind.DJANGO, ("manage.py", *MANAGED)),
        ({"backend/manage.py": MANAGE}, RunnerKind.DJANGO, ("backend/manage.py", *MANAGED)),
        ({"manage.py": "print('a flask script')\n"}, RunnerKind.PYTEST, ()),
        ({"manage.py": MANAGE, "requirements.txt": "Django\npytest-django\n"}, RunnerKind.PYTEST, ()),
        ({"manage.py": MANAGE, "pytest.ini": "[pytest]\nDJANGO_SETTINGS_MODULE = x\n"}, RunnerKind.PYTEST, ()),
    ],
    ids=["at the root", "in a folder", "of another kind", "pytest-django required", "pytest-django configured"],
)
def test_a_django_project_is_run_by_its_manage_py(
    files: dict[str, str], runner: RunnerKind, args: tuple[str, ...]
) -> None:
    resolved = resolve(instance(), files.get, {})
    plans = tuple(plan_ladder(resolved, files.get, HAVE, DATE))
    assert {(plan.runner, plan.test_args) for plan in plans} == {(runner, args)}


def test_where_no_rung_builds() -> None:
    def build(plan: EnvironmentPlan) -> BuiltEnvironment:
        raise BuildFailed("no")

    climbed = go_up(build)
    assert climbed.built is None
    assert len(climbed.attempts) == 2


def test_our_own_failure_ends_the_climb_for_a_retry() -> None:
    def build(plan: EnvironmentPlan) -> BuiltEnvironment:
        raise InfrastructureError("the registry is away")

    with pytest.raises(InfrastructureError):
        go_up(build)


class Checks:
    """Says what is said of the environments in turn, then that one is ready."""

    def __init__(self, *said: BuildProblem) -> None:
        self.said = list(said)
        self.plans: list[EnvironmentPlan] = []

    def build(self, plan: EnvironmentPlan) -> BuiltEnvironment:
        self.plans.append(plan)
        return built()

    def __call__(self, _: BuiltEnvironment) -> BuildProblem | None:
        return self.said.pop(0) if self.said else None


def test_a_module_that_is_missing_is_asked_for_as_the_project_would() -> None:
    checks = Checks(BuildProblem(Cause.MISSING_MODULE, ("mock.mock", "yaml"), "No module named 'mock'"))
    climbed = go_up(checks.build, checks, plans()[1:])
    assert [one.rung for one in climbed.attempts] == ["bare", "bare, with mock, pyyaml"]
    assert [one.cause for one in climbed.attempts] == ["missing-module", ""]
    assert checks.plans[1].requirements == ("click>=8", "pytest", "Mock>=2", "pyyaml")
    assert climbed.built is not None


def test_what_is_installed_and_missing_all_the_same_is_not_asked_for_again() -> None:
    module = ("click",)
    checks = Checks(*[BuildProblem(Cause.MISSING_MODULE, module, f"{n}: No module named 'click'") for n in range(9)])
    climbed = go_up(checks.build, checks)
    assert [one.rung for one in climbed.attempts] == ["extras", "bare"]
    assert climbed.built is None


def test_a_rung_is_not_mended_for_ever() -> None:
    checks = Checks(*[BuildProblem(Cause.MISSING_MODULE, (f"m{n}",), f"No module named 'm{n}'") for n in range(50)])
    climbed = go_up(checks.build, checks)
    assert climbed.built is None
    assert len(climbed.attempts) == 2 * (MENDED + 1)


def test_two_rungs_that_end_in_the_same_words_end_the_climb() -> None:
    own = BuildProblem(Cause.PROJECT, (), "E   ImportError: cannot import name 'x' from 'name'")
    three = (*plans(), replace(plans()[0], requirements=("other",)))
    checks = Checks(own, own, own)
    assert len(go_up(checks.build, checks, three).attempts) == 2


@pytest.mark.parametrize(("bound", "version"), [("<=3.9", "3.9.18"), (">=3.12", "3.12.1")])
def test_a_complaint_about_python_asks_for_another_one(bound: str, version: str) -> None:
    checks = Checks(BuildProblem(Cause.PYTHON, (bound,), "x"))
    go_up(checks.build, checks)
    assert [plan.interpreter.version for plan in checks.plans] == ["3.11.7", version]


def test_an_unknown_option_asks_for_its_plugin() -> None:
    checks = Checks(BuildProblem(Cause.MISSING_PLUGIN, ("--cov", "--cov-report"), "x"))
    go_up(checks.build, checks)
    assert checks.plans[1].requirements[-1] == "pytest-cov"


def unbuilt(text: str, *packages: str) -> BuildFailed:
    return PackageFailed(text, frozenset(packages)) if packages else BuildFailed(text)


@pytest.mark.parametrize(
    ("error", "rung", "building"),
    [
        (
            unbuilt("Failed to build `old==1`\nerror in old setup command: use_2to3 is invalid.", "old"),
            "built with setuptools<58",
            Building(constraints=("setuptools<58",)),
        ),
        (
            unbuilt("Failed to build `h5py==2`\nModuleNotFoundError: No module named 'numpy'", "h5py"),
            "numpy for builds",
            Building(requires=(("h5py", "numpy"),)),
        ),
        (
            unbuilt("Failed to build `Lxml==2`\nerror: command 'gcc' failed", "Lxml"),
            "lxml as a wheel",
            Building(wheels_only=("lxml",)),
        ),
    ],
)
def test_what_does_not_build_is_built_in_another_way(error: BuildFailed, rung: str, building: Building) -> None:
    tried: list[EnvironmentPlan] = []

    def build(plan: EnvironmentPlan) -> BuiltEnvironment:
        tried.append(plan)
        if len(tried) == 1:
            raise error
        return built()

    climbed = go_up(build)
    assert [one.rung for one in climbed.attempts] == ["extras", f"extras, {rung}"]
    assert tried[1].building == building


def test_metadata_that_does_not_build_is_left_out() -> None:
    def build(plan: EnvironmentPlan) -> BuiltEnvironment:
        if plan.editable:
            raise BuildFailed("uv build failed: ImportError: No module named 'numpy'")
        return built()

    assert [one.rung for one in go_up(build).attempts] == ["extras", "extras, without metadata"]


def test_a_name_that_is_only_guessed_is_not_built() -> None:
    checks = Checks(BuildProblem(Cause.MISSING_MODULE, ("mock", "yaml", "strange.part"), "x"))
    go_up(checks.build, checks, plans()[1:])
    assert checks.plans[1].building.wheels_only == ("strange",)


def test_a_folder_that_a_script_would_have_named_is_given() -> None:
    checks = Checks(BuildProblem(Cause.VARIABLE, ("THING_TEST_TEMPDIR",), "x"))
    go_up(checks.build, checks)
    assert checks.plans[1].env == ("THING_TEST_TEMPDIR=/tmp/thing_test_tempdir",)


def test_what_tests_skip_themselves_without_is_asked_for() -> None:
    checks = Checks(BuildProblem(Cause.SKIPS, ("mock",), "could not import 'mock'"))
    climbed = go_up(checks.build, checks, plans()[1:])
    assert [(one.rung, one.cause) for one in climbed.attempts] == [("bare", "skips"), ("bare, with mock", "")]
    assert checks.plans[1].requirements == ("click>=8", "pytest", "Mock>=2")
    assert [one.env_id is None for one in climbed.attempts] == [True, False]


def test_where_it_is_not_to_be_had_the_environment_is_used_as_it_is() -> None:
    wants = BuildProblem(Cause.SKIPS, ("mock",), "could not import 'mock'")
    worse = BuildProblem(Cause.INCOMPATIBLE, (), "it works with nothing")
    for said in (wants, worse), (wants, wants):
        checks = Checks(*said)
        climbed = go_up(checks.build, checks, plans()[1:])
        assert climbed.built is not None
        assert len(checks.plans) == 2
        assert climbed.attempts[-1].env_id == climbed.built.environment.env_id
        assert (climbed.attempts[-1].cause, climbed.attempts[-1].error) == ("", "")
    assert climbed.attempts[-1].rung == "bare, with mock", "of several that can be used, the last"


def test_what_tests_skip_themselves_without_may_not_build() -> None:
    checks = Checks(BuildProblem(Cause.SKIPS, ("mock",), "could not import 'mock'"))

    def build(plan: EnvironmentPlan) -> BuiltEnvironment:
        if "Mock>=2" in plan.requirements:
            raise PackageFailed("mock does not build", frozenset({"mock"}))
        return checks.build(plan)

    climbed = go_up(build, checks, plans()[1:])
    assert climbed.built is not None
    assert [one.rung for one in climbed.attempts] == ["bare", "bare, with mock", "bare"]
