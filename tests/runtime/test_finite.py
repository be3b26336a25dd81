"""Runs whose numbers become NaN or infinite end with an error, before anything wrong is saved or reported."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import NumberError, ParameterError
from garaph_py.runtime.finite import flattened
from tests.support.growing import Grow, Silent

N = 200
GRAPH = gp.from_edges([f"v{k}" for k in range(N)], [f"v{(k + 1) % N}" for k in range(N)])


def run(program, check="auto", iterations=6, **how):
    return gp.run(program, GRAPH, iterations=iterations, options=gp.Options(check=check, **how), threads=2)


def from_one(kind, number, others=1.0):
    """The program, whose vertex v1 starts with `number`."""
    start = np.full(N, others)
    start[1] = number
    return kind(start)


@pytest.mark.slow
def test_the_error_names_the_vertex_and_the_iteration():
    with pytest.raises(NumberError, match=r"Silent: the value.size of vertex v4 is inf after iteration 2, but not at"):
        run(from_one(Silent, 1e300), "finite")
    with pytest.raises(NumberError, match=r"vertex v5 is inf after 4 iterations, but.*check='finite'.*debug=True"):
        run(from_one(Silent, 1e300), iterations=4)


@pytest.mark.full
def test_the_error_names_the_iteration_if_a_total_tells():
    with pytest.raises(NumberError, match=r"Grow: the value.size of vertex v4 is inf after iteration 2"):
        run(from_one(Grow, 1e300))


@pytest.mark.full
def test_a_total_may_be_wrong_alone():
    program = from_one(Grow, 1e304, 1e304)
    with pytest.raises(NumberError, match="Grow: the total is inf after iteration 0"):
        run(program)


@pytest.mark.full
def test_wrong_numbers_are_let_through_if_told():
    assert run(from_one(Grow, 1e300), "off").column()[7] == np.inf


@pytest.mark.parametrize("number", [np.nan, np.inf])
@pytest.mark.parametrize("check", ["auto", "finite"])
def test_what_a_program_starts_with_it_means(number, check):
    wrong = np.isnan if np.isnan(number) else np.isinf
    assert wrong(run(from_one(Silent, number), check).column()[7])
    other = {"nan": np.inf, "inf": np.nan}[str(number)]
    program = from_one(Silent, number)
    program.start[0], program.factor = (1e300, 1e300) if other == np.inf else (-np.inf, 0.0)
    with pytest.raises(NumberError, match=f"is {other}|is -{other}"):
        run(program, check)


@pytest.mark.full
def test_unreached_vertices_are_no_error():
    graph = gp.from_edges([0, 2], [1, 3], np.array([1.0, 2.0]))
    assert gp.run(gp.apps.SSSP(0), graph, options=gp.Options(check="finite")).values.tolist() == [0, 1, np.inf, np.inf]


@pytest.mark.parametrize("check", ["auto", "finite"])
def test_no_checkpoint_of_wrong_numbers(tmp_path, check):
    program, options = from_one(Silent, 1e300), gp.Options(check=check, checkpoint_every=1)
    with pytest.raises(NumberError):
        gp.run(program, GRAPH, checkpoint=tmp_path / "c", iterations=6, options=options, report=tmp_path / "r.html")
    assert not (tmp_path / "r.html").exists()
    with gp.run(program, GRAPH, checkpoint=tmp_path / "c", iterations=2, options=options, resume=True) as result:
        assert result.stats.resumed == 2
        assert np.isfinite(result.values).all()


def test_an_unknown_check_is_refused():
    with pytest.raises(ParameterError, match="check='all': choose from auto, finite, off"):
        gp.Options(check="all")


def test_structures_of_equal_floats_are_looked_at_as_one_column():
    pairs = np.zeros(3, [("a", np.float32), ("b", np.float32)])
    pairs["b"] = 1, 2, 3
    assert flattened(pairs).tolist() == [0, 1, 0, 2, 0, 3]
    others = [("a", np.float32), ("b", np.float64)], [("a", np.int32)], np.float32
    gaps = np.dtype({"names": ["a", "b"], "formats": [np.float32] * 2, "offsets": [0, 8]})
    assert all(flattened(np.zeros(3, dtype)) is None for dtype in (*others, gaps))
    assert flattened(pairs[::2]) is None
