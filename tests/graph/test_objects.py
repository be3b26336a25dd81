"""Objects of Python read by compiled code: their lengths, integers, and whether they are keys of a dictionary."""

from collections import OrderedDict

import numpy as np
import pytest

from garaph_py.graph import objects
from garaph_py.graph.objects import Objects


@pytest.mark.parametrize("known", [True, False])
def test_addresses_are_those_of_the_items(known, monkeypatch):
    monkeypatch.setattr(objects, "is_known", lambda: known)
    things = [1, "a", {}, None]
    assert objects.items_of(things).tolist() == list(map(id, things))
    assert objects.items_of([]).tolist() == []


@pytest.mark.usefixtures("_way")
def test_lengths_and_integers():
    assert Objects([{}, {1: 2, 3: 4}]).lengths().tolist() == [0, 2]
    assert Objects([5, -(2**63), 2**63 - 1]).integers().tolist() == [5, -(2**63), 2**63 - 1]
    assert Objects([]).integers().tolist() == []
    for other in ({}, 2**63, True, 1.0, "1", np.int64(1)):
        assert Objects([1, other]).integers() is None
    assert Objects([{}, OrderedDict()]).lengths() is None


@pytest.mark.usefixtures("_way")
def test_keys_are_the_same_objects_in_the_same_order():
    keys = ["one", "other", 10**12]
    rows = {key: {} for key in keys}
    assert Objects(keys).are_keys(rows)
    for wrong in (keys[:2], [*keys, 1], [keys[1], keys[0], keys[2]], [*keys[:2], int("1" + 12 * "0")], []):
        assert not Objects(wrong).are_keys(rows)
