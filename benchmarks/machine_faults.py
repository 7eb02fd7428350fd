"""What happens to machines at work in `benchmarks/three_machines.py`, and the conditions that some work under."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from benchmarks.machines import Cluster, Machine
from tasks.domain.errors import NotFound

LEASE_S = 3
"""Of a lease: short, so that a fault is over soon."""
OFF_S = 60
"""Of two machines' clocks: the first one's ahead, the second one's behind."""
FAILING = 0.05
"""Of the requests to the object store."""
SMALL_MB = 400
"""The disk of a machine that is filled up; what it needs of its own is about a fifth of that."""
BLOCK = bytes(1 << 20)
CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static long off(void) { const char *told = getenv("SWT_DRILL_CLOCK"); return told ? atol(told) : 0; }

int clock_gettime(clockid_t which, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int code = real(which, now);
    if (!code && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE)) now->tv_sec += off();
    return code;
}

int gettimeofday(struct timeval *now, void *zone) {
    static int (*real)(struct timeval *, void *);
    if (!real) real = dlsym(RTLD_NEXT, "gettimeofday");
    int code = real(now, zone);
    if (!code) now->tv_sec += off();
    return code;
}

time_t time(time_t *kept) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (kept) *kept = now.tv_sec;
    return now.tv_sec;
}

/* Until when by the wall clock that we told; one of the monotonic clock, which counts from the start, is small. */
int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until) {
    static int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    if (!real) real = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    struct timespec due = *until;
    if (due.tv_sec > 1000000000) due.tv_sec -= off();
    return real(condition, mutex, &due);
}
"""
"""Without the last of them pyarrow, built for an older C++ library, waits a minute longer in each pause between tries.

libfaketime 0.9.10 was tried: under it either sleeping fails with EINVAL or waiting for an event never ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What happens while machines are at work."""

    name: str
    do: Callable[[Cluster, Sequence[Machine], random.Random], None]
    killed: int = 0
    """Machines whose calls under way may be asked again."""
    may_end_badly: bool = False
    """Machines may say that something is left; the same command once more has to do it."""
    failing: float = 0.0
    """Of the requests to the object store, 0 to 1."""
    off_s: tuple[int, ...] = field(default=())
    """Of the clocks of the first machines."""
    small: bool = False
    """The last machine has a disk of its own, of `SMALL_MB`."""


def nothing(_: Cluster, __: Sequence[Machine], ___: random.Random) -> None:
    """The conditions are the fault."""


def kill(cluster: Cluster, machines: Sequence[Machine], rng: random.Random, *, count: int = 1) -> None:
    for one in rng.sample(machines, count):
        one.send(signal.SIGKILL)
        one.wait()
        one.start(cluster.work.command)


def stand_still(_: Cluster, machines: Sequence[Machine], rng: random.Random) -> None:
    one = rng.choice(machines)
    one.send(signal.SIGSTOP)
    time.sleep(2 * LEASE_S)
    one.send(signal.SIGCONT)


def stop_database(by: signal.Signals, cluster: Cluster, _: Sequence[Machine], rng: random.Random) -> None:
    cluster.database.stop(by)
    time.sleep(rng.uniform(0, LEASE_S))
    cluster.database.start()


def kill_objects(cluster: Cluster, _: Sequence[Machine], rng: random.Random) -> None:
    cluster.objects.kill()
    time.sleep(rng.uniform(0, LEASE_S))
    cluster.objects.start()


def fill_disk(_: Cluster, machines: Sequence[Machine], __: random.Random) -> None:
    """To the last byte, for as long as the machine is at work."""
    with (machines[-1].folder / "full").open("wb", buffering=0) as sink:
        try:
            while sink.write(BLOCK):
                pass
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise


FAULTS = (
    Fault(name="SeaweedFS killed", do=kill_objects, may_end_badly=True),
    Fault(name="5 % of S3 requests answered 500", do=nothing, failing=FAILING),
    Fault(name="disk of a machine full", do=fill_disk, small=True, may_end_badly=True),
    Fault(name="clocks off by 60 s", do=nothing, off_s=(OFF_S, -OFF_S)),
    Fault(name="clocks off by 60 s, kill -9 of a machine", do=kill, off_s=(OFF_S, -OFF_S), killed=1),
    Fault(name="PostgreSQL crashed", do=partial(stop_database, signal.SIGQUIT), may_end_badly=True),
    Fault(name="kill -9 of a machine", do=kill, killed=1),
    Fault(name="kill -9 of two machines", do=partial(kill, count=2), killed=2),
    Fault(name="SIGSTOP for two leases", do=stand_still),
    Fault(name="PostgreSQL restarted", do=partial(stop_database, signal.SIGINT)),
)


def strike(
    cluster: Cluster,
    machines: Sequence[Machine],
    faults: Sequence[Fault],
    rng: random.Random,
    within_s: tuple[float, float],
    over: Callable[[], bool],
) -> tuple[tuple[float, ...], int]:
    """Let faults come one after another, from now on; the seconds after which they came, and how many of them came when
    the work was over. Conditions never come too late."""
    began = time.monotonic()
    after, late = sorted(rng.uniform(*within_s) for _ in faults), 0
    for moment, fault in zip(after, faults, strict=True):
        time.sleep(max(0.0, began + moment - time.monotonic()))
        late += fault.do is not nothing and over()
        fault.do(cluster, machines, rng)
    return tuple(after), late


def clock_library(folder: Path) -> Path:
    """What shifts the wall clock of a process that loads it first; monotonic clocks stay as they are.

    `NotFound` where there is no compiler.
    """
    source, made = folder / "clock.c", folder / "clock.so"
    source.write_text(CLOCK)
    try:
        subprocess.run(["cc", "-shared", "-fPIC", "-o", str(made), str(source), "-ldl"], check=True)
    except FileNotFoundError:
        raise NotFound("there is no C compiler", hint="install gcc") from None
    return made


def with_clock(environ: Mapping[str, str], library: Path, off_s: int) -> dict[str, str]:
    return dict(environ) | {"LD_PRELOAD": str(library), "SWT_DRILL_CLOCK": str(off_s)}


@contextmanager
def own_disk(folder: Path) -> Iterator[None]:
    """A small one at `folder`, which is empty to begin with. `NotFound` for who may not mount."""
    if os.geteuid():
        raise NotFound("a disk of its own needs root", hint="leave this fault out")
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SMALL_MB}m", "tmpfs", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
