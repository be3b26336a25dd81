"""Which combinations of a test's parameters run at every commit."""

from itertools import groupby

import pytest


def mark_others(items):
    """Mark `full` the combinations of parameters that every commit can do without.

    Of a test marked `spread`, and of what is `slow`, a few combinations remain. In these, every value occurs that no
    quick combination of the same test has.
    """
    parametrized = (item for item in items if hasattr(item, "callspec") and not item.get_closest_marker("full"))
    for _, group in groupby(sorted(parametrized, key=test_of), key=test_of):
        combinations = list(group)
        many = [item for item in combinations if item.get_closest_marker("spread") or item.get_closest_marker("slow")]
        kept = [item for item in combinations if item not in many]
        for item in set(many) - set(spread(many, kept)):
            item.add_marker(pytest.mark.full)


def test_of(item):
    return item.nodeid.partition("[")[0]


def spread(items, others):
    """A few of the items: their parameters have every value that those of all items have, but none of `others`."""
    values = {item: {(name, repr(value)) for name, value in item.callspec.params.items()} for item in [*items, *others]}
    missing = set().union(*(values[item] for item in items)) - set().union(*(values[item] for item in others))
    while missing:
        best = max(items, key=lambda item: len(values[item] & missing))
        missing -= values[best]
        yield best
