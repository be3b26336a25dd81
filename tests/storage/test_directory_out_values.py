"""The values of out-edges of a directory in memory: read when a push first needs them, or else made."""

import shutil

import numpy as np
import pytest

from garaph_py.graph import arrays
from garaph_py.native.threads import ThreadPool
from garaph_py.storage import directory as store
from tests.support.graphs import small_graph


@pytest.fixture
def made(monkeypatch):
    """Whether values were made, for each time that they were."""
    seen, works = [], arrays.reversed_values

    def counted(*arguments):
        seen.append(True)
        return works(*arguments)

    monkeypatch.setattr(arrays, "reversed_values", counted)
    return seen


def values_of(graph):
    with ThreadPool(2) as pool:
        return np.asarray(graph._arrays.valued_out_edges(pool).values)


def test_they_are_read_when_they_are_needed(either, made):
    expected = values_of(small_graph())
    made.clear()
    for memory in None, "1GiB":
        graph = store.open(either, encoding="raw", memory=memory)
        assert graph._arrays.out_edges.value_dtype is None
        for _ in range(2):
            np.testing.assert_array_equal(values_of(graph), expected)
            graph.release()
    assert not made


def test_a_copy_with_other_values_does_not_read_them(either, made):
    graph = store.open(either, encoding="raw")
    expected = values_of(graph)
    made.clear()
    np.testing.assert_array_equal(values_of(graph._replace(in_edges=graph._arrays.in_edges)), expected)
    assert made


@pytest.mark.parametrize("harm", ["damaged", "absent", "replaced"])
def test_they_are_made_where_they_cannot_be_read(directory, made, caplog, harm):
    graph = store.open(directory, encoding="raw")
    if harm == "damaged":
        with open(directory / "out_values.data", "r+b") as file:
            file.write(b"\xff" * 8)
    else:
        shutil.rmtree(directory)
    if harm == "replaced":
        store.save(small_graph(), directory)
    found = values_of(graph)
    assert made
    np.testing.assert_array_equal(found, values_of(small_graph()))
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == (harm != "replaced")
    assert all("are made of those of in-edges" in line and str(directory) in line for line in told)
