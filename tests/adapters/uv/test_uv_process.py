from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from uv_plans import plan

from tasks.adapters.uv.lock import building_options, cutoff, lock_key, strip
from tasks.adapters.uv.plan import Building
from tasks.adapters.uv.process import ADDRESS_OPTIONS, PackageFailed, Tool, scrub, telling_lines, tool_failure
from tasks.domain.errors import BuildFailed, InfrastructureError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from https://me:secret@host.example/a/x (404)", "from <address> (404)"),
        ("`http://host.example/a`, then", "`<address>`, then"),
        ("git+ssh://git@host/x.git", "<address>"),
        ("nothing to hide: a == 1.0", "nothing to hide: a == 1.0"),
    ],
)
def test_addresses_are_taken_out(text: str, expected: str) -> None:
    assert scrub(text) == expected


@pytest.mark.parametrize("separator", ["=", " "])
@pytest.mark.parametrize("option", ADDRESS_OPTIONS)
def test_a_host_without_a_scheme_is_taken_out_as_well(option: str, separator: str) -> None:
    assert scrub(f"{option}{separator}host.example x") == f"{option}{separator}<address> x"


def test_what_is_kept_of_an_output_is_short() -> None:
    lines = telling_lines("\n\n".join(["x" * 1000] * 50)).splitlines()
    assert (len(lines), len(lines[0])) == (25, 300)
    assert lines[12] == "… 26 lines …"


def test_the_cause_at_the_end_of_a_build_is_kept() -> None:
    compiled = [f"gcc -Wformat -Werror=format-security -c src/{number}.c" for number in range(200)]
    output = "\n".join(["error: Failed to build `x==1`", *compiled, "fatal: ft2build.h: No such file or directory"])
    kept = telling_lines(output).splitlines()
    assert kept[0] == "error: Failed to build `x==1`"
    assert kept[-1] == "fatal: ft2build.h: No such file or directory"


@pytest.mark.parametrize("length", [1, 12, 24, 25])
def test_a_short_output_is_kept_whole(length: int) -> None:
    lines = [f"line {number}" for number in range(length)]
    kept = telling_lines("\n".join(lines)).splitlines()
    assert kept == lines if length <= 24 else "… 1 lines …" in kept


@pytest.mark.parametrize(
    ("output", "kind"),
    [
        ("error: Request failed\n  Caused by: error sending request for url (https://a/b)", InfrastructureError),
        ("  Caused by: dns error: failed to lookup address information", InfrastructureError),
        ("error: failed to write: No space left on device (os error 28)", InfrastructureError),
        ("  × No solution found when resolving dependencies", BuildFailed),
        ("error: Failed to build `x==1`: exit status 1", PackageFailed),
        ("error: Failed to build `/tmp/checkout`", BuildFailed),
    ],
)
def test_failures_are_told_apart(output: str, kind: type[Exception]) -> None:
    assert type(tool_failure("uv pip", output, "hint")) is kind


def test_what_does_not_build_is_named_with_what_asked_for_it() -> None:
    output = """error: Failed to build `pylibmc==1.6.1`
  cause: The build backend returned an error
hint: `pylibmc` (v1.6.1) was included because `caches[fast]` (v1.0) depends on `pylibmc`
hint: You need to install a library that provides `memcached.h` for `pylibmc@1.6.1`
"""
    error = tool_failure("uv pip", output, "hint")
    assert isinstance(error, PackageFailed)
    assert error.packages == {"pylibmc", "caches"}


def test_a_package_that_is_nowhere_is_named() -> None:
    said = "Because there are no versions of codecov and you require codecov, we can conclude that …"
    error = tool_failure("uv pip", f"  x No solution found when resolving dependencies:\n{said}", "")
    assert isinstance(error, PackageFailed)
    assert error.packages == {"codecov"}
    assert (
        type(tool_failure("uv pip", "Because there are no versions of attrs>99 and you require it", "")) is BuildFailed
    )


