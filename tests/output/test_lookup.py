"""Lookups of vertices one by one: the same answers as a search, and none where vertices come in order."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.graph.ids import ids_of
from garaph_py.output.lookup import Lookup

COLUMNS = {"numbers": [0, 1, 2, 3], "integers": [7, -2, 2**40, 1], "names": ["b", "a", "1", ""]}
ASKED = (1, "1", True, 1.0, 1j, "b", "a", None, 7, -2, "x", np.int64(1), np.array([0, 1]), "a", "1", "", 0, 1, 2, 3, 4)


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_the_same_as_a_search(column):
    ids = ids_of(column)
    lookup = Lookup(ids)
    assert [lookup.find(each) for each in ASKED] == [ids.find(each) for each in ASKED]
    lookup.listed = ids.array()
    for first in range(len(ASKED)):
        asked = ASKED[first:] + ASKED[:first]
        assert [lookup.find(each) for each in asked] == [ids.find(each) for each in asked]


def test_a_result_becomes_a_dictionary_without_a_search_for_each_vertex(monkeypatch):
    names = [f"v{number}" for number in range(100, 0, -1)]
    result = gp.run(gp.apps.BFS(source="v100"), gp.from_edges(names[:-1], names[1:]))
    searches, find = [], type(result.vertex_ids).find
    monkeypatch.setattr(type(result.vertex_ids), "find", lambda self, vertex: searches.append(0) or find(self, vertex))
    assert result["v50"] == {"level": 50, "parent": "v51"}
    assert dict(result) == {vertex: result[vertex] for vertex in result} == result.to_dict()
    assert len(searches) <= 3
