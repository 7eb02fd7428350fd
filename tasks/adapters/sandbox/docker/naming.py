"""Names of our images. One function makes a tag and one parses it; a round-trip test holds them together."""

from __future__ import annotations

import re
from dataclasses import dataclass

REPOSITORY = "swt-layer"
_TAG = re.compile(
    rf"(?:(?P<remote>[^\s:/]+(?::\d+)?(?:/[a-z0-9._-]+)*)/)?{REPOSITORY}:(?P<content>[A-Za-z0-9._]+(?:-[A-Za-z0-9._]+)*)-(?P<key>[0-9a-f]{{32}})"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageName:
    """One image of ours: its topmost layer, and the content key of all of its layers."""

    content: str
    """`cpython-3.9.18`, `environment-<env_id>`: letters, digits, `.`, `_`, and single hyphens between them."""
    key: str
    """Content key of the base image and of every layer above it, 32 hexadecimal digits."""
    remote: str = ""
    """`host:port/path`; empty for an image of this engine."""


def image_tag(name: ImageName) -> str:
    """`remote/swt-layer:content-key`, what the engine knows it by; `parse_image_tag` is the inverse."""
    local = f"{REPOSITORY}:{name.content}-{name.key}"
    return f"{name.remote}/{local}" if name.remote else local


def parse_image_tag(tag: str) -> ImageName | None:
    """The name that `tag` is, if it is one of ours. Podman's `localhost/` is not part of it."""
    match = _TAG.fullmatch(tag.removeprefix("localhost/"))
    if match is None:
        return None
    return ImageName(content=match["content"], key=match["key"], remote=match["remote"] or "")
