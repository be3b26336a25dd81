"""Archives of NumPy arrays: sparse matrices, columns of edges, and files that are wrong."""

import io
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp

from garaph_py.errors import FormatError
from garaph_py.io.read import read
from tests.support.contents import COO, npy, npz, sparse_npz
from tests.support.graphs import edges_of


@pytest.mark.parametrize("form", ["coo", "csr", "csc", "bsr", "dia"])
def test_sparse_matrices(tmp_path, form):
    path = tmp_path / "a.npz"
    path.write_bytes(sparse_npz(COO.asformat(form)))
    graph = read(path)
    assert graph.n == 4
    assert [edge for edge in edges_of(graph) if edge[2]] == [(0, 1, 5), (1, 0, 6), (1, 1, 7)]
    assert read(path, weights=False).edge_dtype is None


def test_a_symmetric_matrix_is_an_undirected_graph(tmp_path):
    path = tmp_path / "a.npz"
    path.write_bytes(sparse_npz(COO + COO.T))
    graph = read(path, directed=False)
    assert edges_of(graph) == [(0, 1, 11), (1, 0, 11), (1, 1, 14)]
    assert not graph.directed
    path.write_bytes(sparse_npz(COO))
    with pytest.raises(FormatError, match="not symmetric"):
        read(path, directed=False)


def test_arrays(tmp_path):
    path = tmp_path / "a.npz"
    arrays = {"src": np.array([0, 1], np.uint32), "dst": np.array([1, 2], np.uint32), "n": 5}
    path.write_bytes(npz(**arrays, directed=True))
    graph = read(path)
    assert (graph.n, edges_of(graph), graph.directed) == (5, [(0, 1, None), (1, 2, None)], True)
    path.write_bytes(npz(**arrays, directed=False, weight=np.array([3, 4], np.int8)))
    graph = read(path)
    assert (graph.directed, edges_of(graph)[0]) == (False, (0, 1, 3))
    assert read(path, directed=True).directed
    path.write_bytes(npz(src=[-7], dst=[2**40]))
    assert edges_of(read(path)) == [(-7, 2**40, None)]


def zip_of(**members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return file.getvalue()


HUGE = npy("{'descr': '<u4', 'fortran_order': False, 'shape': (1099511627776,), }", bytes(64))


CSR_PARTS = {"format": np.array(b"csr"), "shape": np.array([2, 2]), "data": np.array([1.0])}


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (npz(), "arrays none"),
        (npz(src=[1], row=[2]), "arrays row, src"),
        (npz(src=[0], dst=[0, 1], n=2), "1 entries of 'src', but 2"),
        (npz(src=[0.5], dst=[0.5], n=2), "'src' is a 1-d array of float64"),
        (npz(src=[[0]], dst=[[0]], n=2), "'src' is a 2-d array"),
        (npz(src=[0], dst=[2], n=2), "vertices 2 to 2, but n is 2"),
        (npz(src=[-1], dst=[0], n=2), "vertices -1 to -1"),
        (npz(src=[0], dst=[0], n=-1), "-1 vertices"),
        (npz(src=[0], dst=[0], n=2**32 + 1), "4294967297 vertices"),
        (npz(src=[0], dst=[0], n=2**32), "4,294,967,296 vertices, but 1 edges"),
        (sparse_npz(sp.coo_array((2**30, 2**30))), "1,073,741,824 vertices, but 0 edges"),
        (npz(src=[0], dst=[0], n=[2]), "'n' is int64 of shape"),
        (npz(src=[0], dst=[0], n=1, directed=3), "'directed' is int64"),
        (npz(src=[0], dst=[0], n=1, weight=[1, 2]), "'weight' is int64 of shape"),
        (npz(src=[0], dst=[0], n=1, weight=["x"]), "'weight' is <U1"),
        (npz(src=np.array([None]), dst=[0]), "Python objects"),
        (zip_of(src=HUGE, dst=HUGE), "declares 4,398,046,511,104 bytes of data, but has 64"),
        (zip_of(src=npy("{'descr': '<u4', 'fortran_order': False, 'shape': (-1,), }")), "declares -4 bytes"),
        (zip_of(src=b"no header"), "not a readable .npz file"),
        (sparse_npz(COO.tocsr()[:3]), "adjacency matrix is square"),
        (sparse_npz(COO.astype(complex)), "complex128"),
        (npz(**CSR_PARTS, indices=np.array([7]), indptr=np.array([0, 0, 1])), "not a readable .npz file"),
        (npz(**CSR_PARTS, indices=np.array([1]), indptr=np.array([0, 9, 1])), "not a readable .npz file"),
        (npz(**CSR_PARTS | {"format": np.array(b"xyz")}), "not a readable .npz file"),
        (npz(**CSR_PARTS | {"shape": np.array([2**40, 2**40])}), "1099511627776 vertices"),
    ],
    ids=lambda value: value if isinstance(value, str) else "archive",  # an archive's bytes hold the time of day
)
def test_malformed_archives(tmp_path, contents, message):
    path = tmp_path / "a.npz"
    path.write_bytes(contents)
    with pytest.raises(FormatError, match=message):
        read(path)


def test_more_vertices_than_memory_holds_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "a.npz"
    path.write_bytes(npz(src=[0], dst=[0], n=2**20))
    monkeypatch.setattr("psutil.virtual_memory", lambda: type("Memory", (), {"available": 2**20})())
    with pytest.raises(FormatError, match="the offsets of 1,048,576 vertices take"):
        read(path)
