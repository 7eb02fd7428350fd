"""The order of cases: as given, backwards, or shuffled by a seed. What belongs together stays together."""

import random


def order_of(config):
    """The order that the configuration asks for."""
    return Order(config.get("order", "given"), config.get("order_seed"))


class Order(object):
    """One order of one run. The same seed on the same cases gives the same order, on every CPython."""

    def __init__(self, name="given", seed=None):
        self.is_reversed = name == "reversed"
        self.is_shuffled = name == "shuffled"
        self.is_given = not (self.is_reversed or self.is_shuffled)
        self._lot = random.Random(seed)  # noqa: S311 - not a secret

    def arrange(self, items):
        """Change a list in place."""
        if self.is_reversed:
            items.reverse()
        elif self.is_shuffled:
            self._lot.shuffle(items)

    def arrange_groups(self, items, groups_of):
        """Change a list in place; `groups_of(item)` names the groups that it lies in, the outermost first.

        Groups are shuffled, and within each of them what it holds: what a module or a class shares is made once.
        """
        if self.is_shuffled:
            items[:] = self._mixed([(tuple(groups_of(item)), item) for item in items])
        else:
            self.arrange(items)

    def _mixed(self, pairs):
        parts = {}
        for number, (groups, item) in enumerate(pairs):
            parts.setdefault(groups[:1] or number, []).append((groups[1:], item))
        chosen = list(parts)
        self._lot.shuffle(chosen)
        return [item for key in chosen for item in self._opened(key, parts[key])]

    def _opened(self, key, pairs):
        """The items of a group in their order; a number is the key of an item that lies in no further group."""
        return [pairs[0][1]] if isinstance(key, int) else self._mixed(pairs)
