"""Runs for the functions of the backend."""

import garaph_py as gp
from garaph_py.networkx_backend import runs


def test_small_graphs_get_one_thread():
    assert (runs.threads_for(runs.FEW_EDGES), runs.threads_for(runs.FEW_EDGES + 1)) == (1, None)


def test_results_are_a_run_s():
    assert runs.run_on(gp.from_edges([0, 1], [1, 2]), gp.apps.BFS(0), iterations=1).values["level"].tolist() == [
        0,
        1,
        -1,
    ]
