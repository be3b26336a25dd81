"""Arrays in .npy files: which are edges, and what is said about files that are wrong."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from garaph_py.errors import FormatError
from garaph_py.io.read import read
from tests.support.contents import PAIRS, npy, saved
from tests.support.graphs import edges_of
from tests.support.hostile import HOSTILE, NOISE, changed, cut_everywhere, read_or_typed_error


def fields(**columns):
    columns = {name: np.asarray(column) for name, column in columns.items()}
    table = np.empty(len(next(iter(columns.values()))), [(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        table[name] = column
    return table


RECORDS = saved(fields(source=[1, 7], target=[2, 1], weight=[0.5, -2.0]))
SAMPLES = {"p.npy": PAIRS, "t.npy": RECORDS}


MIXED = fields(
    w=np.array([3, 4], ">i2"), dst=np.array([1, 2], ">u4"), other=[1j, 2j], src=np.array([5, 2**63], np.uint64)
)


@pytest.mark.parametrize(
    ("array", "edges"),
    [
        (np.array([[1, 2], [7, 1], [1, 2]]), [(1, 2, None), (1, 2, None), (7, 1, None)]),
        (np.array([[1, 2], [7, 1]]), [(1, 2, None), (7, 1, None)]),
        (np.array([[1, 2, 3], [4, 5, 6]], np.int8), [(1, 4, None), (2, 5, None), (3, 6, None)]),
        (np.asfortranarray(np.array([[1, 2], [7, 1], [3, 3]], ">u2")), [(1, 2, None), (3, 3, None), (7, 1, None)]),
        (np.asfortranarray(np.array([[1, 2, 3], [4, 5, 6]])), [(1, 4, None), (2, 5, None), (3, 6, None)]),
        (np.array([[-1, 2**62]]), [(-1, 2**62, None)]),
        (np.array([[2**64 - 1, 0]], np.uint64), [(2**64 - 1, 0, None)]),
        (fields(source=[1, 7], target=[2, 1], weight=[0.5, 2.0]), [(1, 2, 0.5), (7, 1, 2.0)]),
        (fields(a=[1, 7], b=[2, 1]), [(1, 2, None), (7, 1, None)]),
        (MIXED, [(5, 1, 3), (2**63, 2, 4)]),
    ],
)
def test_npy(tmp_path, array, edges):
    path = tmp_path / "g.npy"
    np.save(path, array)
    graph = read(path)
    assert (graph.directed, edges_of(graph)) == (True, edges)
    assert read(path, weights=False).edge_dtype is None
    doubled = read(path, directed=False)
    assert doubled.m == 2 * len(edges) - sum(u == v for u, v, _ in edges)


HUGE = npy("{'descr': '<u4', 'fortran_order': False, 'shape': (1099511627776, 2), }", bytes(64))


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (b"", "not a readable .npy file"),
        (b"\x93NUMPY\x01\x00\xff\xff", "not a readable .npy file"),
        (HUGE, "declares 8,796,093,022,208 bytes of data, but has 64"),
        (npy("{'descr': '<u4', 'fortran_order': False, 'shape': (-1, 2), }"), "declares -8 bytes"),
        (PAIRS + b"\0", "declares 48 bytes of data, but has 49"),
        (npy("{'descr': '|O', 'fortran_order': False, 'shape': (1, 2), }", bytes(16)), "Python objects"),
        (saved(np.zeros((0, 2), np.int64)), "no edges"),
        (saved(np.zeros((3, 3), np.int64)), r"int64 of shape \(3, 3\)"),
        (saved(np.zeros(4, np.int64)), r"shape \(4,\)"),
        (saved(np.zeros((2, 2, 2), np.int64)), r"shape \(2, 2, 2\)"),
        (saved(np.zeros((4, 2))), "an array of float64"),
        (saved(np.zeros((4, 2), "S3")), "an array of |S3"),
        (saved(np.zeros(3, [("a", "i4")])), "1 fields"),
        (saved(np.zeros((3, 1), [("a", "i4"), ("b", "i4")])), r"2 fields of shape \(3, 1\)"),
        (saved(np.zeros(3, [("a", "f4"), ("b", "i4")])), "'a' is float32"),
        (saved(np.zeros(3, [("a", "i4", 2), ("b", "i4")])), "field 'a' is"),
        (saved(np.zeros(3, [("u", "i4"), ("v", "i4"), ("weight", "S2")])), "'weight' holds no numbers"),
        (gzip.compress(PAIRS, mtime=0), "not a readable .npy file"),
    ],
)
def test_malformed_npy(tmp_path, contents, message):
    path = tmp_path / "g.npy"
    path.write_bytes(contents)
    with pytest.raises(FormatError, match=message):
        read(path)


@pytest.mark.parametrize("name", SAMPLES)
def test_cut_off_files(tmp_path, name):
    whole = read_or_typed_error(tmp_path / name, SAMPLES[name])
    cut_everywhere(tmp_path / name, SAMPLES[name], lambda graph: edges_of(graph) == edges_of(whole))


@pytest.mark.full
@pytest.mark.parametrize("name", SAMPLES)
@HOSTILE
@given(contents=NOISE)
def test_random_files(tmp_path, name, contents):
    read_or_typed_error(tmp_path / name, b"\x93NUMPY\x01\0" * (len(contents) % 3 > 0) + contents)


@pytest.mark.full
@pytest.mark.parametrize("name", SAMPLES)
@HOSTILE
@given(st.data())
def test_changed_files(tmp_path, name, data):
    asked = {"directed": data.draw(st.sampled_from([None, False]))}
    read_or_typed_error(tmp_path / name, data.draw(changed(SAMPLES[name])), **asked)
