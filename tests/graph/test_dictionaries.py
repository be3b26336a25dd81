"""Dictionaries read by compiled code: what they hold comes out, and what only Python can read is left to it."""

import gc
import sys
from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from garaph_py.graph import dictionaries
from garaph_py.graph.dictionaries import Reader
from garaph_py.graph.networkx import table_of
from garaph_py.system.garbage import uncollected

KERNELS = "NEIGHBOURS", "SIZES", "VALUES"
WEIGHTS = st.one_of(st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False))
ROWS = st.lists(st.dictionaries(st.integers(0, 9), st.dictionaries(st.sampled_from("abw"), WEIGHTS), max_size=12))


def reader(rows, several=False):
    return Reader(rows, sum(map(len, rows)), several)


def in_python(monkeypatch):
    for name in KERNELS:
        monkeypatch.setattr(dictionaries, name, getattr(dictionaries, name).function)


@pytest.fixture(params=["compiled", "python"])
def _way(request, monkeypatch):
    if request.param == "python":
        in_python(monkeypatch)


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize("nodes", [range(30), [*"abcdef", 7], [10**12, 3, 10**15]])
def test_neighbours_are_the_vertices_of_the_keys(nodes):
    nodes = list(nodes)
    rows = [{key: {} for key in [*nodes[k:], nodes[0]]} for k in range(len(nodes))]
    expected = [nodes.index(key) for row in rows for key in row]
    assert reader(rows).neighbours(nodes, table_of(nodes)).tolist() == expected


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize("key", [1.0, True, np.int64(1), 2.5, (1, 2), "b", 99, -1, 2**70])
@pytest.mark.parametrize("nodes", [[0, 1, 2], [10**12, 1, 2], ["a", 1]])
def test_keys_that_are_not_exactly_a_node_are_for_python(nodes, key):
    assert reader([{nodes[0]: {}}, {key: {}}]).neighbours(nodes, table_of(nodes)) is None


@pytest.mark.usefixtures("_way")
def test_nodes_with_code_of_their_own_are_for_python():
    class Name(str):
        __slots__ = ()

    for nodes in ([Name("a"), "b"], [(1, 2)], [2.5]):
        assert reader([dict.fromkeys(nodes)]).neighbours(nodes, None) is None


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize(
    ("values", "expected", "mixed"),
    [
        ([3, -(2**63), 2**63 - 1], np.array([3, -(2**63), 2**63 - 1]), False),
        ([0.5, -1e300], np.array([0.5, -1e300]), False),
        ([1, 2, 0.5, 3], np.array([1, 2, 0.5, 3]), True),
        ([0.5, 7], np.array([0.5, 7]), True),
    ],
)
def test_numbers_are_integers_until_there_is_a_float(values, expected, mixed):
    rows = [{0: {"a": 1, "w": value}} for value in values] + [{}]
    found, is_mixed, is_given = reader(rows).numbers(len(values), "w", 1)
    assert found.dtype == expected.dtype
    assert found.tolist() == expected.tolist()
    assert is_mixed == mixed
    assert is_given
    assert not reader(rows).numbers(len(values), "v", 1).are_given


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize(
    "data", [{"w": True}, {"w": np.float64(1)}, {"w": None}, {"w": 2**63}, OrderedDict(w=1), 5, None]
)
def test_values_of_other_types_are_for_python(data):
    assert reader([{0: {"w": 1}, 1: data}]).numbers(2, "w", 1) is None
    assert reader([{0: {"w": 1}}]).numbers(1, ("w",), 1) is None


class Alike:
    """A key with the hash of the attribute, which Python compares with it when it looks for that."""

    compared = 0

    def __hash__(self):
        return hash("w")

    def __eq__(self, other):
        Alike.compared += 1
        raise KeyError("compared")


