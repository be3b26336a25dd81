"""Engines that push along lists: their switches, their names, and what they decide."""

import pytest

import garaph_py as gp
from garaph_py.dispatch.engines import engine_of, text_of
from garaph_py.dispatch.observation import Observation
from garaph_py.dispatch.policy import POLICIES
from garaph_py.errors import ParameterError
from garaph_py.executor.gpu.settings import BY_PRIORITY, MANAGED, PREFETCH, QUEUE, SHADOWS, SHARED, VERTICES
from garaph_py.executor.modes import PULL, PUSH, RESIDENT, ZERO_COPY


@pytest.mark.parametrize(
    "engine",
    [
        gp.Emogi(),
        gp.Emogi(align=False),
        gp.Emogi(merge=False),
        gp.Emogi(element_bytes=8, listed=True),
        gp.EtaGraph(degree_limit=7, smp=False),
        gp.Grus(placement="pf+ab", tau=0.25, byte_map=False),
        POLICIES["auto"],
        POLICIES["garaph"],
    ],
    ids=text_of,
)
def test_an_engine_is_named_by_its_text(engine):
    assert engine_of(text_of(engine)) == engine


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("emogy", "choose from auto, garaph, emogi, etagraph, grus"),
        ("emogi:aline=no", "has the switches merge, align.*not 'aline'"),
        ("garaph:align=no", "has no switches"),
        ("emogi:align=perhaps", "give yes or no"),
        ("emogi:element_bytes=5", "choose 4 or 8"),
        ("emogi:element_bytes=x", "give a number"),
        ("emogi:shared=yes", "needs listed=True"),
        ("emogi:listed=yes,merge=no", "needs merge=True"),
        ("emogi:listed=yes,shared=yes,unified=yes", "no unified=True"),
        ("emogi:align=no,align=yes", "there twice"),
        ("etagraph:degree_limit=0", "from 1 to 48"),
        ("etagraph:degree_limit=49", "from 1 to 48"),
        ("grus:tau=2", "at most 1"),
        ("grus:placement=rm+ab", "choose from grus, um"),
    ],
)
def test_wrong_switches(text, problem):
    with pytest.raises(ParameterError, match=problem):
        gp.Options(engine=text)


@pytest.mark.parametrize(
    "make", [lambda: gp.Emogi(align=1), lambda: gp.EtaGraph(smp="no"), lambda: gp.Grus(byte_map=None)]
)
def test_switches_are_true_or_false(make):
    with pytest.raises(ParameterError, match="give True or False"):
        make()


def test_engines_differ_in_where_lists_are_and_how_they_are_divided():
    ways = {
        text: (engine_of(text).lists.where, engine_of(text).lists.division)
        for text in ("emogi", "emogi:unified=yes", "emogi:listed=yes", "emogi:listed=yes,shared=yes", "etagraph",
                     "etagraph:um=no", "grus")
    }  # fmt: skip
    assert ways == {
        "emogi": (ZERO_COPY, VERTICES), "emogi:unified=yes": (MANAGED, VERTICES),
        "emogi:listed=yes": (ZERO_COPY, QUEUE),
        "emogi:listed=yes,shared=yes": (ZERO_COPY, SHARED), "etagraph": (MANAGED, SHADOWS),
        "etagraph:um=no": (RESIDENT, SHADOWS), "grus": (MANAGED, QUEUE),
    }  # fmt: skip
    assert gp.EtaGraph().lists.hints == (PREFETCH,)
    assert gp.EtaGraph(prefetch=False).lists.hints == ()
    assert gp.Grus().lists.hints == (BY_PRIORITY,)
    assert gp.Grus().lists.taus == (0.5, 0.8)
    assert gp.Grus(tau=0.3).lists.taus == (0.3, 0.3)


def test_every_superstep_pushes_until_the_gpu_fails():
    seen = {"is_relaxation": True, "vertices": 100, "edges": 1000, "active": 100, "active_edges": 1000}
    for engine in gp.Emogi(), gp.EtaGraph(), gp.Grus():
        assert engine.decide(Observation(**seen, device="gpu")).mode == PUSH
        assert engine.decide(Observation(**seen, device="cpu")).mode == PULL
