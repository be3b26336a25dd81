"""Runs on a cluster end with one machine's errors when their numbers become NaN or infinite."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import NumberError
from tests.support.growing import Grow, Silent
from tests.support.local_cluster import conducted
from tests.support.part_workers import Workers

N = 40_000
GRAPH = gp.from_edges(np.arange(1, N + 1), np.roll(np.arange(1, N + 1), -1))


class Nearest(gp.VertexProgram):
    """The least value of those around; the identity of its sum is infinite."""

    value = float
    sum = gp.min

    def init(self, id):
        return np.inf if id else 0.0

    def gather(self, src):
        return src + 1.0

    def apply(self, old, acc):
        return min(old, acc)


def run(program, workers=3, **options):
    return conducted(program, GRAPH, Workers(workers), **{"iterations": 6, **options})


def starting_with(kind, number, others=1.0):
    """The program; vertex 20,001 starts with `number`."""
    start = np.full(N, others)
    start[20_000] = number
    return kind(start)


def test_the_error_names_the_vertex():
    told = r"Silent: the value\.size of vertex 20007 is inf after 6 iterations, but not at the start; if it grows"
    with pytest.raises(NumberError, match=told):
        run(starting_with(Silent, 1e300))


def test_a_total_that_is_not_finite_ends_the_run():
    """After three supersteps of six the vertex's number is infinite, and so is the total."""
    with pytest.raises(
        NumberError, match=r"Grow: the value\.size of vertex 20004 is inf after 3 iterations, but not at"
    ):
        run(starting_with(Grow, 1e300))


def test_a_total_may_be_wrong_alone():
    """The sum of all values overflows, and no value does."""
    with pytest.raises(NumberError, match="Grow: the total is inf after 1 iterations, but not at the start"):
        run(Grow(np.full(N, 1e302)))


@pytest.mark.parametrize("kind", [Grow, Silent])
@pytest.mark.parametrize("number", [np.inf, np.nan])
def test_what_a_program_has_at_the_start_it_may_have(kind, number):
    values, _, _ = run(starting_with(kind, number))
    assert np.isnan(values[20_006]) if np.isnan(number) else np.isinf(values[20_006])


@pytest.mark.full
def test_an_infinite_identity_allows_infinity():
    assert np.isinf(run(Nearest())[0]).any()


def test_check_off_looks_at_nothing():
    values, records, _ = run(starting_with(Grow, 1e300), check="off")
    assert np.isinf(values).sum() == 1
    assert len(records) == 6


def test_a_worker_that_dies_changes_nothing():
    """What was there at the start is known in every epoch."""
    killed = []

    async def after(address, what):
        if what == "letter" and workers.asked.count("letter") > 8 and not killed:
            killed.append(address)
            workers.kill("worker 1")

    workers = Workers(3, after=after)
    values, _, conductor = conducted(starting_with(Silent, np.nan), GRAPH, workers, iterations=6)
    assert conductor.failures == ["worker 1"]
    assert np.isnan(values[20_006])
