"""One interpreter per flow that forks a supervisor for each job: starting one anew took 0.03 CPU s of every run.

Standard input is a socket of the flow's. Every message on it hands over a connection, which brings an order and takes
the verdict back. The flow's death ends all of these, and with them supervisors and jobs.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from contextlib import suppress
from types import FrameType

from tasks.adapters.sandbox.supervisor.order import LENGTH, decode_order, encode
from tasks.adapters.sandbox.supervisor.start import adopt_orphans
from tasks.adapters.sandbox.supervisor.watch import ProcessWatch


def main() -> None:
    """Serve until the flow closes its socket, then wait for the supervisors: what they used counts as ours."""
    signal.signal(signal.SIGCHLD, _reap)
    own = os.getpid()
    with socket.socket(fileno=sys.stdin.fileno()) as control:
        while descriptors := socket.recv_fds(control, 1, 1)[1]:
            with socket.socket(fileno=descriptors[0]) as flow:
                if not os.fork():
                    control.close()
                    _supervise(flow, own)
                    os._exit(0)
    with suppress(ChildProcessError):
        while True:
            os.wait()


def _reap(_number: int, _frame: FrameType | None) -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _supervise(flow: socket.socket, parent: int) -> None:
    """The whole life of a supervisor. It says nothing where it was told to stop, or where the order did not arrive."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    flow.set_inheritable(False)
    with suppress(OSError):
        os.setsid()
        adopt_orphans()
        size = int.from_bytes(_read(flow, LENGTH), "big")
        order = decode_order(_read(flow, size))
        try:
            verdict = ProcessWatch(order, flow.fileno(), parent).run()
        except Exception as problem:
            flow.sendall(encode(f"{type(problem).__name__}: {problem}"))
        else:
            flow.sendall(encode(verdict) if verdict else b"")


def _read(flow: socket.socket, size: int) -> bytes:
    """Exactly so many bytes; `ConnectionError` where the flow ends before."""
    data = b""
    while len(data) < size:
        more = flow.recv(size - len(data))
        if not more:
            raise ConnectionError("the flow is gone")
        data += more
    return data
