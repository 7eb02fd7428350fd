"""The order of cases: as given, backwards, or shuffled by a seed. What belongs together stays together."""

import random

from swt_steps import are_steps


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

    def arrange(self, items, class_of=lambda item: None):
        """Change a list in place; `class_of(item)` is the class that it is a case of, null where there is none."""
        if not self.is_given:
            given = list(items)
            if self.is_reversed:
                items.reverse()
            else:
                self._lot.shuffle(items)
            _keep_steps(given, items, class_of)

    def arrange_groups(self, items, groups_of, class_of):
        """Change a list in place; `groups_of(item)` names the groups that it lies in, the outermost first.

        Groups are shuffled, and within each of them what it holds: what a module or a class shares is made once.
        """
        if self.is_shuffled:
            given = list(items)
            items[:] = self._mixed([(tuple(groups_of(item)), item) for item in items])
            _keep_steps(given, items, class_of)
        else:
            self.arrange(items, class_of)

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


def _keep_steps(given, items, class_of):
    """Put the cases of a class of steps back into the order in which they were given, in the places that they took."""
    classes = {class_of(item) for item in given} - {None}
    for cls in filter(are_steps, classes):
        places = [at for at, item in enumerate(items) if class_of(item) is cls]
        for at, item in zip(places, [item for item in given if class_of(item) is cls]):
            items[at] = item
