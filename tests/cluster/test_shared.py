"""Parts that workers read from one shared directory: one machine's answers, whatever form the parts get."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.cluster import reading
from garaph_py.cluster.cuts import cut
from garaph_py.cluster.memory import Needs
from garaph_py.cluster.shared import SharedParts
from garaph_py.errors import ClusterError
from garaph_py.graph.part import part_of
from garaph_py.program import bind
from garaph_py.storage import remote
from tests.support.local_cluster import CASES, conducted, on_disk, rmat
from tests.support.part_workers import Workers
from tests.support.stored_graphs import opened, rewrite_array

SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in CASES if name != "BFS"]


@pytest.mark.parametrize("name", ["BFS", *SLOW])
def test_a_shared_directory_gives_one_machine_s_answers(name, tmp_path):
    program, how, iterations = CASES[name]
    graph = rmat(**how)
    stored = on_disk(graph, tmp_path / "g", encoding="packed" if name in ("BFS", "SSSP") else "raw")
    options = gp.Options(deterministic=True, sync=True)
    alone = gp.run(program, graph, device="cpu", iterations=iterations, options=options)
    for workers in (1, 2, 3, 5):
        values, records, conductor = conducted(
            program, stored, Workers(workers), iterations=iterations, deterministic=True
        )
        assert values.tobytes() == np.asarray(alone.values).tobytes(), workers
        assert len(records) == len(alone.stats.iterations)
        assert {how for how, _ in conductor.found.values()} == {"raw"}


@pytest.mark.parametrize("direction", ["in", "out"])
def test_a_part_that_is_read_is_the_part_that_is_cut_out(direction, tmp_path):
    graph = rmat("int64")
    stored = on_disk(graph, tmp_path / "g")
    if direction == "out":
        graph, stored = graph.reversed(), stored.reversed()
    cuts, bound = cut(graph, 3), bind(gp.apps.BFS(5), graph)
    reader = reading.PartReader("here", 1, 0, None)
    for number in range(3):
        read, encoding, _ = reader.read([SharedParts(stored, cuts, bound).where(number)])[number]
        expected = part_of(graph, cuts, number)
        assert encoding == "raw"
        for name, array in expected.arrays().items():
            np.testing.assert_array_equal(read.arrays()[name], array, name)
        np.testing.assert_array_equal(
            read.graph._arrays.out_edges.neighbours, expected.graph._arrays.out_edges.neighbours
        )
        np.testing.assert_array_equal(read.graph._arrays.out_edges.offsets, expected.graph._arrays.out_edges.offsets)


@pytest.mark.full
@pytest.mark.parametrize("direction", ["in", "out"])
def test_a_graph_at_a_url_is_copied_by_the_workers(direction, tmp_path, monkeypatch):
    pytest.importorskip("fsspec")
    (tmp_path / "local").mkdir()
    monkeypatch.setattr(Workers, "folder", str(tmp_path / "local"))
    graph = rmat("int64")
    stored = on_disk(graph, tmp_path / "g")
    monkeypatch.setitem(remote._urls, str(tmp_path / "g"), f"file://{tmp_path}/g")
    if direction == "out":
        stored, graph = stored.reversed(), graph.reversed()
    values, _, conductor = conducted(gp.apps.SSSP(source=5), stored, Workers(2))
    np.testing.assert_array_equal(values, gp.run(gp.apps.SSSP(source=5), graph).values)
    assert {how for how, _ in conductor.found.values()} == {"raw"}
    assert not any((tmp_path / "local").iterdir())


IN_PACKED_MEMORY, ON_LOCAL_DISK = "packed", "from disk"


@pytest.fixture
def little_memory(monkeypatch, tmp_path):
    """Workers whose parts do not fit in memory raw, and are then opened in this form."""
    monkeypatch.setattr(reading, "needs", lambda *sizes: Needs(1 << 60, 1 << 60, 0, 0, 0, 0))
    monkeypatch.setattr(Workers, "limit", 1 << 30)
    monkeypatch.setattr(Workers, "folder", str(tmp_path / "local"))
    (tmp_path / "local").mkdir()

    def opens(form):
        def open_graph(path, memory, threads):
            assert path.is_relative_to(tmp_path / "local")
            return opened(path, 18 << 20) if form == ON_LOCAL_DISK else gp.open(path, encoding="packed")

        monkeypatch.setattr(reading, "open_graph", open_graph)

    return opens


@pytest.mark.slow
@pytest.mark.parametrize("form", [IN_PACKED_MEMORY, ON_LOCAL_DISK])
@pytest.mark.parametrize("name", ["BFS", "Mixed"])
def test_parts_that_do_not_fit_raw_give_them_too(name, form, little_memory, tmp_path):
    little_memory(form)
    program, how, iterations = CASES[name]
    graph = rmat(**how)
    stored = on_disk(graph, tmp_path / "g")
    alone = gp.run(program, graph, device="cpu", iterations=iterations, options=gp.Options(sync=True))
    values, records, conductor = conducted(program, stored, Workers(3), iterations=iterations)
    np.testing.assert_array_equal(values, alone.values)
    assert {how for how, _ in conductor.found.values()} == {"raw" if form == ON_LOCAL_DISK else "packed"}
    assert (sum(record.from_disk for record in records) > 0) == (form == ON_LOCAL_DISK)
    assert not list((tmp_path / "local").iterdir())  # nothing is left there


def test_a_part_moves_when_its_worker_dies(tmp_path):
    """The one to which it moves reads it."""
    graph = rmat()
    stored, killed = on_disk(graph, tmp_path / "g"), []

    async def after(address, what):
        if what == "letter" and not killed:
            killed.append(address)
            workers.kill("worker 1")

    workers = Workers(3, after=after)
    values, _, conductor = conducted(gp.apps.BFS(5), stored, workers)
    np.testing.assert_array_equal(values, gp.run(gp.apps.BFS(5), graph).values)
    assert conductor.failures == ["worker 1"]
    assert workers.asked.count("read") == 4


def test_a_worker_that_does_not_see_the_graph(tmp_path):
    stored = on_disk(rmat(), tmp_path / "g")
    (tmp_path / "g").rename(tmp_path / "moved")
    with pytest.raises(ClusterError, match=r"the worker worker \d cannot read the graph: .*/g: no graph directory can"):
        conducted(gp.apps.BFS(5), stored, Workers(2))


def test_a_worker_that_sees_another_graph(tmp_path):
    stored = on_disk(rmat(), tmp_path / "g")
    (tmp_path / "g").rename(tmp_path / "moved")
    gp.save(gp.rmat(12, seed=2), tmp_path / "g")
    with pytest.raises(ClusterError, match=r"the worker worker \d has another graph at .*/g: .* have all workers see"):
        conducted(gp.apps.BFS(5), stored, Workers(2))


def spoil(number):
    def change(elements):
        elements[len(elements) // 2] = number

    return change


@pytest.mark.parametrize(
    ("array", "number", "problem"),
    [
        ("in_sources", 1 << 20, "a vertex number is not below 4096"),
        ("in_offsets", -5, "offsets are out of order or of range"),
    ],
)
def test_damage_that_checksums_do_not_show_is_found(array, number, problem, tmp_path):
    stored = on_disk(rmat(), tmp_path / "g")
    rewrite_array(tmp_path / "g", array, spoil(number))
    with pytest.raises(ClusterError, match=f"cannot read the graph: .*{problem}"):
        conducted(gp.apps.BFS(5), stored, Workers(2))


def test_too_little_memory_for_the_vertices_is_told(tmp_path):
    stored = on_disk(rmat(), tmp_path / "g")
    cuts, bound = cut(stored, 2), bind(gp.apps.BFS(5), stored)
    reader = reading.PartReader("tcp://a:1", 1, int((reading.PROCESS + (1 << 20)) / reading.LIMIT_SHARE), None)
    with pytest.raises(ClusterError, match=r"the worker tcp://a:1 needs .* for the vertices of a part, even with"):
        reader.read([SharedParts(stored, cuts, bound).where(0)] * 3)
