"""The files of the host that an isolating sandbox shows: the read-only system, and small files of our own in /etc."""

from __future__ import annotations

from pathlib import Path

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
ETC = (
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/pki/tls",
    "/etc/protocols",
    "/etc/services",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/timezone",
)
"""Files for interpreters, linkers and TLS. None contains names of the machine or its users, or secrets."""

USER = "swt"
HOSTNAME = "sandbox"


def system_arguments() -> list[str]:
    """Return bwrap options that mount the system read-only; links of a merged /usr stay links."""
    words: list[str] = []
    for name in SYSTEM:
        path = Path(name)
        if path.is_symlink():
            words += ["--symlink", str(path.readlink()), name]
        elif path.is_dir():
            words += ["--ro-bind", name, name]
    for name in ETC:
        words += ["--ro-bind-try", name, name]
    return words


def write_etc(folder: Path, *, uid: int, home: str) -> list[Path]:
    """Write our own files into `folder`, each under its name in /etc inside; return their paths."""
    files = {
        "passwd": f"root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n{USER}:x:{uid}:{uid}:{USER}:{home}:/bin/sh\n",
        "group": f"root:x:0:\n{USER}:x:{uid}:\n",
        "hosts": f"127.0.0.1 localhost {HOSTNAME}\n::1 localhost\n",
        "hostname": f"{HOSTNAME}\n",
        "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    return [folder / name for name in files]
