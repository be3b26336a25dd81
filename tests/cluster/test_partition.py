"""A graph on disk in parts, which workers open: one machine's answers, damage, and what cannot be done with it."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.cluster import reading
from garaph_py.cluster.cuts import cut
from garaph_py.cluster.memory import LIMIT_SHARE, PROCESS
from garaph_py.cluster.partition import PartitionedParts, partition
from garaph_py.errors import ClusterError, DamagedGraphError, FormatError, GraphError, ParameterError
from garaph_py.graph.part import part_of
from garaph_py.io.bulk import partition as writing
from garaph_py.program import bind
from garaph_py.storage import directory as store
from garaph_py.storage.partition import NAME, read_partition
from tests.support.local_cluster import CASES, Mixed, conducted, rmat
from tests.support.part_workers import Workers
from tests.support.stored_graphs import opened


class MixedIn(Mixed):
    """The same over the in-edges."""

    gathers = "in"


PROGRAMS = CASES | {"Mixed": (MixedIn(root=5), {"weights": "int64"}, 3)}
SLOW = [
    pytest.param(name, marks=pytest.mark.slow if name == "SSSP" else pytest.mark.full)
    for name in PROGRAMS
    if name != "BFS"
]


def partitioned(graph, folder, parts, **options):
    """The directory of a new partition of a graph."""
    if not (folder / "g").exists():
        gp.save(graph, folder / "g")
    partition(folder / "g", folder / f"{parts}", parts, **options)
    return folder / f"{parts}"


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    """A partition in three parts, which no test changes."""
    return partitioned(rmat(), tmp_path_factory.mktemp("partition"), 3)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["BFS", *SLOW])
def test_parts_give_one_machine_s_answers(name, tmp_path):
    program, how, iterations = PROGRAMS[name]
    graph = rmat(**how)
    options = gp.Options(deterministic=True, sync=True)
    alone = gp.run(program, graph, device="cpu", iterations=iterations, options=options)
    for parts, workers in ((1, 1), (2, 2), (3, 2), (5, 5)):
        path = partitioned(graph, tmp_path, parts, encoding="packed" if parts == 2 else "raw")
        values, records, conductor = conducted(
            program, gp.open(path), Workers(workers), iterations=iterations, deterministic=True
        )
        assert values.tobytes() == np.asarray(alone.values).tobytes(), parts
        assert len(records) == len(alone.stats.iterations)
        assert len(set(conductor.addresses)) == workers
        assert sorted(conductor.found) == list(range(parts))


def test_a_part_is_the_part_that_is_cut_out(three):
    graph = rmat()
    whole, cuts, bound = read_partition(three), cut(graph, 3), bind(gp.apps.BFS(5), graph)
    wanted = [PartitionedParts(str(three), whole, bound).where(part) for part in range(3)]
    for number, (read, *_) in reading.PartReader("here", 1, 0, None).read(wanted).items():
        expected = part_of(graph, cuts, number)
        for name, array in expected.arrays().items():
            np.testing.assert_array_equal(read.arrays()[name], array, name)


def test_the_graph_has_ids_degrees_and_no_edges(tmp_path):
    names = [f"v{number}" for number in range(50)]
    chance = np.random.default_rng(1)
    graph = gp.from_edges(chance.choice(names, 300), chance.choice(names, 300))
    found = gp.open(partitioned(graph, tmp_path, 2))
    assert (found.n, found.m, found.directed, found.on_disk) == (graph.n, graph.m, True, True)
    assert list(found.ids) == list(graph.ids)
    np.testing.assert_array_equal(found.in_degrees, graph.in_degrees)
    np.testing.assert_array_equal(found.out_degrees, graph.out_degrees)
    for asks in (
        lambda: list(found.neighbors("v1")),
        lambda: gp.run(gp.apps.BFS("v1"), found),
        lambda: gp.plan(gp.apps.BFS("v1"), found),
        lambda: next(iter(found.edge_batches())),
    ):
        with pytest.raises(GraphError, match=r"the edges of .* are in parts, which the workers of a cluster read; run"):
            asks()


@pytest.mark.slow  # fsspec comes with Dask, which the quick tests do without
def test_a_partition_at_a_url_is_copied_by_the_workers(three, tmp_path, monkeypatch):
    pytest.importorskip("fsspec")
    monkeypatch.setattr(Workers, "folder", str(tmp_path))
    graph, opened_at = gp.open(f"file://{three}"), []
    monkeypatch.setattr(reading, "open_graph", lambda path, **how: opened_at.append(path) or store.open(path, **how))
    values, _, _ = conducted(gp.apps.BFS(5), graph, Workers(2))
    np.testing.assert_array_equal(values, gp.run(gp.apps.BFS(5), rmat()).values)
    assert sorted(path.name for path in opened_at) == ["part-0", "part-1", "part-2"]
    assert all(path.is_relative_to(tmp_path) for path in opened_at)
    assert not any(tmp_path.iterdir())  # nothing is left there


def test_a_partition_cannot_verify_an_answer(three):
    pytest.importorskip("distributed")
    with pytest.raises(GraphError, match=r"the edges of .* are in parts, which the workers of a cluster read; run"):
        gp.run(gp.apps.BFS(5), gp.open(three), cluster="local:1", verify=True)


def test_a_program_that_gathers_over_out_edges_is_refused(three):
    with pytest.raises(GraphError, match=r"gathers over out-edges, and the parts of .* have in-edges; give the undiv"):
        conducted(gp.apps.BFS(5), gp.open(three)._reversed(valued=False), Workers(2))


def test_parts_may_stay_on_disk(three, monkeypatch):
    monkeypatch.setattr(reading, "open_graph", lambda path, memory, threads: opened(path, 18 << 20))
    values, records, _ = conducted(gp.apps.BFS(5), gp.open(three), Workers(3))
    np.testing.assert_array_equal(values, gp.run(gp.apps.BFS(5), rmat()).values)
    assert sum(record.from_disk for record in records) > 0


def test_too_little_memory_is_told_before_workers_are_asked(three):
    class Small(Workers):
        async def workers(self):
            facts = await super().workers()
            return {address: each._replace(memory=limit) for address, each in facts.items()}

    limit = int((PROCESS + (1 << 20)) / LIMIT_SHARE)
    for workers, message in ((2, "2 parts of .*; take 3 workers, one for each part, or give"), (3, "more parts")):
        small = Small(workers)
        with pytest.raises(ClusterError, match=message):
            conducted(gp.apps.BFS(5), gp.open(three), small)
        assert "read" not in small.asked


def test_verify_finds_damage(tmp_path):
    path = partitioned(rmat(), tmp_path, 2)
    assert store.verify(path) == []
    for file in ("part-1.place", "part-0/in_sources.data", NAME):
        data = bytearray((path / file).read_bytes())
        data[len(data) // 2] ^= 1
        whole = (path / file).read_bytes()
        (path / file).write_bytes(data)
        (problem,) = store.verify(path)
        assert problem.path == str(path / file)
        if file != "part-0/in_sources.data":
            with pytest.raises(DamagedGraphError):
                gp.open(path)
        (path / file).write_bytes(whole)
    (path / "part-0").rename(path / "old")
    (path / "part-1").rename(path / "part-0")
    (path / "old").rename(path / "part-1")
    assert [problem.path for problem in store.verify(path)] == [str(path / "part-0"), str(path / "part-1")]
    with pytest.raises(ClusterError, match=r"part-\d: not the part that the partition names; copy it again"):
        conducted(gp.apps.BFS(5), gp.open(path), Workers(2))


def test_a_worker_that_sees_another_partition(tmp_path):
    graph = rmat()
    path = partitioned(graph, tmp_path, 2)
    found = gp.open(path)
    path.rename(tmp_path / "old")
    partitioned(graph, tmp_path, 2)
    with pytest.raises(GraphError, match=r"has been partitioned anew since it was opened; open it again"):
        conducted(gp.apps.BFS(5), found, Workers(2))


def test_nothing_is_left_of_a_partition_that_fails(tmp_path, monkeypatch):
    gp.save(rmat(), tmp_path / "g")
    write = writing.write_file
    monkeypatch.setattr(writing, "write_file", lambda path, data: write(path, data) if "0" in path.name else 1 / 0)
    with pytest.raises(ZeroDivisionError):
        partition(tmp_path / "g", tmp_path / "parts", 2)
    assert [path.name for path in tmp_path.iterdir()] == ["g"]


@pytest.mark.parametrize(
    ("changes", "kind", "problem"),
    [
        ({"parts": 0}, ParameterError, "parts=0: give a number of parts"),
        ({"path": "missing"}, FormatError, "no graph directory can be opened here"),
        ({"memory": "300KiB"}, GraphError, "allow more"),
        ({"out": "g"}, ParameterError, "g already exists; remove it or choose another name"),
    ],
)
def test_what_cannot_be_partitioned(changes, kind, problem, tmp_path):
    gp.save(rmat(), tmp_path / "g")
    given = {"path": "g", "out": "parts", "parts": 2} | changes
    with pytest.raises(kind, match=problem):
        partition(tmp_path / given.pop("path"), tmp_path / given.pop("out"), **given)
