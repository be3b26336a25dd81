"""The index of a directory's blocks: what it may say, and where blocks may stand."""

import pytest

from garaph_py.errors import DamagedGraphError
from garaph_py.storage import directory as store
from tests.support.stored_graphs import outcome, rewrite_index


@pytest.mark.parametrize(
    ("key", "value"), [("disk", 1), ("offset", 2**63), ("offset", 4), ("length", 15), ("length", 2**32 - 1)]
)
def test_an_index_that_does_not_match_its_blocks(directory, key, value, monkeypatch):
    monkeypatch.setattr(store, "encoding_to_open", lambda *_: pytest.fail("allocated for a lie"))
    rewrite_index(directory, "in_sources", lambda index: index[key].__setitem__(0, value))
    with pytest.raises(DamagedGraphError, match=r"in_sources\.index"):
        store.open(directory)
    assert store.verify(directory)


def test_blocks_may_be_in_any_order(directory):
    """Striping and later generations need this: only the index says where a block is."""
    graph = store.open(directory)
    data = (directory / "in_sources.data").read_bytes()
    (directory / "in_sources.data").write_bytes(b"gap " + data[512:] + data[:512])
    rewrite_index(
        directory, "in_sources", lambda index: index["offset"].__setitem__(slice(None), [4 + len(data) - 512, 4])
    )
    assert outcome(directory, graph) == "equal"
