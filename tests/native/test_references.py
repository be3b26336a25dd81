"""Keys of compiled functions: all that a function depends on is in its key, and nothing else."""

import collections
import enum
import math
import types

import numpy as np
import pytest

from garaph_py.native.references import References, fingerprint, rebuild
from tests.support.compiled import define, module, python


def with_closure(value):
    return define(
        "def outer(value):\n    def f(x):\n        return x + value\n    return f\nf = outer(start)", start=value
    )


def named(*fields):
    return collections.namedtuple("Pair", fields)(1, 2)


def colour(red):
    return enum.IntEnum("Colour", {"RED": red, "BLUE": 7})


USES_MODULE = "def f(x): return user.K * x"


USES_PACKAGE = "def f(x): return user.inner.K * x"


USES_HELPER = "def helper(x): return x * {0}\ndef f(x): return helper(x)"


DIFFERENT = {
    "text": (define("def f(x): return x + 1"), define("def f(x): return x + 2")),
    "operator": (define("def f(x): return x + 1"), define("def f(x): return x - 1")),
    "global": (define("def f(x): return x * K", K=2), define("def f(x): return x * K", K=3)),
    "int or bool": (define("def f(x): return x * K", K=1), define("def f(x): return x * K", K=True)),
    "int or float": (define("def f(x): return x * K", K=1), define("def f(x): return x * K", K=1.0)),
    "float32 or float": (define("def f(x): return x * K", K=1.0), define("def f(x): return x * K", K=np.float32(1))),
    "sign of zero": (define("def f(x): return x * K", K=0.0), define("def f(x): return x * K", K=-0.0)),
    "sign of zero in the text": (define("def f(x): return x * 0.0"), define("def f(x): return x * -0.0")),
    "last digit": (define("def f(x): return K", K=0.1), define("def f(x): return K", K=math.nextafter(0.1, 1))),
    "closure": (with_closure(1), with_closure(2)),
    "default": (define("def f(x, y=1): return x + y"), define("def f(x, y=2): return x + y")),
    "keyword default": (define("def f(x, *, y=1): return x + y"), define("def f(x, *, y=2): return x + y")),
    "helper": (define(USES_HELPER.format(2)), define(USES_HELPER.format(3))),
    "helper's global": (
        define("def helper(x): return x * K\ndef f(x): return helper(x)", K=2),
        define("def helper(x): return x * K\ndef f(x): return helper(x)", K=3),
    ),
    "module's constant": (define(USES_MODULE, user=module("user", K=1)), define(USES_MODULE, user=module("user", K=2))),
    "inner module's constant": (
        define(USES_PACKAGE, user=module("user", inner=module("user.inner", K=1))),
        define(USES_PACKAGE, user=module("user", inner=module("user.inner", K=2))),
    ),
    "module's helper": (
        define("def f(x): return user.g(x)", user=module("user", g=define("def f(x): return x"))),
        define("def f(x): return user.g(x)", user=module("user", g=define("def f(x): return -x"))),
    ),
    "array": (define("def f(i): return A[i]", A=np.arange(3)), define("def f(i): return A[i]", A=np.arange(3) + 1)),
    "array's type": (
        define("def f(i): return A[i]", A=np.zeros(2, np.int64)),
        define("def f(i): return A[i]", A=np.zeros(2)),
    ),
    "array's order": (
        define("def f(i): return A[i]", A=np.zeros((2, 2))),
        define("def f(i): return A[i]", A=np.zeros((2, 2), order="F")),
    ),
    "tuple": (define("def f(i): return T[i]", T=(1, 2)), define("def f(i): return T[i]", T=(2, 1))),
    "fields of a named tuple": (
        define("def f(x): return T.a", T=named("a", "b")),
        define("def f(x): return T.a", T=named("b", "a")),
    ),
    "member of an enum": (define("def f(x): return C.RED", C=colour(1)), define("def f(x): return C.RED", C=colour(2))),
}  # fmt: skip


@pytest.mark.parametrize("pair", DIFFERENT.values(), ids=DIFFERENT)
def test_whatever_a_function_freezes_is_in_its_key(pair):
    one, other = map(fingerprint, pair)
    assert one != other
    assert one == fingerprint(pair[0])


