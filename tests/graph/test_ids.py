"""Vertex ids: internal to the user's and back."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from garaph_py.errors import GraphError, UnknownVertexError
from garaph_py.graph.ids import EDITS, IdText, IntegerIds, StringIds, VertexIds, edits
from garaph_py.graph.number import number_vertices

INT64 = st.integers(-(2**63), 2**63 - 1)
ID_LISTS = st.one_of(
    st.lists(st.integers(0, 20), max_size=40),  # dense: a table over the range
    st.lists(INT64, max_size=40),  # wide: sorted
    st.lists(st.integers(0, 2**64 - 1), max_size=40),  # uint64
    st.lists(st.text(max_size=5), max_size=40),
)


def as_column(items: list) -> np.ndarray:
    """A column of ids; NumPy alone would turn integers that exceed int64 into floats."""
    if items and isinstance(items[0], int):
        return np.array(items, np.uint64 if max(items) >= 2**63 else np.int64)
    return np.array(items, object if items else np.int64)


@pytest.mark.full
@given(ID_LISTS, st.data())
def test_every_id_comes_back(ids, data):
    half = len(ids) // 2
    sources, targets = as_column(ids[:half]), as_column(ids[half : 2 * half])
    vertices = as_column(ids[2 * half :]) if len(ids) % 2 else None
    numbered_sources, numbered_targets, table = number_vertices(sources, targets, vertices)
    assert numbered_sources.dtype == numbered_targets.dtype == np.uint32
    assert table.take(numbered_sources).tolist() == sources.tolist()
    assert table.take(numbered_targets).tolist() == targets.tolist()
    assert len(table) == table.n == len(set(ids))
    assert sorted(table.array().tolist()) == sorted(set(ids))
    for vertex in ids:
        assert table.array()[table.index(vertex)] == vertex


@given(st.lists(INT64, min_size=2).filter(lambda ids: len(ids) % 2 == 0))
def test_integers_are_numbered_in_ascending_order(ids):
    sources, targets, _ = number_vertices(as_column(ids[0::2]), as_column(ids[1::2]))
    ranks = np.unique(np.array(ids, np.int64), return_inverse=True)[1]
    assert np.array_equal(np.stack([sources, targets], 1).ravel(), ranks)


def test_contiguous_integers_need_no_table():
    assert type(number_vertices([0, 1], [2, 0])[2]) is VertexIds
    assert type(number_vertices([0, 1], [3, 0])[2]) is IntegerIds
    assert type(number_vertices([0, 1], [3, 0], [2])[2]) is VertexIds


def test_strings_are_numbered_as_they_come():
    columns = pa.chunked_array([["b", "a"], ["b"]]), pa.array(["c", "é", "a"])
    sources, targets, ids = number_vertices(*columns)
    assert ids.array().tolist() == ["b", "a", "c", "é"]
    assert sources.tolist() == [0, 1, 0]
    assert targets.tolist() == [2, 3, 1]
    assert isinstance(ids, StringIds)


@pytest.mark.parametrize(
    ("sources", "targets", "message"),
    [
        ([-1], np.array([2**64 - 1], np.uint64), "no 64-bit integer type holds both"),
        ([0.5], [1.0], "integers or strings"),
        ([[1, 2]], [[3, 4]], "1-d"),
        (["a", None], ["b", "c"], r"sources\[1\] is missing"),
        (pa.array(["a", None]), pa.array(["b", "c"]), r"sources\[1\] is missing"),
        ([1, 2], pa.array([3, None]), r"targets\[1\] is missing"),
        (["a", "b"], ["c", float("nan")], r"targets\[1\] is missing \(nan\)"),
        (pd.Series(["a", None], dtype="string"), ["b", "c"], r"sources\[1\] is missing"),
        (pd.Series([1, None]), [1, 2], "a column with missing values"),
        (pd.Series([1, None], dtype="Int64").astype(object), [1, 2], r"sources\[1\] is missing"),
        ([1, 2**64], [1, 2], r"sources\[1\] is an integer of 65 bits.*as strings"),
        ([1, 2], [-(2**63) - 1, 2], r"targets\[0\] is an integer of 65 bits.*as strings"),
        ([-1, 2**63], [1, 2], "no 64-bit integer type holds both"),
        ([1, "a"], [1, 2], r"sources\[1\] is 'a' \(str\), but sources\[0\] is 1"),
        (np.array([1, "a"], object), [1, 2], r"sources\[1\] is 'a'"),
        ([1, 2], ["1", "2"], "sources holds integers but targets holds strings"),
        (np.array([1, 2]), np.array(["1", "2"]), "sources holds integers but targets holds strings"),
        ([1, 2.0], [1, 2], r"sources\[1\] is 2.0 \(float\)"),
        (
            np.array([1.0, np.nan]),
            [1, 2],
            r"sources is 1-d float64, which a column with missing values .*astype\('int64'\)",
        ),
        ([b"a"], [b"b"], r"sources\[0\] is b'a' \(bytes\)"),
        ([[1], [1, 2]], [1, 2], r"sources\[0\] is \[1\] \(list\)"),
        (pa.array([0.5]), pa.array([1.5]), "an Arrow array of double"),
        (["\udcff"], ["a"], "not valid Unicode"),
    ],
)
def test_unusable_ids_are_refused(sources, targets, message):
    with pytest.raises(GraphError, match=message):
        number_vertices(sources, targets)


@pytest.mark.parametrize(
    "column",
    [
        [3, 2**40],
        np.array([3, 2**40], object),
        [np.uint64(3), 2**40],
        pd.Series([3, 2**40], dtype="Int64"),
        pa.array([3, 2**40]),
        pa.chunked_array([[3], [2**40]]),
        pa.array([3, 2**40]).dictionary_encode(),
    ],
    ids=str,
)
def test_integers_stay_integers_in_every_container(column):
    sources, targets, ids = number_vertices(column, [2**40, 3], vertices=[])
    assert ids.kind == "integer"
    assert ids.array().tolist() == [3, 2**40]
    assert [sources.tolist(), targets.tolist()] == [[0, 1], [1, 0]]


def test_names_are_found_when_they_are_sorted_too():
    names = ["zlib", "", "é", "\U0001f600", "\uffff", "a\0", "a", *(f"lib{i}" for i in range(200))]
    ids = StringIds(names)
    for _ in range(2):
        assert [ids.find(name) for name in names] == list(range(len(names)))
        assert [ids.find(name) for name in ("lib", "zzz", "\U0010ffff", "a\1")] == [None] * 4


@given(ID_LISTS.filter(len), st.lists(st.integers(-(2**63), 2**64 - 1) | st.text(max_size=5), max_size=5))
def test_many_are_found_as_one_is(ids, others):
    column = as_column(ids)
    _, _, table = number_vertices(column, column)
    assert table.take(table.indices(ids)).tolist() == ids
    assert table.indices(set(ids)).dtype == np.int64
    for other in others:
        if type(other) is type(ids[0]):
            assert (other in table) == (other in ids)
        if other not in table:
            with pytest.raises(UnknownVertexError, match="not in the graph"):
                table.indices([other])


@pytest.mark.parametrize(
    ("ids", "vertex", "near"),
    [
        (VertexIds(4), 9, [3]),
        (VertexIds(4), -1, [0]),
        (VertexIds(4), "x", []),
        (VertexIds(0), 1, []),
        (IntegerIds(np.array([100, -5, 7])), 60, [100]),
        (IntegerIds(np.array([100, -5, 7])), -(2**70), [-5]),
        (IntegerIds(np.array([3, 2**64 - 1], np.uint64)), 2**70, [2**64 - 1]),
        (StringIds(["libc6", "zlib", "libgcc-s1"]), "libc7", ["libc6"]),
        (StringIds(["libc6", "zlib", "libgcc-s1"]), "xlib", ["zlib"]),
        (StringIds(["libc6", "zlib", "libgcc-s1"]), "libgccs1", ["libgcc-s1"]),
        (StringIds(["libgvc7", "xlibc", "libc6", "libc6-i386", "libc77"]), "libc7", ["libc6", "libc77", "libgvc7"]),
        (StringIds(["b", "ab"]), "a", []),
        (StringIds(["libc6"]), "perl", []),
        (StringIds(["libc6"]), "\udcff", []),
        (StringIds([]), "a", []),
    ],
)
def test_the_nearest_ids(ids, vertex, near):
    assert ids.near(vertex) == near


@given(st.text("abc", min_size=1, max_size=7), st.text("abc", max_size=9))
def test_edits(word, name):
    assume(abs(len(word) - len(name)) <= EDITS)
    row = list(range(len(name) + 1))
    for i, letter in enumerate(word, 1):
        above, row = row, [i]
        for j, other in enumerate(name):
            row.append(min(above[j] + (letter != other), above[j + 1] + 1, row[j] + 1))
    (found,) = edits(word, [name])
    assert min(found, EDITS + 1) == min(row[-1], EDITS + 1)


def test_categories_of_polars_are_names():
    """Its categories are a dictionary of string views, which Arrow cannot cast."""
    names = pa.DictionaryArray.from_arrays(pa.array([1, 0, 1], pa.uint32()), pa.array(["a", "b"], pa.string_view()))
    _, _, ids = number_vertices(names, pa.chunked_array([names]))
    assert ids.array().tolist() == ["b", "a"]


def test_integers_up_to_64_bits_are_kept_exactly():
    _, _, ids = number_vertices([2**64 - 1, 2**53 + 1], [1, True])
    assert ids.array().tolist() == [1, 2**53 + 1, 2**64 - 1]


def test_strings_are_kept_exactly():
    _, _, ids = number_vertices(["a\0", "1"], np.array(["a", "é"]), pd.Series(["01", "a"], dtype="category"))
    assert ids.array().tolist() == ["a\0", "1", "a", "é", "01"]


@pytest.mark.parametrize("vertex", [None, float("nan"), 1, 1.0, True, np.int64(1), b"1", 2**64])
def test_only_a_string_is_looked_up_among_names(vertex):
    ids = StringIds(["None", "nan", "1.0", "True", "1", "b'1'", str(2**64)])
    assert vertex not in ids
    with pytest.raises(UnknownVertexError, match=r"not in the graph.* its ids are strings, not "):
        ids.index(vertex)
    assert [ids.index(vertex) for vertex in ("1", np.str_("1"), IdText("1"))] == [4, 4, 4]
    with pytest.raises(UnknownVertexError, match=r"vertex 1 .*; near it: '1'"):
        ids.index(1)


@pytest.mark.parametrize("vertex", [-1, 4, 2**70, 1.5, float("nan"), float("inf"), "x", "", None, (1,), "1.5"])
@pytest.mark.parametrize(
    "ids",
    [
        VertexIds(4),
        VertexIds(0),
        IntegerIds(np.array([-5, 2**40])),
        IntegerIds(np.array([3, 2**64 - 1], np.uint64)),
        StringIds(["a", "é"]),
        StringIds([]),
    ],
    ids=lambda ids: f"{ids.kind}-{ids.n}",
)
def test_a_vertex_that_is_not_there(ids, vertex):
    with pytest.raises(GraphError, match="not in the graph"):
        ids.index(vertex)


INTEGERS = [VertexIds(4), IntegerIds(np.array([1, 2, 9])), IntegerIds(np.array([9, 2, 1]))]


@pytest.mark.parametrize("ids", INTEGERS, ids=repr)
@pytest.mark.parametrize("vertex", [2, 2.0, np.uint32(2), IdText("2")])
def test_a_vertex_may_be_any_kind_of_number_and_text_of_the_command_line(ids, vertex):
    assert ids[ids.index(vertex)] == 2


@pytest.mark.parametrize("ids", INTEGERS, ids=repr)
@pytest.mark.parametrize("vertex", ["1", np.str_("1"), True, np.True_, b"1"])
def test_an_integer_is_found_by_no_string_and_no_bool(ids, vertex):
    assert vertex not in ids
    with pytest.raises(UnknownVertexError, match=r"not in the graph.* its ids are integers, not (str|bool|bytes)"):
        ids.index(vertex)


def test_text_of_the_command_line_that_is_no_number():
    with pytest.raises(
        UnknownVertexError, match=r"vertex 'x' is not in the graph; its vertices are 0 to 3; its ids are integers$"
    ):
        VertexIds(4).index(IdText("x"))


@pytest.mark.parametrize("ids", [*INTEGERS, StringIds(["b", "a", "é"]), VertexIds(0), StringIds([])], ids=repr)
def test_ids_are_a_sequence(ids):
    items = ids.array().tolist()
    assert (list(ids), len(ids), list(reversed(ids))) == (items, len(items), items[::-1])
    array = np.asarray(ids)
    assert array.dtype == ids.array().dtype
    assert array.tolist() == pd.Series(ids).tolist() == items
    for place in range(-len(items), len(items)):
        assert ids[place] == ids[np.int64(place)] == items[place]
        assert type(ids[place]) is type(items[place])
    for part in (slice(None), slice(1, None), slice(None, None, -2), np.arange(len(items)) > 0, np.arange(len(items))):
        assert ids[part].tolist() == array[part].tolist()
    for place in (len(items), -len(items) - 1):
        with pytest.raises(IndexError, match=f"no id at position {place}; the graph has {len(items)} vertices"):
            ids[place]


def test_ids_show_the_first_of_them():
    assert repr(VertexIds(4)) == "<VertexIds: 4 integers: 0, 1, 2, ...>"
    assert repr(StringIds(["b", "a"])) == "<StringIds: 2 strings: 'b', 'a'>"
    assert repr(IntegerIds(np.zeros(0, np.int64))) == "<IntegerIds: 0 integers>"
