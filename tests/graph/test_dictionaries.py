"""Dictionaries read by compiled code: what they hold comes out, and what only Python can read is left to it."""

import gc
import sys
from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from garaph_py.graph import objects
from garaph_py.graph.dictionaries import Reader
from garaph_py.graph.networkx import looked_up, summed
from garaph_py.graph.nodes import Nodes
from garaph_py.graph.objects import Objects
from garaph_py.system.garbage import uncollected
from tests.support.objects import reader

WEIGHTS = st.one_of(st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False))
ROWS = st.lists(st.dictionaries(st.integers(0, 9), st.dictionaries(st.sampled_from("abw"), WEIGHTS), max_size=12))


def neighbours(rows, nodes):
    return looked_up(reader(rows), Nodes(nodes))


def numbers(rows, attribute, default, several=False):
    ends = summed([len(edges) for row in rows for edges in row.values()]) if several else None
    return reader(rows).numbers(ends, attribute, default)


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize("nodes", [range(30), [*"abcdef", 7], [10**12, 3, 10**15]])
def test_neighbours_are_the_vertices_of_the_keys(nodes):
    nodes = list(nodes)
    rows = [{key: {} for key in [*nodes[k:], nodes[0]]} for k in range(len(nodes))]
    expected = [nodes.index(key) for row in rows for key in row]
    assert neighbours(rows, nodes).tolist() == expected


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize("key", [1.0, True, np.int64(1), 2.5, (1, 2), "b", 99, -1, 2**70])
@pytest.mark.parametrize("nodes", [[0, 1, 2], [10**12, 1, 2], ["a", 1]])
def test_keys_that_are_not_exactly_a_node_are_for_python(nodes, key):
    assert neighbours([{nodes[0]: {}}, {key: {}}], nodes) is None


@pytest.mark.usefixtures("_way")
def test_nodes_with_code_of_their_own_are_for_python():
    class Name(str):
        __slots__ = ()

    for nodes in ([Name("a"), "b"], [(1, 2)], [2.5]):
        assert neighbours([dict.fromkeys(nodes)], nodes) is None


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
    found, is_mixed, is_given = numbers(rows, "w", 1)
    assert found.dtype == expected.dtype
    assert found.tolist() == expected.tolist()
    assert is_mixed == mixed
    assert is_given
    assert not numbers(rows, "v", 1).are_given


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize(
    "data", [{"w": True}, {"w": np.float64(1)}, {"w": None}, {"w": 2**63}, OrderedDict(w=1), 5, None]
)
def test_values_of_other_types_are_for_python(data):
    assert numbers([{0: {"w": 1}, 1: data}], "w", 1) is None
    assert numbers([{0: {"w": 1}}], ("w",), 1) is None


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
    assert numbers(rows, "w", 1, several) is None
    assert Alike.compared == before


@pytest.mark.usefixtures("_way")
def test_a_name_is_found_whatever_object_it_is():
    name = "".join(["we", "ight"])
    data = [{"weight": 2}, {name: 3}, {"a": 0, 5: 0, name: 4}, {"a": 0, "weight": 5, "b": 0}, {"a": 0}, {}]
    assert numbers([dict(enumerate(data))], "weight", 9)[0].tolist() == [2, 3, 4, 5, 9, 9]


@pytest.mark.usefixtures("_way")
def test_a_neighbour_that_is_no_node_is_for_python():
    assert neighbours([{0: {}, 1: {}}, {}], [0, 2]) is None


@pytest.mark.parametrize("lacks", ["its lock", "types where kernels read them"])
def test_a_python_without_these_reads_dictionaries_itself(lacks, monkeypatch):
    if lacks == "its lock":
        monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    else:
        monkeypatch.setattr(objects, "TYPE_WORD", 0)
        monkeypatch.setattr(objects, "has_types", objects.has_types.__wrapped__)
    rows = [{0: {"w": 1}}]
    assert Objects(rows).lengths() is None
    assert Objects([0]).integers() is None
    assert not Objects([0]).are_keys({0: rows[0]})
    assert neighbours(rows, [0]) is None
    assert reader(rows).sizes() is None
    assert numbers(rows, "w", 1) is None


