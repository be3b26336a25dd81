"""Graphs from frames of pandas and tables of Arrow."""

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py.errors import GraphError, ParameterError
from tests.support.graphs import equal

ROWS = {"source": ["a", "b", "a"], "target": ["b", "c", "é"], "weight": [1.5, 2.0, -1.0]}
FRAME = pd.DataFrame(ROWS)
EXPECTED = gp.from_edges(*ROWS.values())


@pytest.mark.parametrize("kind", ["str", "object", "category", "string", pd.ArrowDtype(pa.string())], ids=str)
@pytest.mark.parametrize("build", [gp.from_pandas, gp.from_arrow])
def test_names_of_every_type_of_pandas(build, kind):
    assert equal(build(FRAME.astype({"source": kind, "target": kind})), EXPECTED)


@pytest.mark.parametrize("kind", ["int64", "uint32", "Int64", "object", "category", pd.ArrowDtype(pa.int32())], ids=str)
@pytest.mark.parametrize("build", [gp.from_pandas, gp.from_arrow])
def test_integers_of_every_type_of_pandas(build, kind):
    frame = pd.DataFrame({"src": [1, 2], "dst": [2, 9], "w": pd.array([3, 4], "Int64")}).astype({"src": kind})
    graph = build(frame, directed=False)
    assert equal(graph, gp.from_edges([1, 2], [2, 9], [3, 4], directed=False))


@pytest.mark.full
@given(st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.text(max_size=3)), min_size=1))
@settings(max_examples=30, deadline=None)
def test_edges_survive_the_way_through_frames(rows):
    numbers, names = map(list, zip(*rows, strict=True))
    for ids in (numbers, names):
        graph = gp.from_edges(ids, ids[::-1], list(range(len(ids))))
        table = graph.edges()
        for again in (gp.from_arrow(table), gp.from_pandas(table.to_pandas())):
            assert again.edges().sort_by("weight").equals(table.sort_by("weight"))


def test_networkx_makes_frames_that_are_the_same_graph():
    theirs = nx.les_miserables_graph()
    frame = nx.to_pandas_edgelist(theirs)
    graph = gp.from_pandas(frame, directed=False)
    back = nx.from_pandas_edgelist(graph.edges().to_pandas(), edge_attr="weight")
    assert nx.utils.graphs_equal(back, nx.Graph(theirs.edges(data=True)))


@pytest.mark.parametrize(
    "table",
    [pa.table(ROWS), pa.record_batch(ROWS), pa.table(ROWS).to_reader(), pa.table(ROWS).to_struct_array().chunk(0)],
    ids=lambda table: type(table).__name__,
)
def test_every_table_of_arrow(table):
    assert equal(gp.from_arrow(table), EXPECTED)


@pytest.mark.parametrize("build", [gp.from_pandas, gp.from_arrow])
def test_columns_by_name(build):
    frame = FRAME.rename(columns={"source": "who", "target": "whom", "weight": "euros"}).assign(value=7, year=1999)
    assert equal(build(frame, "who", "whom", "euros"), EXPECTED)
    assert build(frame, "who", "whom").edges()["weight"].to_pylist() == [7] * 3
    assert build(frame, "who", "whom", False).edge_dtype is None
    assert equal(build(FRAME.rename(columns=str.title)), EXPECTED)
    assert equal(build(frame[["who", "whom"]]), build(frame, "who", "whom", False))
    assert build(frame, "who", "whom", drop_parallel=True, vertices=["z"]).n == 5


@pytest.mark.parametrize("build", [gp.from_pandas, gp.from_arrow])
@pytest.mark.parametrize(
    ("columns", "arguments", "kind", "message"),
    [
        ({"a": [1], "b": [2], "c": [3]}, (), ParameterError, r"\(the columns are 'a', 'b', 'c'\); give source and"),
        ({"a": [1], "b": [2]}, ("a",), ParameterError, "only one end .* give both source and target"),
        ({"a": [1], "b": [2]}, ("a", "c"), ParameterError, r"no column 'c' \(the columns are 'a', 'b'\)"),
        ({"a": [1], "b": [2]}, ("a", "b", "w"), ParameterError, r"no column 'w' \(the columns are 'a', 'b'\)"),
        ({"source": [1.5], "target": [2]}, (), GraphError, "sources"),
        ({"source": ["a", None], "target": ["b", "c"]}, (), GraphError, r"sources\[1\] is missing"),
        ({"source": [1], "target": [2], "w": ["x"]}, (), GraphError, "column 'w' is of type .*; edge values are"),
        ({"source": [1, 2], "target": [2, 3], "w": pd.array([1, None], "Int64")}, (), GraphError, "has missing values"),
    ],
)
def test_what_cannot_be_edges_is_refused(build, columns, arguments, kind, message):
    with pytest.raises(kind, match=message):
        build(pd.DataFrame(columns), *arguments)


@pytest.mark.parametrize("build", [gp.from_pandas, gp.from_arrow])
@pytest.mark.parametrize("kind", ["int64", "float32", "Int64", pd.ArrowDtype(pa.int32())], ids=str)
def test_a_column_of_numbers_without_a_usual_name_is_not_left_out_silently(build, kind):
    frame = pd.DataFrame({"source": [1], "target": [2], "minutes": pd.Series([3], dtype=kind)})
    with pytest.raises(ParameterError, match=r"usual name of edge values .*'minutes'.*weight=False"):
        build(frame)
    assert build(frame, "source", "target", "minutes").edges()["weight"].to_pylist() == [3]
    assert build(frame, weight=False).edge_dtype is None
    assert build(frame.assign(minutes="long")).edge_dtype is None


def test_other_objects_are_refused():
    with pytest.raises(ParameterError, match=r"a pandas.DataFrame, not pyarrow.lib.Table; gp.from_arrow takes"):
        gp.from_pandas(pa.table(ROWS))
    with pytest.raises(ParameterError, match=r"PyCapsule interface.*not list"):
        gp.from_arrow([1, 2])
    with pytest.raises(ParameterError, match="not a table of columns"):
        gp.from_arrow(pa.array([1, 2]))
    with pytest.raises(ParameterError, match="several columns are called 'source'"):
        gp.from_arrow(pa.table([[1], [2], [3]], ["source", "source", "target"]))
    assert gp.from_arrow(pa.table({"source": np.zeros(0, np.int64), "target": np.zeros(0, np.int64)})).n == 0
