"""The system-call filter of the bubblewrap sandbox: blocks calls that tests do not need, and channels out of the job.

Like Docker's default profile, it blocks calls on the kernel's own state: modules, mounts, clocks, programs in the
kernel, counters, other namespaces. It also blocks channels between runs or to outside processes: keyrings, which are
not part of any namespace, and queries whether a host file is in the page cache. It blocks new user namespaces, which
would give their creator every capability inside and access to more kernel code. Calls newer than this list fail as
missing.

A filter is a classic BPF program (kernel documentation: userspace-api/seccomp_filter) over `struct seccomp_data`: the
number of the call at 0, the architecture at 4, the low halves of its arguments from 16 on, eight bytes each. Does not
use libseccomp, which bubblewrap does not install: one table and forty lines suffice.
"""

from __future__ import annotations

import errno
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

AF_VSOCK = 40
CLONE_NEWUSER = 0x10000000
RWF_NOWAIT = 0x8

NEWEST = 462
"""The newest call in this list (`mseal`, Linux 6.10). New calls have one number on every architecture."""

FOREIGN = 0x40000000
"""Numbers from here on belong to x32, a second ABI for the same calls."""

_LOAD, _EQUAL, _MORE_THAN, _AT_LEAST, _ANY_BIT, _ANSWER = 0x20, 0x15, 0x25, 0x35, 0x45, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16

Step = tuple[int, int, int, int]

AUDITED = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""AUDIT_ARCH_… of linux/audit.h, by `os.uname().machine`."""


@dataclass(frozen=True, slots=True)
class Call:
    """A system call and its number on each architecture; None if it does not exist there."""

    name: str
    x86_64: int
    aarch64: int | None

    def number(self, machine: str) -> int | None:
        return self.x86_64 if machine == "x86_64" else self.aarch64


@dataclass(frozen=True, slots=True)
class Refusal:
    """A call that fails with `error`, always or depending on an argument."""

    call: Call
    error: int = errno.EPERM
    argument: int | None = None
    """0-based; the rule applies if its low half has some bit of `bits`, or is `equals`."""
    bits: int = 0
    equals: int = 0

    def steps(self, number: int) -> tuple[Step, ...]:
        """Return the filter steps. They expect the call's number loaded, and leave it loaded."""
        answer = (_ANSWER, 0, 0, _REFUSE | self.error)
        if self.argument is None:
            return (_EQUAL, 0, 1, number), answer
        test = (_ANY_BIT, 0, 1, self.bits) if self.bits else (_EQUAL, 0, 1, self.equals)
        load = (_LOAD, 0, 0, _ARGUMENTS + 8 * self.argument)
        return (_EQUAL, 0, 4, number), load, test, answer, (_LOAD, 0, 0, _NUMBER)


OF_THE_KERNEL = (
    *(Call("add_key", 248, 217), Call("request_key", 249, 218), Call("keyctl", 250, 219)),
    *(Call("bpf", 321, 280), Call("perf_event_open", 298, 241), Call("userfaultfd", 323, 282)),
    *(Call("open_by_handle_at", 304, 265), Call("name_to_handle_at", 303, 264)),
    *(Call("mount", 165, 40), Call("umount2", 166, 39), Call("pivot_root", 155, 41), Call("setns", 308, 268)),
    *(Call("open_tree", 428, 428), Call("move_mount", 429, 429), Call("fsopen", 430, 430)),
    *(Call("fsconfig", 431, 431), Call("fsmount", 432, 432), Call("fspick", 433, 433), Call("mount_setattr", 442, 442)),
    *(Call("init_module", 175, 105), Call("finit_module", 313, 273), Call("delete_module", 176, 106)),
    *(Call("kexec_load", 246, 104), Call("kexec_file_load", 320, 294), Call("reboot", 169, 142)),
    *(Call("swapon", 167, 224), Call("swapoff", 168, 225), Call("acct", 163, 89)),
    *(Call("quotactl", 179, 60), Call("quotactl_fd", 443, 443), Call("syslog", 103, 116)),
    *(Call("settimeofday", 164, 170), Call("clock_settime", 227, 112), Call("vhangup", 153, 58)),
    *(Call("iopl", 172, None), Call("ioperm", 173, None), Call("uselib", 134, None), Call("modify_ldt", 154, None)),
    *(Call("kcmp", 312, 272), Call("pidfd_getfd", 438, 438), Call("lookup_dcookie", 212, 18)),
)
SAID_TO_BE_MISSING = (
    # The C library falls back to `clone` from clone3, whose flags are in memory, which a filter cannot read. Libraries
    # have fallbacks for the rest; both kinds of asynchronous reads can be told not to wait for a disk.
    *(Call("clone3", 435, 435), Call("io_setup", 206, 0), Call("cachestat", 451, 451)),
    *(Call("io_uring_setup", 425, 425), Call("io_uring_enter", 426, 426), Call("io_uring_register", 427, 427)),
)
REFUSALS = (
    *(Refusal(call) for call in OF_THE_KERNEL),
    *(Refusal(call, errno.ENOSYS) for call in SAID_TO_BE_MISSING),
    Refusal(Call("clone", 56, 220), argument=0, bits=CLONE_NEWUSER),
    Refusal(Call("unshare", 272, 97), argument=0, bits=CLONE_NEWUSER),
    # Sockets to the host of a virtual machine: no network namespace isolates them.
    Refusal(Call("socket", 41, 198), errno.EAFNOSUPPORT, argument=0, equals=AF_VSOCK),
    Refusal(Call("preadv2", 327, 286), errno.EOPNOTSUPP, argument=5, bits=RWF_NOWAIT),
)


def job_filter(machine: str) -> bytes:
    """Return the program for `os.uname().machine`; empty for an unknown machine, or a 32-bit system.

    Blocks all calls of another architecture (32-bit programs), since their numbers have other meanings.
    """
    if machine not in AUDITED or sys.maxsize < 1 << 32:
        return b""
    missing = (_ANSWER, 0, 0, _REFUSE | errno.ENOSYS)
    program = chain(
        ((_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, AUDITED[machine]), missing),
        ((_LOAD, 0, 0, _NUMBER), (_AT_LEAST, 0, 1, FOREIGN), missing, (_MORE_THAN, 0, 1, NEWEST), missing),
        _refused(machine),
        ((_ANSWER, 0, 0, _ALLOW),),
    )
    return b"".join(struct.pack("=HBBI", *step) for step in program)


def _refused(machine: str) -> Iterator[Step]:
    for refusal in REFUSALS:
        number = refusal.call.number(machine)
        if number is not None:
            yield from refusal.steps(number)
