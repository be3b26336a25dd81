"""Vertex programs: what is refused and how it is said, what is allowed, and that it then means what it says."""

from __future__ import annotations

import dataclasses
import math
import re

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import ProgramError
from garaph_py.program import bind
from garaph_py.program.check import check_types

RING = gp.from_edges([0, 1, 2], [1, 2, 0])
WEIGHTED = gp.from_edges([0, 1, 2], [1, 2, 0], np.array([1, 2, 3], np.float32))

HELPERS = """
import math
import numba
import numpy as np
K = 2.0
def scaled(x): return x * float(K)
def doubled(x): return inner(x) + scaled(x) - inner(x)
def inner(x): return math.tanh(x)
def wide(x): return x * 0.5
def hidden(x): return np.float32(x * 0.5)
def deep(x): return hidden(x)
def raises(x):
    if x < 0:
        raise ValueError("negative")
    return x
def ping(x): return pong(x)
def pong(x): return ping(x)
@numba.njit
def jitted(x): return x + float(1)
"""
PROGRAM = """
import enum
import math
import numpy as np
import garaph_py as gp
import helpers_for_tests as helpers
from collections import namedtuple
from helpers_for_tests import deep, doubled, jitted, ping, raises, wide

RATE = 0.85
PAIR = namedtuple("Pair", "a b")(3, 4)
TABLE = np.arange(3, dtype=np.float32)
TEXTS = {{"a": 1}}

class Colour(enum.IntEnum):
    RED = 5

class Mine(gp.VertexProgram):
    rate: float = 0.5
    count: int = 3
    flag: bool = True
    name: str = "x"
    heat: gp.PerVertex = 0.0

    value = {value}
    sum = gp.add

    def init(self, id):
        return float(id + 1)

    def gather(self, src, edge):
        return src

    def apply(self, old, acc, id):
        {body}

    def method(self):
        return 1
"""


@pytest.fixture(scope="module", autouse=True)
def helpers(tmp_path_factory):
    """A module of the user's, beside the program."""
    folder = tmp_path_factory.mktemp("user")
    (folder / "helpers_for_tests.py").write_text(HELPERS)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield


def program(body, value="np.float32"):
    """A program class made as in a REPL, with no source file: ``apply`` has this body, from line 38 on."""
    names = {"__name__": "__main__"}
    exec(compile(PROGRAM.format(value=value, body=body.replace("\n", "\n        ")), "mine.py", "exec"), names)
    return names["Mine"]


def check(instance, graph=RING):
    check_types(bind(instance, graph))


