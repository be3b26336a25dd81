"""Every program on clusters of processes: the bits of one machine, whatever form the edges have in the workers."""

import tempfile

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.cluster import reading
from garaph_py.cluster.memory import Needs
from tests.support.cases import EXACT, FLOAT
from tests.support.local_cluster import on_disk, rmat
from tests.support.programs import DataDriven, Strongest
from tests.support.stored_graphs import opened
from tests.support.twins import Edges

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.full

RAW, PACKED, DISK = "raw", "packed", "from disk"
USERS = {"DataDriven": (DataDriven(), None), "Strongest": (Strongest(), "float64")}


@pytest.fixture(scope="module", params=[1, 2, 3, 5])
def client(request):
    """So many workers, each a process of its own with one thread."""
    with (
        distributed.LocalCluster(request.param, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def open_parts(form):
    """In a worker: open parts of a graph on disk in this form, as if there were no memory for another one."""
    reading.needs = lambda *sizes: Needs(1 << 60, 1 << 60, 0, 0, 0, 0)
    reading.open_graph = lambda path, memory, threads: (
        opened(path, 18 << 20) if form == DISK else gp.open(path, encoding="packed")
    )


def check(client, form, program, graph, iterations=None, **options):
    """The answer has the bits of one machine."""
    options = gp.Options(deterministic=True, **options)
    alone = gp.run(program, graph, device="cpu", iterations=iterations, options=options)
    with tempfile.TemporaryDirectory() as folder:
        if form != RAW:
            client.run(open_parts, form)
            graph = on_disk(graph, f"{folder}/graph")
        result = gp.run(program, graph, cluster=client, iterations=iterations, options=options)
    if form == DISK:
        assert sum(each.from_disk for each in result.stats.iterations) > 0
    else:
        assert result.stats.encoding == form
    if form == DISK and alone.values.dtype.kind == "f":  # totals of parts on disk may differ in the last bits
        np.testing.assert_allclose(result.values, alone.values, rtol=1e-12, atol=1e-15)
    else:
        assert result.values.tobytes() == alone.values.tobytes()


def edges_of(graph):
    into = graph._arrays.in_edges
    return Edges(graph.n, into.neighbours, np.repeat(np.arange(graph.n), graph.in_degrees), into.values)


forms = pytest.mark.parametrize("form", [RAW, PACKED, DISK])


@forms
@pytest.mark.parametrize("case", EXACT, ids=lambda case: case.name)
def test_programs_with_one_answer(client, form, case):
    graph = rmat(case.weights, not case.symmetric)
    check(client, form, case.program(edges_of(graph)), graph)


@forms
@pytest.mark.parametrize("case", FLOAT, ids=lambda case: case.name)
def test_float_programs(client, form, case):
    graph = rmat(case.weights)
    check(client, form, case.program(edges_of(graph)), graph, 6, mode="pull")


@forms
@pytest.mark.parametrize("name", USERS)
def test_programs_of_users(client, form, name):
    program, weights = USERS[name]
    check(client, form, program, rmat(weights), 5, mode="pull")
