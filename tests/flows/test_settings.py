"""Settings from the environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows.interface.settings import settings_from
from tasks.domain.errors import BadInput
from tasks.domain.run import Limits


def test_a_cache_behind_a_link_has_the_name_it_has_in_containers(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "cache").symlink_to(tmp_path / "disk")
    assert settings_from({"SWT_CACHE": str(tmp_path / "cache")}).cache == (tmp_path / "disk").resolve()


def test_the_seconds_of_a_run_can_be_bounded_and_are_part_of_what_it_is() -> None:
    """Where nothing is said, runs are the same as before there was a setting: their keys hold the limits."""
    assert settings_from({"SWT_WALL_S": "300"}).limits == Limits(wall_s=300)
    assert repr(settings_from({"SWT_WALL_S": "1800"}).limits.wall_s) == repr(settings_from({}).limits.wall_s)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SWT_WORKERS", "many"),
        ("SWT_CALLERS", "0"),
        ("SWT_SANDBOX", "chroot"),
        ("SWT_MODELS", "/none"),
        ("SWT_WALL_S", "0"),
    ],
)
def test_a_wrong_setting_is_named(name: str, value: str) -> None:
    with pytest.raises(BadInput, match=name):
        settings_from({name: value})
