"""Graphs that are loaded for a run in the memory that is allowed."""

import gzip

import numpy as np
import pytest

from garaph_py.errors import FormatError
from garaph_py.io import load as loading
from garaph_py.io.load import LoadOptions, load

MTX = "%%MatrixMarket matrix coordinate pattern general\n9 9 2000000\n" + "1 2\n" * 2_000_000
FILES = {
    "graph.tsv.gz": lambda path: path.write_bytes(gzip.compress(b"1\t2\n" * 2_000_000)),
    "graph.mtx.gz": lambda path: path.write_bytes(gzip.compress(MTX.encode())),
    "graph.npz": lambda path: np.savez_compressed(path, src=np.ones(2_000_000, int), dst=np.ones(2_000_000, int)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_a_small_file_of_many_edges_is_refused(tmp_path, name, monkeypatch):
    monkeypatch.setattr(loading, "LEAST_READING", 0)
    path = tmp_path / name
    FILES[name](path)
    with pytest.raises(FormatError, match=r"take.* [\d.]+ MiB.* 15.3 MiB of memory|take.* 15.3 MiB may be used; allow"):
        load(path, LoadOptions(memory=16_000_000))
    assert load(path, LoadOptions(memory="200MB")).m == 2_000_000