BODY = 1 + PROGRAM.format(value="", body="BODY").split("\n").index("        BODY")
FLOAT64 = "computes in float64, but the program is float32"
REFUSED = {
    # what no compiled function contains
    "return {1: acc}[1]": "a dict",
    "return {'a': acc, 'b': old}['a']": "a dict",
    "return [acc, old][0]": "a list",
    "return max([x for x in (acc, old)])": "a list|a function or comprehension",
    "return max(x for x in (acc, old))": "a function or comprehension",
    "return len({acc, old})": "a set",
    "return acc in {1, 2}": "a set",
    "return 'text'": "a string",
    "return float('inf')": "a string",
    "return f'{acc}'": "a string",
    "return acc * 1j": "a complex number",
    "raise ValueError(acc)": "raise or assert",
    "assert acc > 0\nreturn acc": "raise or assert",
    "try:\n    return acc\nexcept ValueError:\n    return old": "try",
    "try:\n    x = acc\nfinally:\n    x = old\nreturn x": "try",
    "with acc:\n    return acc": "with",
    "yield acc": "yield",
    "import os\nreturn acc": "an import",
    "from math import pi\nreturn acc": "an import",
    "return (lambda x: x)(acc)": "a function or comprehension",
    "def f(x): return x\nreturn f(acc)": "a function or comprehension",
    "class A: pass\nreturn acc": "a class",
    "global RATE\nRATE = acc\nreturn acc": "assignment to a global",
    "self.rate = acc\nreturn acc": "assignment to an attribute",
    "del self.rate\nreturn acc": "del",
    "TABLE[0] = acc\nreturn acc": "assignment to an element",
    "return (acc, old)[0:1]": "a slice",
    "print(acc)\nreturn acc": "uses print",
    "return list((acc, old))[0]": "uses list",
    "return sorted((acc, old))[0]": "uses sorted",
    "return super().apply(acc)": "uses super",
    "return undefined(acc)": "'undefined', which is not defined",
    "return math.undefined(acc)": "math.undefined, which does not exist",
    "return helpers.undefined(acc)": "helpers.undefined, which does not exist",
    "return ping(acc)": "recursion",
    "return raises(acc)": r"Mine.apply -> raises \(.*helpers_for_tests.py, line 14\) contains raise",
    "return helpers.raises(acc)": r"Mine.apply -> raises \(.*helpers_for_tests.py, line 14\) contains raise",
    "return np.zeros(3, np.float32)[0]": "allocates memory",
    "return np.array((acc, old)).sum()": "allocates memory",
    "return (acc, old)[id]": "can raise an error",
    "return math.gamma(acc)": "calls numba_gamma",
    "return math.modf(acc)[0]": "has no 'modf'",
    # self
    "return acc * self.foo": r"self has no numeric parameter 'foo'; it has rate, count, flag, identity",
    "return acc * self.name": r"no numeric parameter 'name'.*\(name is 'x', a str\)",
    "return acc * self.method()": "self.method is a method",
    "return acc * self.heat": "ask for it as an argument",
    "return self": "returns a tuple of 4",
    # types
    "return acc.foo": "float32 has no 'foo'",
    "return acc[0]": r"getitem\(float32, 0\) is not possible",
    "return acc & old": r"and_\(float32, float32\) is not possible",
    "return abs(acc, old)": r"abs\(float32, float32\) is not possible",
    "return TEXTS": "TEXTS is a dict",
    "return wide(acc, old)": "too many",
    "return acc, old": r"returns a tuple of 2 \(float32, float32\); allowed is float32",
    "return": "returns nothing on some path",
    "return None if acc > 0 else acc": "returns nothing on some path",
    "if acc > 0:\n    return acc": "returns nothing on some path",
    "if acc > 0:\n    return acc\nreturn acc, old": "unify",
    "return acc ** self.count": "integer power that may be negative",
    "return acc ** -1": "integer power that may be negative",
    "return math.pow(acc, self.count)": "integer power that may be negative",
    # float64
    "return acc * 0.85": FLOAT64,
    "return acc * RATE": FLOAT64,
    "return acc + 1": FLOAT64,
    "return 1 - acc": FLOAT64,
    "return acc / 2": FLOAT64,
    "return self.count / 2": FLOAT64,
    "return id / 2 * acc": FLOAT64,
    "return acc * id": FLOAT64,
    "return math.sqrt(2) * acc": FLOAT64,
    "return math.pi * acc": FLOAT64,
    "return math.tanh(self.count)": FLOAT64,
    "return np.float64(acc)": FLOAT64,
    "return wide(acc)": FLOAT64,
    "return max(acc, 0.5)": FLOAT64,
    "return acc if acc > 0.1 else old": FLOAT64,
    "return acc if acc > self.count else old": FLOAT64,
    "return id if acc > 0 else acc": FLOAT64,
    "x = 0\nfor i in range(3):\n    x += acc\nreturn x": FLOAT64,
    "return float(acc * 0.5)": FLOAT64,
    "return helpers.hidden(acc)": r"Mine.apply -> hidden \(.*helpers_for_tests.py, line 10\) " + FLOAT64,
    "return deep(acc)": r"Mine.apply -> hidden \(.*helpers_for_tests.py, line 10\) " + FLOAT64,
}


@pytest.mark.parametrize("body", REFUSED)
def test_what_cannot_be_compiled_is_refused_by_function_line_and_reason(body):
    with pytest.raises(ProgramError) as caught:
        check(program(body)())
    message = str(caught.value)
    assert re.search(REFUSED[body], message), message
    where = re.match(r"Mine\.apply (?:-> \w+ )?\((.*), line (\d+)\)", message)
    assert where, message
    if where[1] == "mine.py":
        first = BODY - 2 if "yield" in body or "allocates" in message or "can raise" in message else BODY
        assert first <= int(where[2]) <= BODY + body.count("\n") or "calls" in message
    assert "Traceback" not in message
    assert "numba" not in message.replace("numba_gamma", "").lower() or "part of Python or Numba" in message
    assert "\n" not in message


