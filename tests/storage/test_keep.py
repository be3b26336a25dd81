"""Raw or packed: the encoding in which a graph is saved, and the one in which it is opened."""

import logging
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import psutil
import pytest

from garaph_py.codec import pack as packing
from garaph_py.errors import GraphError, ParameterError
from garaph_py.graph.build import from_numbered_edges
from garaph_py.graph.generate import rmat
from garaph_py.storage import directory as store
from garaph_py.storage import keep
from garaph_py.storage.fit import RUN_BYTES

ENCODINGS = ("raw", "packed")


@pytest.mark.parametrize(("total", "encoding"), [(1, "packed"), (2**40, "raw")])
def test_large_graphs_are_saved_packed(tmp_path, monkeypatch, total, encoding):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(total=total, available=2**40))
    store.save(rmat(8), tmp_path / "g")
    assert store.info(tmp_path / "g").arrays["in_sources"].encoding == (encoding, 1)


@pytest.mark.parametrize("saved", ENCODINGS)
def test_memory_decides_and_says_so(tmp_path, caplog, monkeypatch, saved):
    graph = rmat(12, weights=(1, 9))
    store.save(graph, tmp_path / "g", encoding=saved)
    with caplog.at_level(logging.INFO, "garaph_py"):
        least = graph.nbytes + graph._arrays.bytes_to_reverse + RUN_BYTES * graph.n
        assert store.open(tmp_path / "g", memory=least).encoding == "raw"
        assert store.open(tmp_path / "g").encoding == "raw"
        assert not caplog.records
        assert store.open(tmp_path / "g", memory=str(least - 1)).encoding == "packed"
    assert "packed in memory" in caplog.text
    assert len(caplog.records) == 1
    assert store.open(tmp_path / "g", memory=graph.nbytes, encoding="packed").encoding == "packed"
    for options in ({}, {"encoding": "packed"}):
        with pytest.raises(GraphError, match=r"its packed arrays take .* but only 100 B of memory may be used"):
            store.open(tmp_path / "g", memory="100B", **options)
    with pytest.raises(GraphError, match="its raw arrays take"):
        store.open(tmp_path / "g", memory=graph.nbytes - 1, encoding="raw")
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=graph.nbytes))
    assert store.open(tmp_path / "g").encoding == "packed"
    with pytest.raises(GraphError, match=r"its raw arrays take .* may be used; allow more"):
        store.open(tmp_path / "g", encoding="raw")


PEAK = """
import resource, sys
from garaph_py.storage import directory as store

path, small = sys.argv[1:]
store.open(small, memory="1MB")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
graph = store.open(path, memory="11MB", threads=2)
print(graph.nbytes, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""


@pytest.mark.full
def test_raw_edges_are_packed_within_the_memory(tmp_path):
    """There are three arrays of 8 MB. All fit if packed; raw, not even two would fit."""
    m = 2_000_000
    graph = from_numbered_edges(np.arange(m) % 1000, np.arange(m) // 2000, 1000, np.arange(m, dtype=np.int32) % 7)
    store.save(graph, tmp_path / "g", encoding="raw", block_bytes=1 << 16)
    store.save(rmat(11, weights=(1, 7)), tmp_path / "small", encoding="raw")
    code = PEAK.replace(
        "import resource", "from garaph_py.storage import keep; keep.CHUNK_BYTES = 1 << 20; import resource"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "g"), str(tmp_path / "small")],
                          capture_output=True, text=True)  # fmt: skip
    assert not done.returncode, done.stderr
    held, peak = map(int, done.stdout.split())
    assert held < 11e6 < graph.nbytes
    assert peak < held + (4 << 20)


def test_more_than_may_be_used_is_found_while_packing(tmp_path, monkeypatch):
    monkeypatch.setattr(keep, "CHUNK_BYTES", 1)
    graph = rmat(12)
    store.save(graph, tmp_path / "g", encoding="raw")
    offsets = graph._arrays.in_edges.offsets.nbytes
    with pytest.raises(GraphError, match=f"{tmp_path / 'g'}: its packed arrays take at least"):
        store.open(tmp_path / "g", encoding="packed", memory=2 * offsets + 20_000)


@pytest.mark.parametrize("saved", ENCODINGS)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_lack_of_memory_names_the_directory(tmp_path, monkeypatch, saved, encoding):
    def refuse(*_):
        raise MemoryError

    store.save(rmat(8), tmp_path / "g", encoding=saved)
    packed = rmat(8).packed()
    monkeypatch.setattr(keep, "on_own_pages", refuse)
    monkeypatch.setattr(packing, "on_own_pages", refuse)
    if encoding == "raw":
        monkeypatch.setattr(store.np, "empty", refuse)
    with pytest.raises(GraphError, match=f"not enough memory for {tmp_path / 'g'}.*; use a smaller graph"):
        store.open(tmp_path / "g", encoding=encoding)
    with pytest.raises(GraphError, match=r"not enough memory for (un)?packed edges; use"):
        store.save(packed if encoding == "raw" else rmat(8), tmp_path / "h", encoding=encoding)
    assert [file.name for file in tmp_path.iterdir()] == ["g"]


@pytest.mark.parametrize("call", [lambda path: store.save(rmat(2), path, encoding="zip"),
                                  lambda path: store.open(path, encoding="zip")])  # fmt: skip
def test_unknown_encodings(tmp_path, call):
    with pytest.raises(ParameterError, match="encoding='zip': choose from auto, raw, packed"):
        call(tmp_path / "g")
