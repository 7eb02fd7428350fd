"""Makes one code state out of another, in the checkout. CPython 3.6 to 3.13, standard library only."""

import os

_OTHER_TIME = 1500000000  # bytecode of what was there before is told by it


def put_in_place(changes, links):
    """`changes` maps a path of the checkout to the file with its new content, `links` to the target of a symbolic link;
    null removes it."""
    for path in list(changes) + list(links):
        if os.path.lexists(path):
            os.unlink(path)
    for path, target in links.items():
        if target is not None:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            os.symlink(target, path)
    for path, content in changes.items():
        if content is not None:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            with open(content, "rb") as source, open(path, "wb") as target:
                target.write(source.read())
            os.utime(path, (_OTHER_TIME, _OTHER_TIME))