@pytest.mark.parametrize(
    ("said", "package"),
    [
        (
            "Because types-pkg-resources<=0.1.2 was yanked (reason: Use another) and only these are",
            "types-pkg-resources",
        ),
        ("And because types-six==0.1.3 was yanked and you require types-six, we can conclude", "types-six"),
        ("Because all-gone was yanked and you require all-gone", "all-gone"),
        ("Because twisted>=13.1.0 has a non-PEP 625-compliant source distribution filename and you", "twisted"),
        ("Because all versions of iso639 have no usable wheels and you require iso639", "iso639"),
        ("Because pandas>=0.23.0 has invalid metadata and you require pandas>=0.23.0", "pandas"),
    ],
)
def test_a_package_of_no_use_is_named(said: str, package: str) -> None:
    error = tool_failure("uv pip", f"  x No solution found when resolving dependencies:\n  cause: {said}", "")
    assert isinstance(error, PackageFailed)
    assert error.packages == {package}


def test_a_slow_tool_is_our_failure() -> None:
    with pytest.raises(InfrastructureError, match="longer than"):
        Tool(Path("/bin/sleep"), {}, 0.2).run("5")


def test_a_missing_tool_is_our_failure(tmp_path: Path) -> None:
    with pytest.raises(InfrastructureError, match="could not be started"):
        Tool(tmp_path / "uv", {}, 5).run("pip")


def test_a_tool_gets_its_variables_an_empty_home_and_nothing_else() -> None:
    lines = Tool(Path("/usr/bin/env"), {"A": "1"}, 5).run("-u", "LC_CTYPE", extra_env=("B=2=3",)).splitlines()
    assert [line for line in lines if not line.startswith("HOME=")] == ["A=1", "B=2=3"]
    assert Tool(Path("/bin/sh"), {}, 5).run("-c", "ls -A $HOME; test $HOME = $PWD") == ""


def test_the_cutoff_is_a_full_utc_timestamp() -> None:
    moment = datetime(2024, 3, 1, 1, 30, tzinfo=timezone(timedelta(hours=2)))
    assert cutoff(moment) == ("--exclude-newer", "2024-02-29T23:30:00Z")


def test_some_distributions_are_seen_later_than_the_cutoff() -> None:
    options = cutoff(datetime(2018, 1, 1, tzinfo=UTC))
    assert options[2:4] == ("--exclude-newer-package", "setuptools=2019-02-06T00:00:00Z")
    assert options[4:6] == ("--exclude-newer-package", "wheel=2019-02-06T00:00:00Z")
    assert options[6:] == ("--exclude-newer-package", "atomicwrites=2022-07-09T00:00:00Z")
    assert len(cutoff(datetime(2020, 1, 1, tzinfo=UTC))) == 4
    assert "pytest=2017-03-15T00:00:00Z" in cutoff(datetime(2016, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize("option", ADDRESS_OPTIONS)
def test_a_lock_loses_what_says_where_it_came_from(option: str) -> None:
    text = f"# made by x\n{option} https://a/b\na==1 \\\n    --hash=sha256:00\n    # via b\n\nb==2\n"
    assert strip(text) == "a==1 \\\n    --hash=sha256:00\nb==2\n"


def test_how_packages_are_built_is_told_in_options_and_files(tmp_path: Path) -> None:
    building = Building(
        constraints=("setuptools<58",), requires=(("h5py", "numpy"), ("h5py", "cython")), wheels_only=("lxml",)
    )
    options = building_options(building, tmp_path)
    assert options[:3] == ("--only-binary", "lxml", "--build-constraints")
    assert (tmp_path / "build-constraints.txt").read_text() == "setuptools<58\n"
    assert (tmp_path / "uv.toml").read_text() == '[pip.extra-build-dependencies]\n"h5py" = ["numpy", "cython"]\n'
    assert building_options(Building(), tmp_path) == ()


def test_how_packages_are_built_decides_lock_and_environment() -> None:
    plain, bound = plan(), plan(building=Building(constraints=("setuptools<58",)))
    assert lock_key(plain) != lock_key(bound)
    assert plain.env_id("") != bound.env_id("")
