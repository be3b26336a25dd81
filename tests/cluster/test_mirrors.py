import numpy as np

import garaph_py as gp
from garaph_py.cluster import mirrors
from garaph_py.cluster.cuts import cut
from garaph_py.graph.part import part_of


def test_counts_are_those_of_the_parts(monkeypatch):
    monkeypatch.setattr(mirrors, "EDGES", 1000)
    graph = gp.rmat(12, seed=1)
    for parts in 1, 3, 5:
        cuts = cut(graph, parts)
        made = [part_of(graph, cuts, part) for part in range(parts)]
        expected = [part.graph.n - np.diff(part.own)[0] for part in made]
        assert mirrors.mirror_counts(graph, cuts).tolist() == expected
        assert mirrors.mirror_counts(graph.packed(), cuts).tolist() == expected
