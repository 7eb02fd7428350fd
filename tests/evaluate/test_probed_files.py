"""Groups of files that get probes: large enough to hide in, and the same whoever of them is changed."""

from __future__ import annotations

from bisect import bisect_right

from hypothesis import given
from hypothesis import strategies as st

from tasks.domain.run import PathRange
from tasks.evaluate.runs.probed_files import GROUP, LAST, group_starts, probe_ranges

PATHS = [f"pkg/{folder}/m{number}.py" for folder in "abc" for number in range(7)]


def files_in(ranges: tuple[PathRange, ...], paths: list[str]) -> list[str]:
    return [path for path in paths if any(one.first <= path < one.end for one in ranges)]


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], max_codepoint=0x10FFFE), min_size=1, max_size=8),
        unique=True,
        max_size=60,
    )
)
def test_every_file_is_in_one_group_of_many(names: list[str]) -> None:
    paths = [f"{name.replace('/', '_')}.py" for name in names]
    starts = group_starts(paths)
    assert list(starts) == sorted(set(starts))
    for path in paths:
        (found,) = probe_ranges(starts, [path])
        group = files_in((found,), paths)
        assert path in group
        assert all(probe_ranges(starts, [other]) == (found,) for other in group), "each of them might be the one"


def test_groups_have_neighbours_and_no_tests() -> None:
    starts = group_starts([*PATHS, "tests/test_a.py", "pkg/a/tests/test_b.py", "README.md"])
    groups = [
        files_in((PathRange(first=first, end=end),), PATHS)
        for first, end in zip(starts, [*starts[1:], LAST], strict=True)
    ]
    assert [len(group) for group in groups] == [7, 7, 7]
    assert all(len(group) >= GROUP for group in groups)


def test_a_folder_of_few_files_is_covered_by_its_nearest_neighbours() -> None:
    """An example, or the setup of the project, would be no cover for a module."""
    paths = ["docs/conf.py", *(f"examples/e{n}.py" for n in range(4)), *(f"src/p/m{n}.py" for n in range(5))]
    (found,) = probe_ranges(group_starts([*paths, "src/p/json/tag.py", "src/p/json/init.py"]), ["src/p/json/tag.py"])
    assert files_in((found,), paths) == paths[-5:]


def test_a_new_file_is_in_the_group_of_its_name() -> None:
    starts = group_starts(PATHS)
    assert probe_ranges(starts, ["pkg/a/new.py"]) == probe_ranges(starts, ["pkg/a/m0.py"])
    assert probe_ranges(starts, ["zzz/new.py"])[0].end == LAST
    assert bisect_right(starts, "") == 1


def test_few_files_are_one_group() -> None:
    assert probe_ranges(group_starts(["a.py"]), ["a.py", "b.py"]) == (PathRange(first="", end=LAST),)
