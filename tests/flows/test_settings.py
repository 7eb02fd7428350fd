"""Settings from the environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows.settings import settings_from
from tasks.domain.errors import BadInput


def test_a_cache_behind_a_link_has_the_name_it_has_in_containers(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "cache").symlink_to(tmp_path / "disk")
    assert settings_from({"SWT_CACHE": str(tmp_path / "cache")}).cache == (tmp_path / "disk").resolve()


@pytest.mark.parametrize(
    ("name", "value"),
    [("SWT_WORKERS", "many"), ("SWT_CALLERS", "0"), ("SWT_SANDBOX", "chroot"), ("SWT_MODELS", "/none")],
)
def test_a_wrong_setting_is_named(name: str, value: str) -> None:
    with pytest.raises(BadInput, match=name):
        settings_from({name: value})
