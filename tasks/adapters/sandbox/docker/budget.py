"""Disk usage of our images, and the removal of the least recently used."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

LAYER = "swt.layer"
"""Image label with the content of the topmost layer."""

PARENT = "swt.parent"
"""Image label with the id of the image below."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """One image that this project built."""

    id: str
    parent: str
    """Id of the image below, ours or a base image."""
    own_bytes: int
    """Bytes of its topmost layer."""
    used: str
    """Time of the last tag, as the engine writes it (RFC 3339, UTC): every use tags it again."""


def images(client: Any) -> tuple[Image, ...]:
    """Return every image of ours on the engine, without those that another process removes meanwhile."""
    found = {facts["Id"]: facts for facts in client.images(filters={"label": LAYER})}
    sizes = {name: int(facts["Size"]) for name, facts in found.items()}
    rows = []
    for name, facts in found.items():
        parent = facts["Labels"][PARENT]
        below = sizes[parent] if parent in sizes else _size(client, parent)
        if used := _last_used(client, name):
            rows.append(Image(id=name, parent=parent, own_bytes=sizes[name] - below, used=used))
    return tuple(rows)


def to_remove(found: Iterable[Image], limit: int, keep: str) -> tuple[Image, ...]:
    """Return the images to remove, in order, so that the rest takes at most `limit` bytes.

    An image is removed only after all images based on it; `keep` and the images below it always stay.
    """
    left = {image.id: image for image in found}
    held = set(_chain(left, keep))
    gone: list[Image] = []
    while sum(image.own_bytes for image in left.values()) > limit:
        below = {image.parent for image in left.values()}
        free = [image for image in left.values() if image.id not in below and image.id not in held]
        if not free:
            break
        oldest = min(free, key=lambda image: (image.used, image.id))
        gone.append(left.pop(oldest.id))
    return tuple(gone)


def drop(client: Any, gone: Iterable[Image]) -> int:
    """Remove images in order; return their number. An image used by a container stays until the next time."""
    import docker.errors

    removed = 0
    for image in gone:
        try:
            for tag in client.inspect_image(image.id)["RepoTags"]:
                client.remove_image(tag)
        except docker.errors.APIError:
            continue
        removed += 1
    return removed


def _chain(by_id: dict[str, Image], name: str) -> Iterable[str]:
    while name in by_id:
        yield name
        name = by_id[name].parent


def _size(client: Any, name: str) -> int:
    """Return the bytes of an image that is not ours; 0 if it is gone, so that all below counts as ours."""
    import docker.errors

    try:
        return int(client.inspect_image(name)["Size"])
    except docker.errors.ImageNotFound:
        return 0


def _last_used(client: Any, name: str) -> str:
    """Return the time of the last use; empty if the image is gone."""
    import docker.errors

    try:
        facts = client.inspect_image(name)
    except docker.errors.ImageNotFound:
        return ""
    tagged = str(facts.get("Metadata", {}).get("LastTagTime") or "")
    return max(tagged, str(facts["Created"]))
