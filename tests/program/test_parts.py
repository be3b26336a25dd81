"""What a vertex program is made of: unified operations, parameters, other programs and the user's own modules."""

from __future__ import annotations

import dataclasses
import math
import os
import subprocess
import sys
import textwrap
import threading
from typing import Any

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import GraphError, ParameterError, ProgramError
from garaph_py.program import bind
from garaph_py.program.bind import hints
from garaph_py.program.functions import functions
from tests.program.test_check import FLOAT64, RING, WEIGHTED, Sum, check, derived, helpers, parameter, program  # noqa: F401 - a fixture

# Unified operations

OPERATIONS = {
    "add": (gp.add, 6), "mul": (gp.mul, 6), "min": (gp.min, 1), "max": (gp.max, 3), "bitwise_and": (gp.bitwise_and, 0),
    "bitwise_or": (gp.bitwise_or, 3), "bitwise_xor": (gp.bitwise_xor, 0), "logical_and": (gp.logical_and, 1),
    "logical_or": (gp.logical_or, 1), "logical_xor": (gp.logical_xor, 1),
    "own": (gp.Monoid(lambda left, right: left if left >= right else right, -5), 3),
    "own with a name": (gp.Monoid(lambda left, right: left + right, 0, "plus"), 6),
}  # fmt: skip


@pytest.mark.parametrize(("monoid", "wanted"), OPERATIONS.values(), ids=OPERATIONS)
def test_unified_operations(monoid, wanted):
    bound = bind(derived(sum=monoid)(), RING)
    add, identity = functions(bound).sum, bound.identity()
    assert add(add(add(identity, 1), 2), 3) == add(1, add(2, 3)) == wanted


def test_vertices_without_in_edges_have_the_identity():
    star = gp.from_edges([0, 1, 2], [3, 3, 3])
    kind = derived(sum=OPERATIONS["own with a name"][0], init=lambda self, id: id + 1)
    assert gp.run(kind(), star, iterations=1, mode="pull").values.tolist() == [0, 0, 0, 6]


BROKEN_SUMS = {
    "built-in function": (gp.Monoid(min, 0), np.int64, "written with def or lambda"),
    "class": (gp.Monoid(int, 0), np.int64, "written with def or lambda"),
    "one argument": (gp.Monoid(lambda left: left, 0), np.int64, r"Wrong.sum .* takes 1 arguments; allowed are two"),
    "a list": (gp.Monoid(lambda left, right: [left, right][0], 0), np.int64, r"Wrong.sum .* contains a list"),
    "wrong type": (gp.Monoid(lambda left, right: left / right, 1), np.int64, r"Wrong.sum .* returns float64"),
    "wrong type and a name": (gp.Monoid(lambda left, right: left / right, 1, "div"), np.int64, "returns float64"),
    "float64": (gp.Monoid(lambda left, right: left + right * 0.5, 0), np.float32, FLOAT64),
    "bits of floats": (gp.bitwise_or, np.float32, "bitwise_or, which takes integers; the accumulator is float32"),
    "identity too large": (gp.Monoid(lambda a, b: a, 2**31), np.int32, "identity 2147483648, which is no value of"),
    "identity too small": (gp.Monoid(lambda a, b: a, -1), np.uint64, "identity -1, which is no value of"),
    "identity infinite": (gp.Monoid(lambda a, b: a, math.inf), np.int64, "identity inf, which is no value of"),
    "identity not whole": (gp.Monoid(lambda a, b: a, 0.5), np.int64, "identity 0.5, which is no value of"),
    "identity too large a float": (gp.Monoid(lambda a, b: a, 1e300), np.float32, "identity 1e\\+300"),
    "identity of the wrong kind": (gp.Monoid(lambda a, b: a, "0"), np.int64, "identity '0'"),
    "identity missing": (gp.Monoid(lambda a, b: a, None), np.int64, "identity None"),
    "identity of fields": (gp.Monoid(lambda a, b: a, (0, 0)), np.int64, r"identity \(0, 0\)"),
}


@pytest.mark.parametrize(("monoid", "value", "message"), BROKEN_SUMS.values(), ids=BROKEN_SUMS)
def test_a_broken_operation_is_refused(monoid, value, message):
    with pytest.raises(ProgramError, match=message):
        check(derived(sum=monoid, value=value)())


class Fields(gp.VertexProgram):
    """Two sums at once: of the sources' numbers, and how many there are."""

    value = np.float32
    accumulator = {"mass": np.float32, "count": np.uint32}  # noqa: RUF012
    sum = gp.add

    def init(self, id):
        return float(id)

    def gather(self, src):
        return src, 1

    def apply(self, acc):
        return acc.mass / float(acc.count)


def add_both(left, right):
    return left.mass + right.mass * float(1), left.count + right.count


@pytest.mark.parametrize("monoid", [gp.add, gp.Monoid(add_both, (0, 0))])
def test_fields_are_summed_one_by_one_or_by_the_users_function(monoid):
    graph = gp.from_edges([0, 1, 2, 3, 4], [5, 5, 5, 6, 6])
    kind = type("Own", (Fields,), {"sum": monoid})
    values = gp.run(kind(), graph, iterations=1, mode="pull").values
    assert values[5:].tolist() == [1, 3.5]
    assert np.isnan(values[:5]).all()


@pytest.mark.parametrize("identity", [(0,), (0, 0, 0), (0, -1), (0, "x")])
def test_an_identity_that_does_not_fit_the_fields_is_refused(identity):
    with pytest.raises(ProgramError, match="identity"):
        check(type("Own", (Fields,), {"sum": gp.Monoid(add_both, identity)})())


# Parameters


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


