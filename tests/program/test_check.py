"""Vertex programs: what is refused and with which message, and that allowed programs compute what Python would."""

from __future__ import annotations

import dataclasses
import math
import re

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import ProgramError
from garaph_py.native import cache
from garaph_py.program import check as rules
from tests.support.programs import FLOAT64, PROGRAM, RING, WEIGHTED, Sum, check, program

from ..support.runs import run_with

BODY = 1 + PROGRAM.format(value="", body="BODY").split("\n").index("        BODY")
REFUSED = {
    # what no compiled function contains
    "return {1: acc}[1]": "a dict",
    "return {'a': acc, 'b': old}['a']": "a dict",
    "return [acc, old][0]": "a list",
    "return max([x for x in (acc, old)])": "a list|a function or comprehension",
    "return max(x for x in (acc, old))": "a function or comprehension",
    "return len({acc, old})": "a set",
    "return acc in {1, 2}": "a set",
    "return 'text'": r"a string \(a vertex is a parameter, as in `source: gp\.VertexId`\)",
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
    "print(acc)\nreturn acc": r"uses print, .* run with debug=True \(--debug\)$",
    "print('acc', acc)\nreturn acc": r"uses print, .* run with debug=True \(--debug\)$",
    "print(f'{acc}')\nreturn acc": "uses print",
    "breakpoint()\nreturn acc": "uses breakpoint",
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
    "return acc * self.rat": r"self has no numeric parameter 'rat'; did you mean self\.rate\?",
    "return acc * self.bare": "bare has no type, so it is no parameter; write `bare: float = 0.5`",
    "return acc * self.name": r"'name'.*\(name is 'x', a str\); for a vertex, write name: gp\.VertexId",
    "return acc * self._method()": "self._method is a method",
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


@pytest.mark.slow
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


@pytest.mark.full
@pytest.mark.parametrize("body", ALLOWED)
def test_what_can_be_compiled_is_not_refused(body):
    check(program(body)())


@pytest.mark.slow
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


@pytest.mark.full
@pytest.mark.parametrize("value", ["np.float32", "np.float64"])
def test_compiled_programs_compute_what_python_does(value):
    """One program has all bodies of the table, because compiling takes most of the time."""
    branches = [f"if self.which == {k}:\n    {body}" for k, body in enumerate(MEANING)]
    kind = program("\n".join(branches) + "\nreturn acc", value)
    kind = dataclasses.make_dataclass("Mine", [("which", int, 0)], bases=(kind,))
    for which, wanted in enumerate(MEANING.values()):
        result = run_with(kind(which=which), RING, iterations=1, threads=1, mode="pull", check="off")
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


LIBRARY = {
    "BFS": {"source": 0}, "SSSP": {"source": 0}, "SSWP": {"source": 0}, "PenalizedHittingProbability": {"query": 0},
}  # fmt: skip


@pytest.mark.parametrize("name", gp.apps.__all__)
def test_the_librarys_programs_are_not_refused_in_single_precision(name):
    kind = getattr(gp.apps, name)
    single = {"dtype": np.float32} if any(field.name == "dtype" for field in dataclasses.fields(kind)) else {}
    check(kind(**LIBRARY.get(name, {}), **single), WEIGHTED.symmetrized() if kind.gathers == "both" else WEIGHTED)


def test_a_program_that_has_passed_is_looked_up_once(monkeypatch):
    check(Sum())
    reads, load = [], cache.load
    monkeypatch.setattr(cache, "load", lambda key: reads.append(key) or load(key))
    monkeypatch.setattr(rules, "_passed", set())
    for _ in range(3):
        check(Sum())
    assert len(reads) == 1
