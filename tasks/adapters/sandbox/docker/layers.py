"""Our images: one layer per immutable folder, on the layer below, on the base image.

    python:3.9-slim-bookworm  ◄─ cpython-3.9.18  ◄─ environment-0f3a…    (one repository's instances mostly share it)
                                               ◄─ environment-77be…

A layer contains a folder at its own path. No Dockerfile is needed: an archive is put into a container that never
starts, and the container is committed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tasks.adapters.coordination.locks import file_lock
from tasks.adapters.sandbox.base import Job, Mount
from tasks.adapters.sandbox.docker.budget import LAYER, PARENT, drop, images, to_remove
from tasks.adapters.sandbox.docker.container import HOLDER, RUN, kept, remove
from tasks.adapters.sandbox.docker.engine import DockerSettings
from tasks.adapters.sandbox.label import Label
from tasks.domain.errors import SandboxError
from tasks.domain.names import content_key

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
    """Return the engine's tag, `remote/swt-layer:content-key`; `parse_image_tag` is the inverse."""
    local = f"{REPOSITORY}:{name.content}-{name.key}"
    return f"{name.remote}/{local}" if name.remote else local


def parse_image_tag(tag: str) -> ImageName | None:
    """Parse a tag of ours; None for other tags. Ignores Podman's `localhost/`."""
    match = _TAG.fullmatch(tag.removeprefix("localhost/"))
    if match is None:
        return None
    return ImageName(content=match["content"], key=match["key"], remote=match["remote"] or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageLayers:
    """Creates images, and finds existing ones. Safe between threads and processes."""

    settings: DockerSettings
    locks: Path
    """Folder of the lock for creating an image."""

    def image(self, client: Any, job: Job) -> str:
        """Return the digest of an image with every immutable mount of the job; pulls or builds missing layers."""
        image = self._base(client, job.python)
        for mount in job.mounts:
            if kept(mount):
                image = self._with(client, image, mount)
        return image

    def _base(self, client: Any, python: str) -> str:
        minor = python or f"{sys.version_info.major}.{sys.version_info.minor}"
        name = self.settings.base.replace("{version}", minor)
        if image := _found(client, name):
            return image
        refusal = _pull(client, name)
        if image := _found(client, name):
            return image
        raise SandboxError(
            f"the base image {name} is not here and cannot be pulled (SWT_DOCKER_BASE names another one): {refusal}",
            hint="`docker pull` it, or name one that is here in SWT_DOCKER_BASE",
        )

    def _with(self, client: Any, parent: str, mount: Mount) -> str:
        """Return the image with one more layer; marks an existing one as used."""
        name = ImageName(content=mount.content, key=content_key("layer", parent, str(mount.guest), mount.content))
        if image := _found(client, image_tag(name)):
            client.tag(image, REPOSITORY, tag=_after_colon(name))
            return image
        with file_lock(self.locks / "swt-images.lock"):
            image = _found(client, image_tag(name)) or self._pulled_layer(client, name)
            if image is None:
                image = _build(client, parent, mount, name)
            drop(client, to_remove(images(client), self.settings.disk_bytes, keep=image))
        return image

    def _pulled_layer(self, client: Any, name: ImageName) -> str | None:
        if not self.settings.remote:
            return None
        theirs = image_tag(replace(name, remote=self.settings.remote))
        _pull(client, theirs)
        if image := _found(client, theirs):
            client.tag(image, REPOSITORY, tag=_after_colon(name))
            client.remove_image(theirs)
        return image


def _found(client: Any, name: str) -> str | None:
    import docker.errors

    try:
        return str(client.inspect_image(name)["Id"])
    except docker.errors.ImageNotFound:
        return None


def _pull(client: Any, name: str) -> str:
    """Pull an image; return the engine's error, which may come before or within its output; empty on success."""
    import docker.errors

    tag = None if ":" in name.rpartition("/")[2] or "@" in name else "latest"
    try:
        said = list(client.pull(name, tag=tag, stream=True, decode=True))
    except docker.errors.APIError as problem:
        return str(problem.explanation)
    return next((str(line["error"]) for line in said if "error" in line), "")


def _build(client: Any, parent: str, mount: Mount, name: ImageName) -> str:
    """Build a layer with the mount's folder, owned by root and readable by everybody."""
    labels = {RUN: str(Label.new())}
    made = client.create_container(parent, entrypoint=[HOLDER], command=[], labels=labels, network_disabled=True)["Id"]
    try:
        with _archive(mount) as archive:
            client.put_archive(made, "/", archive)
        own = {LAYER: name.content, PARENT: parent, **dict.fromkeys(labels, "")}
        changes = [f'LABEL {label}="{value}"' for label, value in own.items()]
        client.commit(made, REPOSITORY, tag=_after_colon(name), changes=changes)
    finally:
        remove(client, made)
    return str(client.inspect_image(image_tag(name))["Id"])


@contextmanager
def _archive(mount: Mount) -> Iterator[Any]:
    """Yield the folder as a tar stream with absolute paths. It includes the parents, so that
    everybody may enter them."""
    if mount.host != Path(mount.guest):
        raise SandboxError(f"{mount.host} cannot be kept in an image as {mount.guest}: it has to be its own path")
    path = mount.host.relative_to("/")
    parents = [str(parent) for parent in reversed(path.parents[:-1])]
    left_out = [f"--exclude={folder.relative_to('/')}/*" for folder in mount.hidden]
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            [
                *("tar", "--create", "--directory=/", "--numeric-owner", "--owner=0", "--group=0", "--mode=a+rX,go-w"),
                *(*left_out, "--no-recursion", *parents, "--recursion", str(path)),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=said,
            env={"PATH": os.defpath, "LC_ALL": "C"},
        )
        try:
            yield process.stdout
        finally:
            assert process.stdout is not None
            process.stdout.close()
            code = process.wait()
        said.seek(0)
        if code:
            raise SandboxError(f"tar of {mount.host}: {said.read().decode(errors='replace').strip()}")


def _after_colon(name: ImageName) -> str:
    return image_tag(replace(name, remote="")).partition(":")[2]
