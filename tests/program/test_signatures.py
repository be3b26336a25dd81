"""Vertex programs whose functions, names or types are wrong: what is refused, and how it is said."""

from __future__ import annotations

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import ProgramError
from tests.support.programs import RING, check, derived, parameter

TOTAL = {"aggregate": lambda self, new: new, "total": int}
MALFORMED = {
    "no init": ({"init": None}, "Wrong has no init"),
    "no gather": ({"gather": None}, "Wrong has no gather"),
    "no value": ({"value": None}, "Wrong.value is not set"),
    "no sum": (
        {"sum": None},
        r"Wrong has no sum; write sum = gp\.add \(or gp\.min, gp\.max, \.\.\., or a gp\.Monoid\)",
    ),
    "sum is a function": ({"sum": lambda a, b: a + b}, r"Wrong has sum = <lambda>; write sum = gp\.add"),
    "sum is Python's": ({"sum": min}, r"Wrong has sum = min, a function of Python; write sum = gp\.add"),
    "sum is a name": ({"sum": "add"}, r"Wrong has sum = 'add'; write sum = gp\.add"),
    "a module that is not imported": (
        {"gather": eval("lambda self: math.sqrt(2)", {})},
        "uses 'math', which is not defined; write import math at the top of the file$",
    ),
    "a parameter without self": (
        {"gather": eval("lambda self, src: src * alpha", {}), **parameter("alpha")},
        r"uses 'alpha', which is not defined; did you mean self\.alpha\?$",
    ),
    "no self": (
        {"gather": lambda: 0},
        r"Wrong.gather \(.*test_signatures.py, line \d+\): the first argument must be self",
    ),
    "another self": ({"gather": lambda this, src: src}, "the first argument must be self"),
    "unknown argument": (
        {"gather": lambda self, source: source},
        r"Wrong.gather \(.*\) asks for 'source'; allowed are src, edge, dst, src_id",
    ),
    "argument of another function": ({"gather": lambda self, acc: acc}, "asks for 'acc'"),
    "per-vertex parameter in gather": (
        {"gather": lambda self, heat: heat, **parameter("heat", gp.PerVertex)},
        "asks for 'heat'",
    ),
    "default": ({"gather": lambda self, src=0: src}, "without a default"),
    "star": ({"gather": lambda self, *src: src}, "without a default"),
    "keyword only": ({"gather": lambda self, *, src: src}, "without a default"),
    "static": ({"gather": staticmethod(lambda src: src)}, "plain method, not staticmethod"),
    "class method": ({"gather": classmethod(lambda self, src: src)}, "plain method, not classmethod"),
    "not a function": ({"gather": 3}, "plain method, not int"),
    "delta of another sum": (
        {"delta": lambda self, new, old: new - old, "sum": gp.min},
        r"Wrong.delta \(.*\) adds to sums of contributions, so sum must be gp\.add$",
    ),
    "delta without the target": (
        {"delta": lambda self, new, old: new - old, "gather": lambda self, src, dst: src - dst, "sum": gp.add},
        "Wrong.delta .* cannot know dst, which gather asks for",
    ),
    "delta over an edge": (
        {"delta": lambda self, new, edge: new * edge, "sum": gp.add},
        "Wrong.delta .* asks for edge, but gather does not",
    ),
    "delta of fields": (
        {
            "delta": lambda self, new, old: (0, 0),
            "sum": gp.add,
            "accumulator": {"a": np.int64, "b": np.int64},
            "apply": lambda self, old: old,
        },
        r"Wrong.delta returns differences of sums; these must be one signed integer or float, but the accumulator is",
    ),
    "delta without a sign": (
        {"delta": lambda self, new, old: new - old, "sum": gp.add, "value": np.uint32},
        "one signed integer or float, but the accumulator is uint32",
    ),
    "total without aggregate": ({"apply": lambda self, total: total}, "no aggregate"),
    "reports without result": ({"reports": np.int64}, "no result"),
    "gathers": ({"gathers": "up"}, 'allowed are "in", "out", "both"'),
    "async": ({"gather": eval("lambda self, src: (yield src)")}, "yield"),
    "parameter called value": (parameter("value"), "parameter called 'value'"),
    "parameter called sum": (parameter("sum"), "parameter called 'sum'"),
    "parameter called init": (parameter("init"), "parameter called 'init'"),
    "parameter called total": (parameter("total"), "parameter called 'total'"),
    "parameter called identity": (parameter("identity"), "parameter called 'identity'"),
    "private parameter": (parameter("_hidden"), "parameter called '_hidden'"),
    "per-vertex parameter called id": (parameter("id", gp.PerVertex), "PerVertex parameter cannot be called 'id'"),
    "per-vertex parameter called old": (parameter("old", gp.PerVertex), "PerVertex parameter cannot be called 'old'"),
    "parameter hidden in apply": (
        {"apply": lambda self, old, n: old + n, **parameter("n", int, 3)},
        r"Wrong.apply asks for 'n', and gets that of the graph or the run, not the parameter 'n'; rename the parameter",
    ),
    "parameter hidden in gather": ({"gather": lambda self, edge: edge, **parameter("edge")}, "asks for 'edge', and"),
    "bool": ({"value": bool}, r"Wrong.value has type <class 'bool'>; allowed are int32, int64, uint32, uint64, float"),
    "int8": ({"value": np.int8}, "allowed are int32"),
    "float16": ({"value": np.float16}, "allowed are int32"),
    "complex": ({"value": complex}, "allowed are int32"),
    "string": ({"value": str}, "allowed are int32"),
    "object": ({"value": object}, "allowed are int32"),
    "date": ({"value": "M8[s]"}, "allowed are int32"),
    "byte order": ({"value": ">f4"}, "allowed are int32"),
    "no type": ({"value": "nonsense"}, "allowed are int32"),
    "structured dtype": ({"value": np.dtype([("a", "f4")])}, "dict of a few names"),
    "no fields": ({"value": {}}, "identifier"),
    "field of no type": ({"value": {"a": None}}, "allowed are int32"),
    "field of a wrong type": ({"accumulator": {"a": np.int16}}, "Wrong.accumulator has type"),
    "field that is a keyword": ({"value": {"class": np.int64}}, "identifier"),
    "private field": ({"value": {"_a": np.int64}}, "identifier"),
    "field that is code": ({"value": {"a); print(1": np.int64}}, "identifier"),
    "field that is a number": ({"value": {1: np.int64}}, "identifier"),
    "value fails": ({"value": lambda self, edge: edge.kind}, r"Wrong.value\(edge=None\) failed: AttributeError"),
    "value asks for nothing": ({"value": lambda self: np.int64}, r"Wrong.value\(edge=None\) failed: TypeError"),
    "float from integers": (
        {"apply": lambda self, acc: acc / 2},
        r"Wrong.apply \(.*test_signatures.py, line \d+\) returns float64; allowed is int64 \(a division",
    ),
    "float constant": ({"apply": lambda self, acc: 0.5}, "returns a float; allowed is int64"),
    "a number for fields": ({"value": {"a": np.int64, "b": np.int64}}, r"Wrong.init .* allowed is a tuple \(a, b\)"),
    "too few fields": (
        {"value": {"a": np.int64, "b": np.int64}, "init": lambda self: (1,)},
        r"returns a tuple of 1 \(int(64)?\); allowed is a tuple \(a, b\)",
    ),
    "wrong field": (
        {"value": {"a": np.int64, "b": np.int64}, "init": lambda self, id: (id, id / 2)},
        "returns float64 for b; allowed is int64",
    ),
    "no truth value": ({"activate": lambda self, new, old: (new, old)}, r"Wrong.activate .* allowed is a truth value"),
    "wrong result": ({"result": lambda self, value: value / 2}, "Wrong.result .* returns float64"),
    "wrong prepare": ({"prepare": lambda self, value: (value, 1)}, "Wrong.prepare .* returns a tuple of 2"),
    "wrong aggregate": ({"aggregate": lambda self, new: new / 2, "total": int}, "Wrong.aggregate .* returns float64"),
    "misspelt apply": ({"aply": lambda self, acc: acc}, "Wrong.aply is not a function .* did you mean apply?"),
    "misspelt gather": (
        {"gather": None, "gathr": lambda self, src: src},
        "Wrong.gathr is not a function .* did you mean gather?",
    ),
    "unknown function": (
        {"smooth": lambda self, acc: acc},
        "Wrong.smooth is not .* your own, call it _smooth",
    ),
    "misspelt sum": ({"summ": gp.min}, r"Wrong.summ is not .* did you mean sum\? if it is your own, call it _summ"),
    "misspelt accumulator": ({"acumulator": np.float64}, "did you mean accumulator?"),
    "misspelt monotone": ({"monotne": True}, "did you mean monotone?"),
    "misspelt unreached": ({"unreachd": 3}, "did you mean unreached?"),
    "misspelt gathers": ({"gathres": "both"}, "did you mean gathers?"),
    "converged without aggregate": (
        {"converged": lambda self, total, n: True},
        r"Wrong.converged \(.*\) is never called: there is no aggregate\(self, ...\) to make its total",
    ),
    "converged without n": ({**TOTAL, "converged": lambda self, total: True}, r"must be converged\(self, total, n\)"),
    "converged in another order": ({**TOTAL, "converged": lambda self, n, total: True}, r"converged\(self, total, n\)"),
    "converged asks for more": ({**TOTAL, "converged": lambda self, total, n, m: True}, "asks for 'm'"),
    "wrong done": ({"done": lambda self, acc: acc.foo}, "Wrong.done .* int64 has no 'foo'"),
}


@pytest.mark.parametrize(("contents", "message"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_program_is_refused(contents, message):
    with pytest.raises(ProgramError, match=message):
        check(derived(**contents)())


def test_a_class_that_is_no_dataclass_is_refused_when_it_is_defined():
    with pytest.raises(
        ProgramError, match=r"Wrong: mutable default .*list.*; a number for each vertex is a gp\.PerVertex"
    ):
        derived(**parameter("weights", list, [1, 2]))
    with pytest.raises(ProgramError, match=r"Worse: non-default argument 'more' follows"):
        type("Worse", (gp.apps.PageRank,), {"__annotations__": {"more": float}})


def test_attributes_that_are_the_programs_own_are_allowed():
    check(derived(limit=3, _summ=2, **parameter("values"))())


@pytest.mark.full
def test_a_function_that_is_not_needed_until_the_end_is_checked_at_the_start():
    """It is checked even if all kernels of the first iteration are in the cache."""
    gp.run(derived(result=lambda self, value: value + 1)(), RING, iterations=1)
    wrong = derived(result=lambda self, value: value / 2)()
    with pytest.raises(ProgramError, match=r"Wrong.result .* returns float64"):
        gp.run(wrong, RING, iterations=1)
