"""Starts services and then becomes the command: `python swt_serve.py CONFIG.json COMMAND…`. Standard library only.

    {"services": [{"argv": [...], "env": {...}}]}       `{port}` stands for the port that a service is given

A service listens on the loopback device of the sandbox, is nobody's child that a test might wait for, and ends with the
process tree. The command is started once every service answers; it finds their variables in its environment.
"""

import json
import os
import select
import socket
import sys
import time

FIRST_PORT, LAST_PORT = 8001, 8999
SECONDS = 60.0


def main(config_path, command):
    """Never returns where all goes well."""
    with open(config_path, encoding="utf-8") as source:
        config = json.load(source)
    os.unlink(config_path)
    port = FIRST_PORT
    for service in config["services"]:
        port = free_port(port)
        argv = [word.format(port=port) for word in service["argv"]]
        wait_for(port, start(argv), argv)
        os.environ.update({name: value.format(port=port) for name, value in service["env"].items()})
        port += 1
    os.execv(command[0], command)


def free_port(first):
    """The first that nobody listens on: the same one in every sandbox that has a network of its own."""
    for port in range(first, LAST_PORT):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return port
    sys.exit("no port is free")


def start(argv):
    """As a child of the sandbox's first process: the one in between ends at once. What ends with the service."""
    ends, held = os.pipe()
    between = os.fork()
    if between:
        os.close(held)
        os.waitpid(between, 0)
        return ends
    if os.fork():
        os._exit(0)
    os.set_inheritable(held, True)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.chdir(os.environ.get("TMPDIR", "/"))
    try:
        os.execv(argv[0], argv)
    finally:
        os._exit(127)


def wait_for(port, ends, argv):
    """Until the service answers, or has ended."""
    until = time.monotonic() + SECONDS
    while time.monotonic() < until and not select.select([ends], [], [], 0.02)[0]:
        with socket.socket() as probe:
            if not probe.connect_ex(("127.0.0.1", port)):
                os.close(ends)
                return
    sys.exit("a service did not start: %s" % " ".join(argv))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
