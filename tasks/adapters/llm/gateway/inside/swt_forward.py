"""Runs a command for which 127.0.0.1:PORT is the model gateway, in a sandbox that has no network.

    python swt_forward.py SOCKET PORT -- COMMAND [ARGUMENT...]

Standard library only, CPython 3.6 and later: it is copied into sandboxes. It listens on the loopback of the sandbox's
own network namespace, passes every connection on to a Unix socket that is mounted there, and ends with the command's
exit code. Nothing else can be reached through it.
"""

import fcntl
import os
import signal
import socket
import struct
import subprocess
import sys
import threading

CHUNK = 65536
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 0x1


def main(words):
    path, port, dashes = words[0], int(words[1]), words[2]
    if dashes != "--" or not words[3:]:
        sys.exit("usage: swt_forward.py SOCKET PORT -- COMMAND [ARGUMENT...]")
    raise_loopback()
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(64)
    start(accept, listener, path)
    child = subprocess.Popen(words[3:])
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda got, _frame: child.send_signal(got))
    code = child.wait()
    sys.exit(code if code >= 0 else 128 - code)


def raise_loopback():
    """bubblewrap and docker bring it up themselves; elsewhere it takes CAP_NET_ADMIN."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        name = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(probe, SIOCGIFFLAGS, name))[1]
        if not flags & IFF_UP:
            fcntl.ioctl(probe, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))


def start(work, *arguments):
    thread = threading.Thread(target=work, args=arguments)
    thread.daemon = True
    thread.start()


def accept(listener, path):
    while True:
        near = listener.accept()[0]
        far = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            far.connect(path)
        except OSError as error:
            os.write(2, "swt_forward: no gateway at {}: {}\n".format(path, error).encode())
            near.close()
            continue
        near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        start(pump, near, far)
        start(pump, far, near)


def pump(source, sink):
    """Pass on bytes in one direction until its end; then say so to the other side."""
    try:
        while True:
            data = source.recv(CHUNK)
            if not data:
                break
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        for one in (source, sink):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


if __name__ == "__main__":
    main(sys.argv[1:])
