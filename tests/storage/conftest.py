"""A small graph in a directory, in either encoding."""

import pytest

from garaph_py.codec.blocks import UNIT
from garaph_py.storage import directory as store
from tests.support.graphs import small_graph


@pytest.fixture
def directory(tmp_path):
    """Every array in two blocks."""
    store.save(small_graph(), tmp_path / "graph", block_bytes=512)
    return tmp_path / "graph"


@pytest.fixture(params=["raw", "packed"])
def either(request, tmp_path):
    """The same graph, stored in either encoding; packed blocks are longer than its arrays."""
    block_bytes = {"raw": 512, "packed": UNIT}[request.param]
    store.save(small_graph(), tmp_path / "graph", encoding=request.param, block_bytes=block_bytes)
    return tmp_path / "graph"
