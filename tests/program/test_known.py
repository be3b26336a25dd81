"""What is known about a program's class is kept, until anything that it follows from has changed."""

from __future__ import annotations

import gc
import pickle
import sys
import weakref

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import ProgramError
from garaph_py.program import bind, known
from tests.support.compiled import module
from tests.support.programs import RING

SOURCE = """
from __future__ import annotations
import garaph_py as gp
K, TABLE, NAMES = 2, np.arange(3.0), [1, 2]
Number = float

def helper(x):
    return x * K

def outer(k):
    def own(x):
        return x + k
    return own

closed = outer(1)

class Base(gp.VertexProgram):
    rate: Number = 1.0
    value = np.float64
    sum = gp.add

    def init(self):
        return 1.0

class Mine(Base):
    def gather(self, src):
        return helper(src) + closed(src) + user.K + TABLE[0] + user.inner.J

    def apply(self, acc):
        return abs(acc)
"""


@pytest.fixture
def user(monkeypatch):
    """The namespace of a notebook."""
    notebook = module("notebook_for_tests", np=np, user=module("user", K=3, inner=module("user.inner", J=4)))
    monkeypatch.setitem(sys.modules, notebook.__name__, notebook)
    exec(SOURCE, vars(notebook))
    return vars(notebook)


def other(text):
    space = {}
    exec(text, space)
    return space["f"]


def set_in(container, name, value):
    return lambda user: setattr(user[container], name, value)


EDITS = {
    "a global": lambda user: user.update(K=5),
    "a global's type": lambda user: user.update(K=2.0),
    "a helper": lambda user: user.update(helper=other("def f(x): return x")),
    "a helper's code": lambda user: setattr(user["helper"], "__code__", other("def f(x): return x").__code__),
    "a helper's default": lambda user: setattr(user["helper"], "__defaults__", (1,)),
    "a closure variable": lambda user: setattr(user["closed"].__closure__[0], "cell_contents", 7),
    "a module's constant": set_in("user", "K", 9),
    "an inner module's constant": lambda user: setattr(user["user"].inner, "J", 9),
    "an inner module": lambda user: setattr(user["user"], "inner", module("user.inner", J=1)),
    "an array in place": lambda user: user["TABLE"].__setitem__(0, 8.0),
    "an array": lambda user: user.update(TABLE=np.arange(4.0)),
    "a function": lambda user: setattr(user["Mine"], "apply", other("def f(self, acc): return acc + 1.0")),
    "a function's code": lambda user: setattr(
        user["Mine"].apply, "__code__", other("def f(self, acc): return acc + 2.0").__code__
    ),
    "an inherited function": lambda user: setattr(user["Base"], "init", other("def f(self): return 2.0")),
    "a new function": lambda user: setattr(user["Mine"], "result", other("def f(self, value): return value")),
    "a function that is gone": lambda user: delattr(user["Mine"], "apply"),
    "the sum": lambda user: setattr(user["Base"], "sum", gp.max),
    "the sum, the author's own": lambda user: setattr(
        user["Base"], "sum", gp.Monoid(other("def f(a, b): return a + b"), 0)
    ),
    "a name that hides a function of Python's": lambda user: user.update(abs=other("def f(x): return -x")),
    "the meaning of an annotation": lambda user: user.update(Number=int),
}


def key_of(user):
    return bind(user["Mine"](), RING).key


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_edit_gives_the_key_that_a_new_process_would_give(user, edit):
    before = key_of(user)
    assert key_of(user) == before
    edit(user)
    after = key_of(user)
    assert after != before
    delattr(user["Mine"], known.KEPT)
    assert key_of(user) == after


def test_an_attribute_that_has_another_name():
    class Own:
        note = object()

    before = known.members(Own)
    note = Own.note
    del Own.note
    Own.text = note
    assert not known.has_members(Own, before)


def test_an_attribute_with_no_value_that_is_gone():
    class Own:
        note = None

    before = known.members(Own)
    assert known.has_members(Own, before)
    del Own.note
    Own.other = 1
    assert not known.has_members(Own, before)


BROKEN = {
    "a global that is gone": (lambda user: user.pop("helper"), "uses 'helper', which is not defined"),
    "a module's constant that is gone": (lambda user: delattr(user["user"], "K"), "user.K, which does not exist"),
    "a helper that raises": (
        lambda user: user.update(helper=other("def f(x):\n    raise ValueError")),
        r"Mine.gather -> f .* contains raise or assert",
    ),
    "a helper that calls itself": (
        lambda user: exec("def helper(x): return helper(x)", user), "leads back here; use a loop"
    ),
    "another argument": (
        lambda user: setattr(user["Mine"], "gather", other("def f(self, acc): return acc")), "asks for 'acc'"
    ),
    "a misspelt function": (
        lambda user: setattr(user["Mine"], "aply", other("def f(self, acc): return acc")), "did you mean apply"
    ),
    "no sum": (lambda user: setattr(user["Mine"], "sum", None), "has no sum"),
}  # fmt: skip


@pytest.mark.parametrize(("edit", "message"), BROKEN.values(), ids=BROKEN)
def test_an_edit_is_checked(user, edit, message):
    key_of(user)
    edit(user)
    for _ in range(2):
        with pytest.raises(ProgramError, match=message):
            key_of(user)


def test_only_what_changed_is_checked_again(user, monkeypatch):
    checked, check = [], known.check_functions
    monkeypatch.setattr(known, "check_functions", lambda kind, *more: checked.append(kind) or check(kind, *more))
    for unrelated in range(3):
        user["unrelated"] = unrelated
        key_of(user)
    assert checked == [user["Mine"]]

    class Derived(user["Mine"]):
        pass

    assert bind(Derived(), RING).key == key_of(user)
    assert checked == [user["Mine"], Derived]


def test_what_only_python_runs_is_not_kept(user):
    user["helper"] = other("def f(x):\n    raise ValueError")
    assert bind(user["Mine"](), RING, compiled=False).functions["gather"] is user["Mine"].gather
    with pytest.raises(ProgramError, match="contains raise"):
        key_of(user)


def test_a_sum_of_one_program_alone(user):
    before = key_of(user)
    program = user["Mine"]()
    program.sum = gp.max
    assert bind(program, RING).key != before
    assert key_of(user) == before


def test_a_class_is_freed_and_copied_without_it(user):
    key_of(user)
    mine = user.pop("Mine")
    assert pickle.loads(pickle.dumps(vars(mine)[known.KEPT])) is None
    freed = weakref.ref(mine)
    del mine
    gc.collect()
    assert freed() is None
