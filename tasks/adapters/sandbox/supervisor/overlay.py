"""A folder laid over a read-only tree, seen by one job only.

The mount is made between fork and exec, in a mount namespace of the job's own: when its last process is gone, so is the
mount, whoever was killed before. What the job writes goes into the upper folder; the tree below is never written.

As root the tree is shown through an id-mapped mount (man 2 mount_setattr, Linux 5.19 for overlays), so that the user
of the run owns all of it without a `chown`. An ordinary user makes the mount in a user namespace (Linux 5.11).
"""

# Importing pathlib would slow the start of every run.
# ruff: noqa: PTH123

from __future__ import annotations

import ctypes
import os
import struct
from typing import NamedTuple

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
MS_REC = 0x4000
MS_PRIVATE = 1 << 18
OPEN_TREE, MOVE_MOUNT, MOUNT_SETATTR = 428, 429, 442
"""System calls, the same on every architecture."""

AT_FDCWD, AT_EMPTY_PATH = -100, 0x1000
OPEN_TREE_CLONE = 1
MOVE_MOUNT_F_EMPTY_PATH = 4
MOUNT_ATTR_RDONLY, MOUNT_ATTR_IDMAP = 0x1, 0x00100000

_libc = ctypes.CDLL(None, use_errno=True)


class Layers(NamedTuple):
    """What is laid over what. Paths are the host's; `upper` and `work` are on one file system."""

    lower: str
    """Read-only, owned by the caller."""
    upper: str
    """Receives what the job writes."""
    work: str
    """Empty; the kernel's own."""
    at: str
    """Empty; where the two are seen as one."""
    below: str
    """Empty; where `lower` is mounted for `owner`."""
    owner: int | None
    """Who owns what is below; null for the caller in a user namespace of its own."""


def lay(layers: Layers) -> None:
    """Leave the caller's mount namespace and mount `layers` in the new one. `OSError` where this machine cannot."""
    if layers.owner is None:
        _own_namespaces()
        lower, options = layers.lower, "userxattr"
    else:
        _unshare(CLONE_NEWNS)
        _mount("", "/", None, MS_REC | MS_PRIVATE, "")
        _show_as(layers.owner, layers.lower, layers.below)
        lower, options = layers.below, "redirect_dir=on"
    # Descriptors instead of paths: the job reads its options in /proc/self/mountinfo, and a path may hold a comma.
    paths = {"lowerdir": lower, "upperdir": layers.upper, "workdir": layers.work}
    held = {name: os.open(path, os.O_PATH | os.O_CLOEXEC) for name, path in paths.items()}
    names = (f"{name}=/proc/self/fd/{descriptor}" for name, descriptor in held.items())
    _mount("overlay", layers.at, "overlay", 0, ",".join((*names, "xino=on", options)))


def _own_namespaces() -> None:
    """Namespaces in which the caller, and nobody else, is root."""
    uid, gid = os.geteuid(), os.getegid()
    _unshare(CLONE_NEWUSER | CLONE_NEWNS)
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def _show_as(owner: int, tree: str, at: str) -> None:
    """Mount `tree` at the folder `at`, read-only, with what is root's shown as `owner`'s."""
    found = _checked(_libc.syscall(OPEN_TREE, AT_FDCWD, os.fsencode(tree), OPEN_TREE_CLONE | os.O_CLOEXEC))
    names = _mapping(owner)
    wish = struct.pack("=QQQQ", MOUNT_ATTR_IDMAP | MOUNT_ATTR_RDONLY, 0, 0, names)
    _checked(_libc.syscall(MOUNT_SETATTR, found, b"", AT_EMPTY_PATH, wish, len(wish)))
    _checked(_libc.syscall(MOVE_MOUNT, found, b"", AT_FDCWD, os.fsencode(at), MOVE_MOUNT_F_EMPTY_PATH))
    os.close(found)
    os.close(names)


def _mapping(owner: int) -> int:
    """A user namespace in which root is `owner`: the kernel takes a mapping of ids in this form only."""
    ready, tell_ready = os.pipe()
    wait, end = os.pipe()
    child = os.fork()
    if not child:
        os.close(end)
        failed = _libc.unshare(CLONE_NEWUSER)
        os.write(tell_ready, b"n" if failed else b"y")
        os.read(wait, 1)
        os._exit(0)
    try:
        if os.read(ready, 1) != b"y":
            raise OSError("no user namespace can be made")
        for name in ("uid_map", "gid_map"):
            with open(f"/proc/{child}/{name}", "w") as file:
                file.write(f"0 {owner} 1")
        return os.open(f"/proc/{child}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        for descriptor in (ready, tell_ready, wait, end):
            os.close(descriptor)
        os.waitpid(child, 0)


def _unshare(flags: int) -> None:
    _checked(_libc.unshare(flags))


def _mount(source: str, target: str, kind: str | None, flags: int, options: str) -> None:
    words = (os.fsencode(source), os.fsencode(target), kind.encode() if kind else None)
    _checked(_libc.mount(*words, ctypes.c_ulong(flags), options.encode()))


def _checked(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result