class Letter(str):
    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other):
        return Alike.__eq__(self, other)


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("key", [Alike(), Letter("w"), Letter("other"), ("w",), 1.5, None])
def test_no_key_is_compared_by_code_of_its_own(key, several):
    data = [{"w": 1}, {key: 2}, {"a": 1, key: 2}]
    rows = [{k: {0: each} if several else each} for k, each in enumerate(data)]
    before = Alike.compared
    assert reader(rows, several).numbers(3, "w", 1) is None
    assert Alike.compared == before


@pytest.mark.usefixtures("_way")
def test_a_name_is_found_whatever_object_it_is():
    name = "".join(["we", "ight"])
    data = [{"weight": 2}, {name: 3}, {"a": 0, 5: 0, name: 4}, {"a": 0, "weight": 5, "b": 0}, {"a": 0}, {}]
    assert reader([dict(enumerate(data))]).numbers(6, "weight", 9)[0].tolist() == [2, 3, 4, 5, 9, 9]


@pytest.mark.usefixtures("_way")
def test_a_neighbour_that_is_no_node_is_for_python():
    assert reader([{0: {}, 1: {}}, {}]).neighbours([0, 2], table_of([0, 2])) is None


@pytest.mark.parametrize("lacks", ["its lock", "types where kernels read them"])
def test_a_python_without_these_reads_dictionaries_itself(lacks, monkeypatch):
    if lacks == "its lock":
        monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    else:
        monkeypatch.setattr(dictionaries, "TYPE_WORD", 0)
        monkeypatch.setattr(dictionaries, "has_types", dictionaries.has_types.__wrapped__)
    assert reader([{0: {"w": 1}}]).neighbours([0], table_of([0])) is None
    assert reader([{0: {0: {}}}], several=True).sizes() is None
    assert reader([{0: {"w": 1}}]).numbers(1, "w", 1) is None


@pytest.mark.usefixtures("_way")
def test_dictionaries_of_parallel_edges():
    rows = [{0: {0: {"w": 1}, 1: {}}, 1: {}}, {}, {2: {"key": {"w": 5}}}]
    assert reader(rows, several=True).sizes().tolist() == [2, 0, 1]
    assert reader(rows, several=True).numbers(3, "w", 7)[0].tolist() == [1, 7, 5]
    assert reader([{0: [1]}], several=True).sizes() is None
    assert reader([{0: [1]}], several=True).numbers(1, "w", 7) is None


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize("change", [1, -1])
def test_dictionaries_that_have_changed_are_for_python(change):
    rows = [{0: {}, 1: {}}, {0: {}}]
    assert Reader(rows, 3 + change, False).neighbours([0, 1], table_of([0, 1])) is None
    assert Reader(rows, 3 + change, True).sizes() is None
    assert Reader(rows, 3, False).numbers(3 + change, "w", 1) is None


@pytest.mark.full
@given(rows=ROWS)
def test_all_values_are_read(rows):
    data = [each for row in rows for each in row.values()]
    expected = [each.get("w", 1) for each in data]
    found, mixed, is_given = reader(rows).numbers(len(data), "w", 1)
    kinds = set(map(type, expected))
    assert mixed == (kinds == {int, float})
    assert is_given == any("w" in each for each in data)
    assert found.tolist() == [float(each) if float in kinds else each for each in expected]


def test_no_reference_is_taken():
    things = ["a key of this test", 12345678901, 0.12345, {"w": 10**15}]
    rows = [{things[0]: things[3], things[1]: {"w": things[2]}}]
    gc.collect()  # otherwise garbage of other tests, which refers to these types, might be freed meanwhile
    with uncollected():
        before = [*map(sys.getrefcount, things), *map(sys.getrefcount, dictionaries.KINDS)]
        for _ in range(3):
            assert reader(rows).neighbours(things[:2], None).tolist() == [0, 1]
            assert reader(rows).numbers(2, "w", 1)[0].tolist() == [10**15, 0.12345]
        assert [*map(sys.getrefcount, things), *map(sys.getrefcount, dictionaries.KINDS)] == before
