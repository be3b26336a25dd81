"""Programs as columns of one: types, parameters, and functions, which do in each column what they do alone."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py import apps
from garaph_py.program import bind
from garaph_py.program.columns import STOPPED, column_of, joined, may_join, pushing_rows, records, row, total_row
from garaph_py.program.dtypes import record_class
from garaph_py.program.functions import functions
from garaph_py.program.signatures import offered

GRAPH = gp.from_edges([0, 1, 2], [1, 2, 0], weights=[1.0, 2.0, 3.0])


class Pair(gp.VertexProgram):
    source: gp.VertexId
    factor: float = 0.5

    value = {"a": np.float32, "b": np.int64}  # noqa: RUF012
    sum = gp.add
    total = float

    def init(self, id):
        return (float(1) if id == self.source else float(0)), id

    def gather(self, src, edge):
        return src.a * self.factor * edge, src.b

    def apply(self, old, acc, total):
        return acc.a + old.a + float(total), acc.b + 1

    def aggregate(self, new, old):
        return new.a - old.a

    def converged(self, total, n):
        return total < 1


def bound(*programs):
    return [bind(program, GRAPH) for program in programs]


def test_rows_have_the_fields_of_all_columns():
    columns = bound(Pair(0), Pair(1, 0.25), Pair(2))
    whole = joined(columns)
    assert whole.value.names == ("c0_a", "c0_b", "c1_a", "c1_b", "c2_a", "c2_b")
    assert whole.total.names == ("c0", "c1", "c2", "active0", "active1", "active2", STOPPED)
    assert whole.identity() == (0, 0) * 3
    assert not whole.is_relaxation
    assert not whole.columns_relax
    assert not whole.tiles
    assert len({each.key for each in (*columns, whole, joined(columns[:2]))}) == 3  # the columns have one key


def test_a_run_may_push_rows_of_relaxations():
    whole = joined(bound(apps.SSSP(0), apps.SSSP(1)))
    assert whole.columns_relax
    assert not whole.is_relaxation
    assert pushing_rows(whole).is_relaxation
    assert pushing_rows(whole).key != whole.key  # a GPU has other kernels for it
    assert not pushing_rows(whole).sums_components


def test_parameters_that_are_equal_are_there_once():
    parameters = joined(bound(Pair(0), Pair(1), Pair(2, 0.25))).parameters
    assert [name for name in parameters.dtype.names if "identity" in name] == ["shared_identity_a", "shared_identity_b"]
    assert [parameters[f"c{c}_source"][0] for c in range(3)] == [0, 1, 2]
    assert [parameters[f"c{c}_factor"][0] for c in range(3)] == [0.5, 0.5, 0.25]


def test_records_of_vertices():
    first, second = (np.zeros(3, [("x", float), ("y", int)]) for _ in range(2))
    second["y"] = 1, 2, 3
    made = records([first, second])
    assert made.dtype.names == ("shared_x", "c0_y", "c1_y")
    np.testing.assert_array_equal(made["c1_y"], [1, 2, 3])


def test_records_are_laid_out_as_c_does():
    """So are those with a single field, which are no copies: a GPU's structures have them as a part."""
    for made in records([np.zeros(3, [("x", float)])] * 2), records([np.zeros(3, [("x", float), ("y", int)])] * 2):
        assert made.dtype.isalignedstruct


@pytest.mark.parametrize("dtype", [np.dtype(np.int64), np.dtype([("a", np.float32), ("b", np.int64)], align=True)])
def test_columns_of_rows(dtype):
    rows = np.zeros(4, row(dtype, 3))
    for name in rows.dtype.names:
        rows[name] = np.arange(4) + (10 if name.startswith("c1") else 0)
    found = column_of(rows, dtype, 1)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found["b"] if dtype.names else found, [10, 11, 12, 13])
    assert total_row(dtype, 2).names[-3:] == ("active0", "active1", STOPPED)


def test_functions_do_in_a_column_what_they_do_alone():
    columns = bound(Pair(0), Pair(1, 0.25))
    whole = joined(columns)
    alone, together = [functions(column) for column in columns], functions(whole)
    Row, One = record_class(whole.value.names), record_class(columns[0].value.names)
    Total = record_class(whole.total.names)
    self_ = record_class(whole.parameters.dtype.names)(*whole.parameters[0].item())
    selves = [record_class(column.parameters.dtype.names)(*column.parameters[0].item()) for column in columns]
    old, acc = Row(1.5, 2, 3.5, 4), Row(0.5, 6, 7.5, 8)
    olds, accs = [One(1.5, 2), One(3.5, 4)], [One(0.5, 6), One(7.5, 8)]

    assert together.init(self_, 1, 3.0, 1.0, 1.0, 0) == sum(
        (tuple(f.init(s, 1, 3.0, 1.0, 1.0, 0)) for f, s in zip(alone, selves, strict=True)), ()
    )
    gathered = [f.gather(s, o, 2.0, o, 1) for f, s, o in zip(alone, selves, olds, strict=True)]
    assert tuple(together.gather(self_, old, 2.0, old, 1)) == (*gathered[0], *gathered[1])
    assert tuple(together.sum(old, acc)) == (2.0, 8, 11.0, 12)
    totals = Total(0.5, 0.25, 1, 1, 0)
    vertex = (1, 3.0, 1.0, 1.0, 0)
    applied = [
        f.apply(s, o, a, t, *vertex) for f, s, o, a, t in zip(alone, selves, olds, accs, totals[:2], strict=True)
    ]
    assert tuple(together.apply(self_, old, acc, totals, *vertex)) == (*applied[0], *applied[1])
    stopped = together.apply(self_, old, acc, totals._replace(**{STOPPED: 2}), *vertex)
    assert tuple(stopped) == (*applied[0], *olds[1])
    assert together.activate(self_, old._replace(c1_b=9), old)
    assert not together.activate(self_, old, old)
    assert tuple(together.aggregate(self_, old._replace(c1_a=4.5), old, *vertex)) == (0, 1, 0, 1, 0)
    assert tuple(together.identity(self_)) == (0, 0, 0, 0)
    assert len(offered("apply")) == 3 + 1 + 4 + 1


def test_which_programs_can_be_columns():
    assert may_join(bind(apps.SSSP(0), GRAPH))
    assert not may_join(bind(apps.BFS(0), GRAPH))  # it reports parents
