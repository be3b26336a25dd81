"""Runs for the functions of the backend."""

import pytest

import garaph_py as gp
from garaph_py.networkx_backend import runs


def test_small_graphs_get_one_thread():
    assert (runs.threads_for(runs.FEW_EDGES), runs.threads_for(runs.FEW_EDGES + 1)) == (1, None)


def test_a_graph_that_a_program_refuses_is_left_to_networkx():
    with pytest.raises(NotImplementedError, match="edge values of 0 or more"):
        runs.run_on(gp.from_edges([0], [1], [-1]), gp.apps.SSSP(0))