Point = collections.namedtuple("Point", "values")
IN_PLACE = {
    "list": ([1, 2], lambda value: value.append(3)),
    "dict": ({"a": 1}, lambda value: value.update(a=2)),
    "set": ({1, 2}, lambda value: value.add(3)),
    "array": (np.arange(3), lambda value: value.fill(7)),
    "array in a tuple": ((1, np.arange(3)), lambda value: value[1].fill(7)),
    "list in a named tuple": (Point([1]), lambda value: value.values.append(2)),
    "object": (types.SimpleNamespace(a=1), lambda value: setattr(value, "a", 2)),
    "function in a list": ([define("def f(x): return x")], lambda value: setattr(value[0], "__defaults__", (1,))),
}


@pytest.mark.parametrize(("value", "change"), IN_PLACE.values(), ids=IN_PLACE)
def test_a_change_in_place_is_found(value, change):
    function = define("def f(x): return K", K=value)
    found = References({"f": function})
    assert found.unchanged()
    assert found.fingerprint == References({"f": function}).fingerprint
    change(value)
    assert not found.unchanged()
    assert found.fingerprint != References({"f": function}).fingerprint


def test_what_is_put_back_is_the_same():
    function = define("def f(x): return x * K", K=2)
    found = References({"f": function})
    for value, same in ((3, False), (2, True), (2.0, False)):
        function.__globals__["K"] = value
        assert found.unchanged() == same
    del function.__globals__["K"]
    assert not found.unchanged()


def test_a_key_does_not_depend_on_what_the_function_does_not_use():
    text = "def f(x): return x + K"
    assert fingerprint(define(text, K=1, other=2)) == fingerprint(define(text, K=1, other=3))
    assert fingerprint(define(text, K=1)) == fingerprint(define("# a comment\n\n" + text, K=1))


def test_functions_that_call_each_other_have_a_key_and_a_copy():
    one = define("def g(x): return f(x)\ndef f(x): return g(x) + 1")
    other = define("def g(x): return f(x)\ndef f(x): return g(x) + 2")
    assert fingerprint(one) != fingerprint(other)
    copy = rebuild(one)
    assert copy is not one
    assert copy.__globals__["g"].__globals__["f"] is copy


def test_modules_that_name_each_other_have_a_key_and_a_copy():
    inner = module("user.inner", K=3)
    outer = module("user", inner=inner)
    inner.user = outer
    function = define("def f(x): return user.inner.user.inner.K + x", user=outer)
    assert fingerprint(function)
    assert rebuild(function)(1) == 4


def test_a_numba_function_counts_as_the_python_function_it_was_made_from():
    import numba

    text = "def helper(x): return x * 2\nhelper = wrap(helper)\ndef f(x): return helper(x)"
    assert fingerprint(define(text, wrap=numba.njit)) == fingerprint(define(text, wrap=lambda g: g))


PRINTS_KEYS = """
import collections, enum, numpy as np
from garaph_py.native.references import fingerprint
class Plain: pass
class Colour(enum.IntEnum):
    RED = 1
A = {"names", "in", "a", "set"}
B = frozenset(["red", "green", "blue"])
C = Plain()
D = np.arange(5, dtype=[("x", "f4"), ("y", "i8")][0][1])
E = collections.namedtuple("E", "a b")(1, -0.0)
G = {"one": 1, "two": (2.5, None)}
def helper(x): return x in A or x in B or x in {"p", "q", "r"}
def f(x): return helper(x), A, B, C, D, E, G, Plain, Colour, abs, np.float32(1)
print(fingerprint(f, np.dtype([("a", "f4"), ("b", "i8")], align=True)))
from garaph_py.native import cache
from garaph_py.executor.cpu.sets import COUNT_EDGES
print(COUNT_EDGES.key)
"""


@pytest.mark.slow
def test_keys_are_the_same_in_every_process():
    assert len({python(PRINTS_KEYS, PYTHONHASHSEED=seed) for seed in ("0", "1", "77")}) == 1
