"""Searches from both ends. The paths that they find are compared with NetworkX's in test_shortest_path.py."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.algorithms.bidirectional import MEET


@pytest.mark.parametrize("target", [1, 7, 31])
def test_compiled_meeting_does_what_its_python_does(target):
    graph, found = gp.rmat(5, 3), []
    out, back = graph._arrays.out_edges, graph._arrays.in_edges
    for call in (MEET, MEET.function):
        queues, origins, sets = *np.zeros((2, 2, graph.n), np.uint32), np.zeros((2, graph.n // 64 + 1), np.uint64)
        lists, places = (out.offsets, out.neighbours, back.offsets, back.neighbours), np.zeros(2, np.int64)
        meets = call(0, target, *lists, *queues, *origins, *sets, places)
        found.append([meets, *(each.tolist() for each in (queues, origins, sets, places))])
    assert found[0] == found[1]
