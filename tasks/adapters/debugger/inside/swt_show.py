"""Values as text, whatever their `__repr__` does: raise, never end, or give 10 MB."""

LIMIT = 4000


class Interrupted(BaseException):
    """The command has used up its time."""


def plain(text):
    """An exact `str`: a subclass may have methods of its own."""
    return "".join(["", text, ""])


def cut(text, limit=LIMIT):
    """At most `limit` characters, and it says so where some are missing."""
    if len(text) <= limit:
        return text
    note = "\n... cut: %d characters in all" % len(text)
    return text[: limit - len(note)] + note


def named(error):
    """`ValueError: why`."""
    try:
        kind = plain(type(error).__name__)
    except Interrupted:
        raise
    except BaseException:
        kind = "an exception"
    try:
        text = plain(str(error))
    except Interrupted:
        raise
    except BaseException:
        text = "(its message cannot be shown)"
    return "%s: %s" % (kind, text) if text else kind


def guarded(make):
    """The text that `make()` gives, or what it raised."""
    try:
        return plain(make())
    except Interrupted:
        raise
    except BaseException as error:
        return "*** " + named(error)


def shown(value, limit=LIMIT):
    return cut(guarded(lambda: repr(value)), limit)


def pairs(names, limit=LIMIT):
    """`name = value` of each, one a line; none of them takes all the room."""
    each = max(200, limit // max(1, len(names)))
    return "\n".join("%s = %s" % (name, shown(value, each)) for name, value in names)
