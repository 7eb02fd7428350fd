"""The system-call filter of the bubblewrap sandbox: a job makes no user namespace, in which it would be root of a kind.

A user namespace gives its maker every capability inside, and with them a part of the kernel that is otherwise out of
reach. What runs under test needs none. The filter is a classic BPF program (kernel documentation:
userspace-api/seccomp_filter) over `struct seccomp_data`: the number of the call at 0, the architecture at 4, the
low half of the first argument at 16.
"""

from __future__ import annotations

import errno
import struct
import sys
from dataclasses import dataclass

CLONE_NEWUSER = 0x10000000
CLONE3 = 435
"""The same number everywhere. Its flags are in memory, where a filter cannot look: it is said to be missing, and the
C library takes `clone` instead."""

FOREIGN = 0x40000000
"""Numbers from here on are those of x32, a second door to the same calls."""

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _ANSWER = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16


@dataclass(frozen=True, slots=True)
class Machine:
    """The numbers of one architecture."""

    audit: int
    """AUDIT_ARCH_… of linux/audit.h."""
    clone: int
    unshare: int


MACHINES = {
    "x86_64": Machine(audit=0xC000003E, clone=56, unshare=272),
    "aarch64": Machine(audit=0xC00000B7, clone=220, unshare=97),
}


def no_user_namespaces(machine: str) -> bytes:
    """The program for `os.uname().machine`; empty for one whose numbers are not known here, or a 32-bit system on it.

    Calls of another architecture (32-bit programs) are refused as a whole: their numbers mean something else.
    """
    known = MACHINES.get(machine)
    if known is None or sys.maxsize < 1 << 32:
        return b""
    program = (
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 0, 6, known.audit),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 4, 0, FOREIGN),
        (_EQUAL, 3, 0, CLONE3),
        (_EQUAL, 3, 0, known.clone),
        (_EQUAL, 2, 0, known.unshare),
        (_ANSWER, 0, 0, _ALLOW),
        (_ANSWER, 0, 0, _REFUSE | errno.ENOSYS),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_ANY_BIT, 0, 1, CLONE_NEWUSER),
        (_ANSWER, 0, 0, _REFUSE | errno.EPERM),
        (_ANSWER, 0, 0, _ALLOW),
    )
    return b"".join(struct.pack("=HBBI", *step) for step in program)