ALLOWED = [
    "return acc * float(0.85)", "return float(1) - acc", "return acc * float(RATE)", "return float(math.pi) * acc",
    "return 0 if acc > 0 else acc", "return 0 if acc > 0 else self.identity", "return 0.25 if acc > 0 else acc",
    "return 0.5", "return 1", "return True", "return acc > 0", "return id", "return self.count", "return self.rate",
    "return acc if acc > 0.5 else old", "return acc if 0 < acc < 100 else old", "return acc if acc != np.inf else old",
    "if acc > 0:\n    return 0\nreturn acc", "if acc > 0:\n    return acc\nelif acc < 0:\n    return old\nreturn 0",
    "x = float(0)\nfor i in range(self.count):\n    x += acc\nreturn x",
    "x = acc\nwhile x < 100 and x > 0:\n    x = x * float(2)\nreturn x",
    "a, b = acc, old\nreturn a + b", "for x in (acc, old):\n    if x > 1:\n        return x\nreturn 0",
    "return helpers.scaled(acc)", "return doubled(acc)", "return helpers.doubled(acc)", "return jitted(acc)",
    "return helpers.jitted(acc) + jitted(old)", "return math.tanh(acc)", "return np.tanh(acc)", "return np.exp(acc)",
    "return math.log(acc) + math.sqrt(acc)", "return math.pow(acc, old)", "return acc ** float(0.5)", "return acc ** 2",
    "return pow(acc, 3)", "return acc % old", "return acc // old", "return divmod(acc, old)[0]", "return abs(-acc)",
    "return min(acc, old)", "return max(acc, old, float(3))", "return round(acc)", "return int(acc)", "return not acc",
    "return bool(acc)", "return acc and old", "return math.floor(acc)", "return float(math.floor(acc))",
    "return math.isnan(acc)", "return np.maximum(acc, old)", "return float(id // 2 % 3 + (id << 1) & 3 | 1 ^ 2)",
    "return float(id ** 2) + float(2 ** id)", "return float(id // 0)", "return float(self.count) * acc",
    "return acc if self.flag else old", "return acc if id in (0, 1) else old", "return float(PAIR.a) * acc",
    "return TABLE[0] * acc", "return acc * float(Colour.RED.value)", "return acc / (acc - acc)",
    "return float(np.inf)", "return np.float32(0.5) * np.float32(acc)", "return -acc",
    "match id:\n    case 0:\n        return acc\n    case _:\n        return old",
]  # fmt: skip


@pytest.mark.parametrize("body", ALLOWED)
def test_what_can_be_compiled_is_not_refused(body):
    check(program(body)())


def test_a_float64_program_may_compute_in_float64():
    for body, reason in REFUSED.items():
        if FLOAT64 in reason:
            check(program(body, "np.float64")())


MEANING = {
    "return acc * float(RATE) - float(id // 0)": [2.55, 0.85, 1.7],
    "return float(self.count) + float(2 ** id)": [4, 5, 7],
    "return 0 if acc > 2 else self.identity + acc": [0, 1, 2],
    "return acc / (acc - acc)": [math.inf] * 3,
    "return helpers.scaled(acc) + jitted(old)": [6 + 2, 2 + 3, 4 + 4],
    "return doubled(acc) if self.flag else 0": [6, 2, 4],
    "return acc if id in (0, 2) else float(PAIR.b) * TABLE[2]": [3, 8, 2],
}


@pytest.mark.parametrize("value", ["np.float32", "np.float64"])
def test_a_program_means_what_it_says(value):
    """One program for all the table's bodies: compiling is what takes the time."""
    branches = [f"if self.which == {k}:\n    {body}" for k, body in enumerate(MEANING)]
    kind = program("\n".join(branches) + "\nreturn acc", value)
    kind = dataclasses.make_dataclass("Mine", [("which", int, 0)], bases=(kind,))
    for which, wanted in enumerate(MEANING.values()):
        result = gp.run(kind(which=which), RING, iterations=1, threads=1, mode="pull")
        assert result.values.dtype == getattr(np, value[3:])
        np.testing.assert_allclose(result.values, wanted, rtol=1e-6)


