"""Calls of a program's constructor: each that it does not understand is refused, and the message says what to do."""

import copy
import inspect
import pickle

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import ParameterError
from tests.support.programs import Sum


class Own(Sum):
    limit = 7
    rate: float = 0.5
    source: int = 3
    flag: bool = False


REFUSED = {
    "too many": (lambda: gp.apps.PageRank(0.85, 1, 2, 3, 4, 5, 6, 7), "PageRank gets 8 .* takes at most 4; it has dam"),
    "too many for none": (lambda: gp.apps.ConnectedComponents(3), "takes at most 0; it has none"),
    "misspelt": (lambda: gp.apps.PageRank(dampng=0.9), "PageRank has no parameter 'dampng'; did you mean damping"),
    "unknown": (lambda: Own(zzz=1), "Own has no parameter 'zzz'; it has rate, source, flag"),
    "without a type": (
        lambda: Own(limit=1),
        "Own has no parameter 'limit'; limit has no type, so it is no parameter; write `limit: int = 7`",
    ),
    "missing": (lambda: gp.apps.BFS(), r"BFS needs its parameter 'source'; write BFS\(source="),
    "twice": (lambda: gp.apps.BFS(0, source=1), "BFS gets its parameter 'source' twice"),
    "text": (lambda: gp.apps.PageRank(damping="x"), r"PageRank\(damping='x'\): give a number$"),
    "None": (lambda: gp.apps.DeltaPageRank(None), r"DeltaPageRank\(damping=None\): give a number"),
    "a truth value": (lambda: gp.apps.PageRank(damping=False), "give a number"),
    "an array": (lambda: gp.apps.PageRank(damping=np.array([0.5, 0.6])), "give a number"),
    "names": (lambda: gp.apps.PageRank(dangling=np.array(["drop", "drop"])), "give a string"),
    "no truth value": (lambda: Own(flag="no"), r"Own\(flag='no'\): give True or False"),
    "a vertex for an int": (
        lambda: Own(source="a"),
        r"whole number; .* annotate it so: source: garaph_py\.Vert",
    ),
    "a vertex for a float": (lambda: Own("a"), "annotate it so: rate: garaph_py.VertexId"),
}


@pytest.mark.parametrize(("call", "message"), REFUSED.values(), ids=REFUSED)
def test_a_call_that_cannot_be_meant_is_refused(call, message):
    with pytest.raises(ParameterError, match=message):
        call()


def test_numbers_of_every_type_are_taken():
    made = Own(np.float32(0.5), np.int16(7), flag=np.True_)
    assert (made.rate, made.source, made.flag) == (0.5, 7, True)
    assert Own(1, 2.0, flag=1).source == 2
    assert gp.apps.PageRank(tolerance=np.int64(1)).tolerance == 1


def test_constructors_keep_their_signature_and_programs_can_be_copied():
    assert list(inspect.signature(Own).parameters) == ["rate", "source", "flag"]
    program = gp.apps.BFS("a")
    assert copy.copy(program) == pickle.loads(pickle.dumps(program)) == program


def test_an_authors_own_constructor_says_itself_what_it_takes():
    class Free(Own):
        def __init__(self, *values, **named):
            super().__init__(*values, rate=named.pop("speed"))

    assert Free(speed=2).rate == 2
    with pytest.raises(ParameterError, match=r"Free\(rate='x'\)"):
        Free(speed="x")
