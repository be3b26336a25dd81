"""What the scheduler sees: f, the fraction of the vertices to update (Garaph section 4.2)."""

from garaph_py.dispatch.observation import Observation


def test_f_is_the_share_of_the_edges():
    assert Observation(100, 1000, 10, 250).f == 0.25


def test_f_of_a_graph_without_edges():
    assert Observation(3, 0, 3, 0).f == 1
    assert Observation(3, 0, 1, 0).f == 1
    assert Observation(3, 0, 0, 0).f == 0


def test_costs_are_the_papers_by_default():
    seen = Observation(3, 6, 1, 2)
    assert (seen.sparse, seen.vertex, seen.start, seen.k) == (2.0, 0.0, 0.0, 1.0)


def test_a_policy_orders_no_pages_by_default():
    assert not Observation(3, 6, 1, 2).orders_pages