def test_messages_quote_the_line_where_there_is_a_file(tmp_path, monkeypatch):
    (tmp_path / "quoted_program.py").write_text(
        "import garaph_py as gp, numpy as np\n"
        "class P(gp.VertexProgram):\n"
        "    value = np.float32\n"
        "    sum = gp.add\n"
        "    def init(self): return 0\n"
        "    def gather(self, src): return src\n"
        "    apply = lambda self, acc: acc * 0.85  # damped\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    from quoted_program import P

    place = re.escape(f"P.apply ({tmp_path / 'quoted_program.py'}, line 7)")
    with pytest.raises(ProgramError, match=place + r".*'apply = lambda self, acc: acc \* 0.85  # damped'"):
        check(P())


# Signatures, names, types


class Sum(gp.VertexProgram):
    """A correct program that tests derive wrong ones from."""

    value = np.int64
    sum = gp.add

    def init(self, id):
        return id

    def gather(self, src):
        return src

    def apply(self, acc):
        return acc


def derived(**contents):
    """`Sum` with other contents."""
    return type("Wrong", (Sum,), {"__module__": __name__, **contents})


def parameter(name, hint=float, default=0.5):
    return {"__annotations__": {name: hint}, name: default}


MALFORMED = {
    "no init": ({"init": None}, "Wrong has no init"),
    "no gather": ({"gather": None}, "Wrong has no gather"),
    "no value": ({"value": None}, "Wrong.value is not set"),
    "no sum": ({"sum": None}, "Wrong.sum must be a unified operation"),
    "sum is a function": ({"sum": lambda a, b: a + b}, "Wrong.sum must be a unified operation"),
    "no self": (
        {"gather": lambda: 0},
        r"Wrong.gather \(.*test_program.py, line \d+\): the first argument must be self",
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
    "total without aggregate": ({"apply": lambda self, total: total}, "no aggregate"),
    "reports without result": ({"reports": np.int64}, "no result"),
    "gathers": ({"gathers": "out"}, '"in" and "both"'),
    "async": ({"gather": eval("lambda self, src: (yield src)")}, "yield"),
    "parameter called value": (parameter("value"), "parameter called 'value'"),
    "parameter called sum": (parameter("sum"), "parameter called 'sum'"),
    "parameter called init": (parameter("init"), "parameter called 'init'"),
    "parameter called total": (parameter("total"), "parameter called 'total'"),
    "parameter called identity": (parameter("identity"), "parameter called 'identity'"),
    "private parameter": (parameter("_hidden"), "parameter called '_hidden'"),
    "per-vertex parameter called id": (parameter("id", gp.PerVertex), "PerVertex parameter cannot be called 'id'"),
    "per-vertex parameter called old": (parameter("old", gp.PerVertex), "PerVertex parameter cannot be called 'old'"),
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
        r"Wrong.apply \(.*test_program.py, line \d+\) returns float64; allowed is int64 \(a division",
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
    "wrong done": ({"done": lambda self, acc: acc.foo}, "Wrong.done .* int64 has no 'foo'"),
}


@pytest.mark.parametrize(("contents", "message"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_program_is_refused(contents, message):
    with pytest.raises(ProgramError, match=message):
        check(derived(**contents)())


def test_a_class_that_is_no_dataclass_is_refused_when_it_is_defined():
    with pytest.raises(ProgramError, match=r"Wrong: mutable default .*list"):
        derived(**parameter("weights", list, [1, 2]))
    with pytest.raises(ProgramError, match=r"Worse: non-default argument 'more' follows"):
        type("Worse", (gp.apps.PageRank,), {"__annotations__": {"more": float}})


def test_a_function_that_is_not_needed_until_the_end_is_checked_at_the_start():
    """Also when all kernels of the first iteration are on disk already."""
    gp.run(derived(result=lambda self, value: value + 1)(), RING, iterations=1)
    wrong = derived(result=lambda self, value: value / 2)()
    with pytest.raises(ProgramError, match=r"Wrong.result .* returns float64"):
        gp.run(wrong, RING, iterations=1)
