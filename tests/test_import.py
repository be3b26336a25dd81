"""Imports out of core: the directory that an import in memory makes, byte for byte, in whatever memory."""

import uuid

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from garaph_py.graph.build import build, edge_values
from garaph_py.graph.formats.edges import EdgeList
from garaph_py.graph.number import number_vertices
from garaph_py.graph.scan import EdgeSource
from garaph_py.pages import external, store
from garaph_py.pages.external import Wishes, write_external

ID = uuid.UUID("27ebbb6f-9e49-4f2c-8a31-0f7d0cde4f77")


@pytest.fixture(autouse=True, scope="module")
def same_id():
    """Every graph has the same id, so that equal graphs are equal files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uuid, "uuid4", lambda: ID)
        yield


@pytest.fixture(autouse=True, scope="module")
def little_memory():
    """What does not shrink with the memory counts as nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(external, "READING", 0)
        patch.setattr(external, "SINK_BYTES", 0)
        yield


def source_of(sources, targets, weights=None, rows=7, again=True):
    def batches(listener):
        for start in range(0, len(sources), rows):
            part = slice(start, start + rows)
            yield EdgeList(sources[part], targets[part], None if weights is None else weights[part])

    return EdgeSource(batches, again)


def in_memory(path, sources, targets, weights, wishes):
    *columns, ids = number_vertices(sources, targets)
    graph = build(
        [*columns, edge_values(weights, len(sources))],
        ids,
        directed=wishes.directed,
        drop_self_loops=wishes.drop_self_loops,
        drop_parallel=wishes.drop_parallel,
        order=wishes.order,
    )
    store.save(graph.symmetrized() if wishes.symmetrize else graph, path, encoding=wishes.encoding)


def contents(path):
    return {file.name: file.read_bytes() for file in path.iterdir()}


def columns_of(kind, sources, targets):
    if kind == "names":
        return tuple(pa.array([f"v{k}" for k in column], pa.string()) for column in (sources, targets))
    scale, dtype = {
        "dense": (1, np.uint32),
        "gaps": (3, np.int64),
        "sparse": (10**9, np.int64),
        "huge": (1, np.uint64),
    }[kind]
    shift = 2**63 if kind == "huge" else -5 * 10**9 if kind == "sparse" else 0
    return tuple(np.array([k * scale + shift for k in column], dtype) for column in (sources, targets))


vertices = st.integers(0, 12) | st.just(3)


@given(
    st.lists(st.tuples(vertices, vertices), min_size=1, max_size=300),
    st.sampled_from(["dense", "gaps", "sparse", "huge", "names"]),
    st.sampled_from([None, "int32", "int64", "float64"]),
    st.builds(
        Wishes,
        st.booleans(),
        st.booleans(),
        st.booleans(),
        st.booleans(),
        st.sampled_from(["none", "none", "degree", "hub"]),
        st.sampled_from(["raw", "packed"]),
    ),
    st.booleans(),
    st.sampled_from([3_000, 200_000]),
)
@example([(5, 9)] * 3000 + [(k, 9) for k in range(1000)], "dense", "int32", Wishes(), False, 20_000)
@example([(1, 0)], "dense", None, Wishes(directed=False), True, 3_000)
def test_the_graph_is_the_one_made_in_memory(tmp_path_factory, edges, kind, values, wishes, again, memory):
    folder = tmp_path_factory.mktemp("import")
    sources, targets = columns_of(kind, *zip(*edges, strict=True))
    weights = None if values is None else np.arange(len(edges)).astype(values)
    in_memory(folder / "there", sources, targets, weights, wishes)
    source = source_of(sources, targets, weights, again=again)
    manifest = write_external(source, folder / "here", wishes, memory, least_work=0)
    assert contents(folder / "here") == contents(folder / "there")
    assert manifest.edges == store.info(folder / "there").edges
    assert sorted(path.name for path in folder.iterdir()) == ["here", "there"]
