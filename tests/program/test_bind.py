"""Parameters: which values the fields of a program may have, and what its functions see of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import garaph_py as gp
from garaph_py.errors import GraphError, ParameterError, ProgramError
from garaph_py.program import bind
from garaph_py.program.fields import hints
from tests.support.programs import RING, Sum, derived, parameter


def seen(instance, graph=RING):
    """What the functions see as `self`, without the identity."""
    record = bind(instance, graph).parameters
    return {name: record[name][0].item() for name in record.dtype.names if name != "identity"}


class Typed(Sum):
    real: float = 1
    whole: int = 2
    flag: bool = True
    free: Any = None
    word: str = "x"
    vertex: gp.VertexId = 1


PARAMETERS = {
    "defaults": ({}, {"real": 1.0, "whole": 2, "flag": 1, "vertex": 1}),
    "numpy scalars": (
        {"real": np.float32(0.5), "whole": np.uint8(7), "flag": np.bool_(False), "free": np.int16(3)},
        {"real": 0.5, "whole": 7, "flag": 0, "free": 3},
    ),
    "infinite": ({"real": math.inf, "free": -math.inf}, {"real": math.inf, "free": -math.inf}),
    "a whole float for an int": ({"whole": 3.0}, {"whole": 3}),
    "an int for a float": ({"real": 10**20}, {"real": 1e20}),
    "least and greatest": ({"whole": -(2**63), "free": 2**63 - 1}, {"whole": -(2**63), "free": 2**63 - 1}),
    "another vertex": ({"vertex": 2}, {"vertex": 2}),
    "no number": ({"free": "text"}, {}),
}


@pytest.mark.parametrize(("given", "wanted"), PARAMETERS.values(), ids=PARAMETERS)
def test_parameters_become_numbers(given, wanted):
    found = seen(Typed(**given))
    assert {name: found.get(name) for name in wanted} == wanted
    assert "word" not in found
    assert ("free" in found) == isinstance(given.get("free"), (int, float, np.number))


UNUSABLE = {
    "too large": ({"whole": 2**63}, ParameterError, r"Typed\(whole=9223372036854775808\)"),
    "too small": ({"free": -(2**63) - 1}, ParameterError, "does not fit int64"),
    "too large a float": ({"real": 10**400}, ParameterError, "does not fit float64"),
    "not whole": ({"whole": 2.5}, ParameterError, r"Typed\(whole=2.5\)"),
    "not a number for an int": ({"whole": math.nan}, ParameterError, "does not fit int64"),
    "no vertex": ({"vertex": 17}, GraphError, "17"),
}


@pytest.mark.parametrize(("given", "error", "message"), UNUSABLE.values(), ids=UNUSABLE)
def test_an_unusable_parameter_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        bind(Typed(**given), RING)


def test_a_float_too_large_for_the_program_is_refused():
    with pytest.raises(ParameterError, match="does not fit float32"):
        bind(derived(value=np.float32, **parameter("real"))(real=1e300), RING)


def test_annotations_are_understood_as_text_and_in_functions():
    from garaph_py import PerVertex, VertexId

    class Local(Sum):
        start: VertexId = 2
        heat: PerVertex = 0
        rate: float = 1

    import garaph_py as local_name

    class Dotted(Local):
        other: local_name.VertexId = 0
        unknown: NoSuchType = 3  # noqa: F821

    assert hints(Dotted) == {
        "start": VertexId, "heat": PerVertex, "rate": float, "other": VertexId, "unknown": Any,
    }  # fmt: skip
    assert seen(Dotted()) == {"start": 2, "rate": 1.0, "other": 0, "unknown": 3}


def test_an_annotation_is_evaluated_again_until_its_name_is_known(monkeypatch):
    class Early(Sum):
        later: DefinedLater = 1  # noqa: F821

    assert hints(Early) == {"later": Any}
    monkeypatch.setitem(globals(), "DefinedLater", float)
    assert hints(Early) == {"later": float}


def test_the_bytes_between_two_fields_are_always_the_same():
    """A graph remembers by these bytes whether the values of a program are wide (`narrow.name_of`)."""

    class Half(Sum):
        value = np.float32
        real: float = 1
        whole: int = 2

    found = set()
    for number in range(32):
        used = [np.full(size, number, np.uint8) for size in range(1, 65)]  # memory that the records may get
        del used
        found.add(bind(Half(), RING).parameters.tobytes())
    (record,) = found
    assert len(record) > 4 + 8 + 4


def test_a_changed_copy_finds_anew_what_follows_from_its_fields():
    bound = bind(gp.apps.BFS(0), RING)
    before = bound.key, bound.is_relaxation
    changed = bound.changed(accumulator=np.dtype(np.int64))
    assert (changed.value, changed.arguments) == (bound.value, bound.arguments)
    assert not changed.is_relaxation
    assert changed.key != bound.key
    assert (bound.key, bound.is_relaxation) == before == (before[0], True)


class FromSource(Sum):
    source: int = 6

    def init(self, id):
        return int(id == self.source)


class FromAny(FromSource):
    source: Any = 6


@pytest.mark.parametrize("program", [FromSource(), FromAny()], ids=lambda program: type(program).__name__)
@pytest.mark.parametrize("ids", [[6, 7, 8], ["a", "b", "c"]], ids=["integers", "texts"])
def test_a_number_that_names_a_vertex_is_refused_where_ids_are_not_internal(program, ids):
    graph = gp.from_edges(ids, ids[1:] + ids[:1])
    with pytest.raises(ParameterError, match=r"internal ids.*source: garaph_py\.VertexId"):
        bind(program, graph)
    bind(program, RING)
    bind(derived(**parameter("source", int, 6))(), graph)  # no function compares it with an id


PER_VERTEX = {
    "default": ({}, [4, 4, 4]),
    "a number": ({"heat": 7}, [7, 7, 7]),
    "an array": ({"heat": np.array([1, 2, 3], np.uint8)}, [1, 2, 3]),
    "a mapping": ({"heat": {1: 9}}, [4, 9, 4]),
    "a series of pandas": ({"heat": pd.Series([8, 9], index=[2, 1])}, [4, 9, 8]),
}


PER_VERTEX_WRONG = {
    "shape": (np.zeros(4, int), "shape"),
    "text": ("hot", "type"),
    "nothing": (None, "type object"),
    "complex": (1j, "complex"),
    "fractions for integers": (np.array([0.5, 1, 2]), "float64, but the program computes in int64"),
    "fractions in a mapping": ({0: 0.5}, "float64, but the program computes in int64"),
    "ragged": ({0: [1, 2]}, "give a mapping, an array or a number"),
}


class Heated(Sum):
    heat: gp.PerVertex = 4

    def apply(self, heat):
        return heat


@pytest.mark.full
@pytest.mark.parametrize(("given", "wanted"), PER_VERTEX.values(), ids=PER_VERTEX)
def test_per_vertex_parameters(given, wanted):
    assert gp.run(Heated(**given), RING, iterations=1).values.tolist() == wanted


@pytest.mark.parametrize(("given", "message"), PER_VERTEX_WRONG.values(), ids=PER_VERTEX_WRONG)
def test_unusable_per_vertex_parameters_are_refused(given, message):
    with pytest.raises(ParameterError, match=rf"Heated\(heat=\.\.\.\).*{message}"):
        bind(Heated(heat=given), RING)


def test_a_result_with_several_fields_is_no_number_for_each_vertex():
    result = gp.run(gp.apps.BFS(0), RING)
    with pytest.raises(ParameterError, match=r"type object, .*; give one number for each vertex, .*result\.column"):
        bind(Heated(heat=result), RING)
    assert bind(Heated(heat=result.column("level")), RING).vertex_data["heat"].tolist() == [0, 1, 2]


def test_per_vertex_parameters_fit_the_type_of_the_program():
    with pytest.raises(ParameterError, match=r"a number does not fit float32"):
        bind(gp.apps.HeatSimulation(initial=[0, 1e39, 0], dtype=np.float32), RING)


def test_a_per_vertex_parameter_that_no_function_asks_for_takes_no_memory():
    assert bind(derived(**parameter("unused", gp.PerVertex, None))(), RING).vertex_data is None


def test_programs_that_are_bound_together_share_what_is_made_of_one_array():
    heat, made = np.arange(RING.n), {}
    first, second, other = (bind(Heated(heat=given), RING, made=made) for given in (heat, heat, heat.copy()))
    assert first.vertex_data is second.vertex_data is not other.vertex_data
    assert first.vertex_data["heat"].tolist() == other.vertex_data["heat"].tolist() == heat.tolist()


def test_a_program_may_choose_another_for_a_graph():
    assert type(bind(derived(for_graph=lambda self, graph: Heated())(), RING).program) is Heated
    with pytest.raises(ProgramError, match=r"Wrong\.for_graph returns None; return a VertexProgram"):
        bind(derived(for_graph=lambda self, graph: None)(), RING)


@pytest.mark.full
def test_awkward_names_of_parameters_and_fields_are_no_obstacle():
    kind = derived(
        __annotations__={"count": int, "index": int, "data": gp.PerVertex, "n": int, "r": int, "cast0": int},
        count=2, index=3, data=5, n=7, r=11, cast0=13,
        value={"count": np.int64, "index": np.int64, "real": np.int64, "x": np.int64, "item": np.int64},
        accumulator=np.int64,
        init=lambda self, data: (self.count, self.index, data, self.n, self.r),
        gather=lambda self, src: src.count + src.index,
        apply=lambda self, old, acc, data: (old.count, old.index, old.real + data, acc + 3, self.cast0),
    )  # fmt: skip
    assert gp.run(kind(), RING, iterations=1).values.tolist() == [(2, 3, 10, 8, 13)] * 3
