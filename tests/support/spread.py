"""Which combinations of a test's parameters run at every commit."""

from itertools import groupby

import pytest


def mark_others(items):
    """Of each test marked `spread`, mark `full` all combinations of parameters but a few with every value."""
    marked = (item for item in items if item.get_closest_marker("spread") and not item.get_closest_marker("full"))
    for _, group in groupby(sorted(marked, key=test_of), key=test_of):
        combinations = list(group)
        for item in set(combinations) - set(spread(combinations)):
            item.add_marker(pytest.mark.full)


def test_of(item):
    return item.nodeid.partition("[")[0]


def spread(items):
    """A few of the items whose parameters have every value that those of all items have."""
    values = {item: {(name, repr(value)) for name, value in item.callspec.params.items()} for item in items}
    missing = set().union(*values.values())
    while missing:
        best = max(items, key=lambda item: len(values[item] & missing))
        missing -= values[best]
        yield best