PER_VERTEX = {
    "default": ({}, [4, 4, 4]),
    "a number": ({"heat": 7}, [7, 7, 7]),
    "an array": ({"heat": np.array([1, 2, 3], np.uint8)}, [1, 2, 3]),
    "a mapping": ({"heat": {1: 9}}, [4, 9, 4]),
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


@pytest.mark.parametrize(("given", "wanted"), PER_VERTEX.values(), ids=PER_VERTEX)
def test_per_vertex_parameters(given, wanted):
    assert gp.run(Heated(**given), RING, iterations=1).values.tolist() == wanted


@pytest.mark.parametrize(("given", "message"), PER_VERTEX_WRONG.values(), ids=PER_VERTEX_WRONG)
def test_unusable_per_vertex_parameters_are_refused(given, message):
    with pytest.raises(ParameterError, match=rf"Heated\(heat=\.\.\.\).*{message}"):
        bind(Heated(heat=given), RING)


def test_awkward_names_of_parameters_and_fields_are_no_obstacle():
    kind = derived(
        __annotations__={"count": int, "index": int, "data": gp.PerVertex, "n": int, "r": int, "cast0": int},
        count=2, index=3, data=5, n=7, r=11, cast0=13,
        value={"count": np.int64, "index": np.int64, "real": np.int64, "x": np.int64, "item": np.int64},
        accumulator=np.int64,
        init=lambda self, data: (self.count, self.index, data, self.n, self.r),
        gather=lambda self, src: src.count + src.index,
        apply=lambda self, old, acc, data, n: (old.count, old.index, old.real + data, acc + n, self.cast0),
    )  # fmt: skip
    assert gp.run(kind(), RING, iterations=1).values.tolist() == [(2, 3, 10, 8, 13)] * 3


# Inheritance, modules, sessions


class Boosted(gp.apps.PageRank):
    """PageRank whose teleport is multiplied."""

    boost: float = 2.0

    def apply(self, acc, total, n, out_degree):
        rank = (float(1) - self.damping) * self.boost / n + self.damping * acc
        return rank / max(out_degree, float(1))


def test_a_program_may_extend_another():
    result = gp.run(Boosted(damping=0.5, boost=4, dtype=np.float32), RING, iterations=1)
    np.testing.assert_allclose(result.values, [0.5 * 4 / 3 + 0.5 / 3] * 3, rtol=1e-6)
    with pytest.raises(ParameterError, match=r"Boosted\(damping=2\)"):
        Boosted(damping=2)


def test_a_closure_is_part_of_the_program():
    def times(factor):
        return derived(value=np.float32, apply=lambda self, acc: acc * float(factor))()

    assert gp.run(times(2), RING, iterations=1).values.tolist() == [4, 0, 2]
    with pytest.raises(ProgramError, match="factor is a dict"):
        check(derived(apply=(lambda factor: lambda self, acc: factor)({}))())


USER_MODULE = """
import numpy as np
import garaph_py as gp
import settings
class P(gp.VertexProgram):
    value = np.int64
    sum = gp.add
    def init(self, id): return id
    def gather(self, src): return src
    def apply(self, acc): return acc * settings.FACTOR
"""
RUNS_IT = """
import sys
import garaph_py as gp
from user_module import P
result = gp.run(P(), gp.from_edges([0, 1, 2], [1, 2, 0]), iterations=1)
print(result.values.tolist(), "numba" in sys.modules)
"""


def test_an_edited_constant_of_the_users_module_never_meets_yesterdays_code(tmp_path):
    (tmp_path / "user_module.py").write_text(USER_MODULE)

    def answer(factor):
        (tmp_path / "settings.py").write_text(f"FACTOR = {factor}\n")
        folders = [str(tmp_path), *sys.path]
        environment = {
            **os.environ, "PYTHONPATH": os.pathsep.join(folders), "PYTHONDONTWRITEBYTECODE": "1",
            "GARAPH_CACHE_DIR": str(tmp_path / "cache"),
        }  # fmt: skip
        command = [sys.executable, "-c", RUNS_IT]
        return subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()

    assert answer(2) == "[4, 0, 2] True"
    assert answer(2) == "[4, 0, 2] False"
    assert answer(3).startswith("[6, 0, 3]")


def test_a_program_typed_into_a_session_runs():
    kind = program("return acc * float(2)")
    assert kind.__module__ == "__main__"
    assert gp.run(kind(), RING, iterations=1).values.tolist() == [6, 2, 4]


def test_two_threads_may_compile_programs_at_once():
    def run(factor):
        text = textwrap.dedent(f"""
            import numpy as np, garaph_py as gp
            class P(gp.VertexProgram):
                value = {{"one": np.float32, "field{factor}": np.float32}}
                accumulator = np.float32
                sum = gp.add
                def init(self, id): return float(id), float({factor})
                def gather(self, src): return src.one
                def apply(self, old, acc): return acc, old.field{factor}
        """)
        names = {"__name__": "session"}
        exec(text, names)
        results[factor] = gp.run(names["P"](), RING, iterations=1).values.tolist()

    results = {}
    threads = [threading.Thread(target=run, args=(factor,)) for factor in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {factor: [(2, factor), (0, factor), (1, factor)] for factor in (1, 2)}


LIBRARY = {
    "BFS": {"source": 0}, "SSSP": {"source": 0}, "SSWP": {"source": 0}, "PenalizedHittingProbability": {"query": 0},
}  # fmt: skip


@pytest.mark.parametrize("name", gp.apps.__all__)
def test_the_librarys_programs_are_not_refused_in_single_precision(name):
    kind = getattr(gp.apps, name)
    single = {"dtype": np.float32} if any(field.name == "dtype" for field in dataclasses.fields(kind)) else {}
    check(kind(**LIBRARY.get(name, {}), **single), WEIGHTED.symmetrized() if kind.gathers == "both" else WEIGHTED)
