"""A network namespace for each machine: what it calls localhost is its own, and of this machine it sees what listens.

Needs root, `ip` and `iptables`. Services stay where they are, on 127.0.0.1 of this machine: each namespace reaches them
by this machine's end of its cable, and the package registries through it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from tasks.domain.errors import NotFound

HERE = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Network:
    """One namespace, with a cable to this machine."""

    number: int

    @property
    def name(self) -> str:
        return f"swt-machine-{self.number}"

    @property
    def cable(self) -> str:
        """This machine's end."""
        return f"swt-m{self.number}"

    @property
    def outside(self) -> str:
        """The address of this machine as it is seen from inside."""
        return f"10.77.{self.number}.1"

    @property
    def inside(self) -> str:
        return f"10.77.{self.number}.2"

    def command(self, argv: Sequence[str]) -> list[str]:
        """To be run inside."""
        return ["ip", "netns", "exec", self.name, *argv]

    def told(self, environ: Mapping[str, str]) -> dict[str, str]:
        """The same services by their addresses from inside."""
        return {name: text.replace(HERE, self.outside) for name, text in environ.items()}

    def make(self) -> None:
        far = f"{self.cable}-in"
        _run("ip", "netns", "add", self.name)
        _run("ip", "link", "add", self.cable, "type", "veth", "peer", "name", far)
        _run("ip", "link", "set", far, "netns", self.name)
        _run("ip", "addr", "add", f"{self.outside}/24", "dev", self.cable)
        _run("ip", "link", "set", self.cable, "up")
        for part in (
            f"addr add {self.inside}/24 dev {far}",
            f"link set {far} up",
            "link set lo up",
            f"route add default via {self.outside}",
        ):
            _run("ip", "-n", self.name, *part.split())
        _open(self.cable, self._rules)

    def remove(self) -> None:
        _close(self._rules)
        with suppress(subprocess.CalledProcessError):
            _run("ip", "netns", "del", self.name)

    @property
    def _rules(self) -> tuple[str, ...]:
        return (
            *_services(self.cable, self.outside),
            f"-t nat ADD POSTROUTING -s {self.inside} -j MASQUERADE",
            f"ADD FORWARD -i {self.cable} -j ACCEPT",
            f"ADD FORWARD -o {self.cable} -j ACCEPT",
        )


@contextmanager
def networks(count: int) -> Iterator[tuple[Network, ...]]:
    """Namespaces that are gone with the block; another drill's stay. `NotFound` where a program is missing."""
    for program in ("ip", "iptables"):
        if shutil.which(program) is None:
            raise NotFound(f"there is no {program}", hint="install iproute2 and iptables, or leave out --networks")
    free = (one for one in map(Network, range(256)) if not Path(f"/run/netns/{one.name}").exists())
    made = tuple(islice(free, count))
    before = Path("/proc/sys/net/ipv4/ip_forward")
    forwarded = before.read_text()
    before.write_text("1")
    with ExitStack() as held:
        held.callback(before.write_text, forwarded)
        for one in made:
            held.callback(one.remove)
            one.make()
        yield made


@contextmanager
def seen_by_containers() -> Iterator[str]:
    """The address at which containers on Docker's own network, and this machine, find its services within the block."""
    network = json.loads(subprocess.check_output(["docker", "network", "inspect", "bridge"]))[0]
    cable = network["Options"]["com.docker.network.bridge.name"]
    address = network["IPAM"]["Config"][0]["Gateway"]
    own = f"-t nat ADD OUTPUT -d {address} -p tcp -j DNAT --to-destination {HERE}"  # this machine by the same address
    rules = (*_services(cable, address), own)
    _open(cable, rules)
    try:
        yield address
    finally:
        _close(rules)


def _services(cable: str, outside: str) -> tuple[str, ...]:
    """Rules by which what comes over a cable finds what listens on 127.0.0.1 of this machine."""
    return (
        f"-t nat ADD PREROUTING -i {cable} -d {outside} -p tcp -j DNAT --to-destination {HERE}",
        # PostgreSQL asks where who comes from.
        f"-t nat ADD INPUT -i {cable} -d {HERE} -p tcp -j SNAT --to-source {HERE}",
    )


def _open(cable: str, rules: Sequence[str]) -> None:
    # Packets to 127.0.0.1 that come from elsewhere are dropped otherwise.
    Path(f"/proc/sys/net/ipv4/conf/{cable}/route_localnet").write_text("1")
    for rule in rules:
        _run("iptables", *rule.replace("ADD", "-I").split())


def _close(rules: Sequence[str]) -> None:
    for rule in rules:
        with suppress(subprocess.CalledProcessError):
            _run("iptables", *rule.replace("ADD", "-D").split())


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