@pytest.mark.usefixtures("_way")
def test_dictionaries_of_parallel_edges():
    rows = [{0: {0: {"w": 1}, 1: {}}, 1: {}}, {}, {2: {"key": {"w": 5}}}]
    assert reader(rows).sizes().tolist() == [2, 0, 1]
    assert numbers(rows, "w", 7, several=True)[0].tolist() == [1, 7, 5]
    assert reader([{0: [1]}]).sizes() is None
    assert numbers([{0: [1]}], "w", 7, several=True) is None


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize("bounds", [[0, 2, 4], [0, 2, 2], [0, 1, 3]])
def test_dictionaries_that_have_changed_are_for_python(bounds):
    read = reader([{0: {"w": 1}, 1: {}}, {0: {}}], bounds)
    assert looked_up(read, Nodes([0, 1])) is None
    assert read.sizes() is None
    assert read.numbers(None, "w", 1) is None


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize("part", [1, 2, 3])
@pytest.mark.parametrize("several", [False, True])
def test_parts_make_up_the_whole(part, several, monkeypatch):
    monkeypatch.setattr(objects, "PART", part)
    values = [1, 2, 0.5, 3, 4, -0.0]
    edges = [{0: {"w": value}, 1: {}} if several else {"w": value} for value in values]
    rows = [dict(enumerate(edges[:2])), {}, {2: edges[2]}, {}, {}, dict(enumerate(edges[3:]))]
    expected = [given for value in values for given in ([value, 9] if several else [value])]
    found, mixed, is_given = numbers(rows, "w", 9, several)
    assert (found.dtype, found.tolist(), mixed, is_given) == (np.float64, expected, True, True)
    assert neighbours(rows, [0, 1, 2]).tolist() == [0, 1, 2, 0, 1, 2]
    assert Objects(rows).lengths().tolist() == [2, 0, 1, 0, 0, 3]
    whole, mixed, is_given = numbers(rows, "v", 9, several)
    assert (whole.dtype, set(whole.tolist()), mixed, is_given) == (np.int64, {9}, False, False)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("nodes", [list(range(5000)), [f"n{k}" for k in range(5000)], [*range(4999), "a"]])
def test_threads_read_the_same(nodes, known, monkeypatch):
    monkeypatch.setattr(objects, "PART", 1 << 10)
    if not known:
        monkeypatch.setattr(objects, "LAST_KNOWN", (3, 0))
    rows = [{nodes[(k * j) % 5000]: {"w": k * j} for j in range(k % 9)} for k in range(5000)]
    places, kept = Nodes(nodes), Objects(rows, threads=4)
    read = Reader(kept, summed(list(map(len, rows))))
    found = looked_up(read, places)
    assert [nodes[vertex] for vertex in found.tolist()] == [key for row in rows for key in row]
    assert read.numbers(None, "w", 0)[0].tolist() == [data["w"] for row in rows for data in row.values()]
    assert kept.lengths().tolist() == list(map(len, rows))


@pytest.mark.full
@given(rows=ROWS)
def test_all_values_are_read(rows):
    data = [each for row in rows for each in row.values()]
    expected = [each.get("w", 1) for each in data]
    found, mixed, is_given = numbers(rows, "w", 1)
    kinds = set(map(type, expected))
    assert mixed == (kinds == {int, float})
    assert is_given == any("w" in each for each in data)
    assert found.tolist() == [float(each) if float in kinds else each for each in expected]


def test_no_reference_is_taken():
    things = ["a key of this test", 12345678901, 0.12345, {"w": 10**15}]
    rows = [{things[0]: things[3], things[1]: {"w": things[2]}}]
    gc.collect()  # otherwise garbage of other tests, which refers to these types, might be freed meanwhile
    with uncollected():
        before = [*map(sys.getrefcount, things), *map(sys.getrefcount, objects.KINDS)]
        for _ in range(3):
            assert neighbours(rows, things[:2]).tolist() == [0, 1]
            assert numbers(rows, "w", 1)[0].tolist() == [10**15, 0.12345]
        assert [*map(sys.getrefcount, things), *map(sys.getrefcount, objects.KINDS)] == before
