"""Engines that push along lists: their switches, their names, and what they decide."""

from dataclasses import dataclass, field

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.dispatch.engines import are_same, class_of, engine_of, is_in_file, made, switches_of, text_of
from garaph_py.dispatch.observation import Observation
from garaph_py.dispatch.policy import POLICIES, GaraphPolicy
from garaph_py.errors import ParameterError
from garaph_py.executor.gpu.settings import (
    ACCESSED_BY,
    BY_PRIORITY,
    MANAGED,
    PARTITIONS,
    PREFERRED,
    PREFETCH,
    QUEUE,
    READ_MOSTLY,
    SHADOWS,
    SHARED,
    VERTICES,
    ListPush,
)
from garaph_py.executor.modes import COMPACTED, COPIED, PULL, PUSH, RESIDENT, ZERO_COPY
from garaph_py.executor.partitions import PartitionCounts


@pytest.mark.parametrize(
    "engine",
    [
        gp.Emogi(),
        gp.Emogi(align=False),
        gp.Emogi(merge=False),
        gp.Emogi(element_bytes=8, listed=True),
        gp.EtaGraph(degree_limit=7, smp=False),
        gp.Grus(placement="pf+ab", tau=0.25, byte_map=False),
        gp.HyTGraph(transfers="zero-copy", partition_bytes=4096, combine=False, overlap=False),
        POLICIES["auto"],
        POLICIES["garaph"],
        GaraphPolicy(hardware=False, dual=False, every_edge=False),
        GaraphPolicy(all_vertices=False, two_threads=True),
        GaraphPolicy(work_items=True, keep=True, offsets=True),
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
        ("auto:align=no", "has no switches"),
        ("garaph:align=no", "has the switches hardware, page_times, dual, every_edge.*not 'align'"),
        ("garaph:dual=perhaps", "give yes or no"),
        ("garaph:offsets=16", "give yes or no"),
        ("emogi:align=perhaps", "give yes or no"),
        ("emogi:element_bytes=5", "give a whole number, 4 or 8"),
        ("emogi:element_bytes=x", "give a number"),
        ("emogi:shared=yes", "needs listed=True"),
        ("emogi:listed=yes,merge=no", "needs merge=True"),
        ("emogi:listed=yes,shared=yes,unified=yes", "unified=False"),
        ("emogi:align=no,align=yes", "given twice"),
        ("etagraph:degree_limit=0", "from 1 to 48"),
        ("etagraph:degree_limit=49", "from 1 to 48"),
        ("emogi:shared=yes,listed=yes,element_bytes=8", "element_bytes=4"),
        ("etagraph:degree_limit=-1", "from 1 to 48"),
        ("grus:tau=2", "at most 1"),
        ("grus:tau=0", "above 0"),
        ("grus:tau=-1", "above 0"),
        ("hytgraph:transfers=mixed", "choose from hybrid, copied, compacted, zero-copy, unified"),
        ("hytgraph:partition_bytes=1023", "1024 or more"),
        ("grus:placement=rm+ab", "choose from grus, um"),
    ],
)
def test_wrong_switches(text, problem):
    with pytest.raises(ParameterError, match=problem):
        gp.Options(engine=text)


class Plain(gp.Policy):
    def __init__(self, **attributes):
        vars(self).update(attributes)


class Other(Plain):
    """Has the same attributes, and decides otherwise."""


def test_policies_are_the_same_if_their_class_and_attributes_are():
    table = Plain(table=np.arange(3))  # arrays cannot be compared as a whole
    assert are_same(table, table)
    assert not are_same(table, Plain(table=np.arange(3)))
    assert are_same(Plain(k=1000), Plain(k=1000))
    assert not are_same(Plain(k=1000), Plain(k=1001))
    assert not are_same(Plain(k=1000), Other(k=1000))


def test_switches_are_parameters_with_a_default():
    @dataclass
    class Mixed(gp.Policy):
        needed: int
        most: float = 0.5
        learned: int = field(init=False, default=0)

    assert [switch.name for switch in switches_of(Mixed(3))] == ["most"]
    assert text_of(Mixed(3)) == "Mixed"
    assert switches_of(Plain(most=0.5)) == ()


def test_a_class_is_made_without_arguments():
    class Needy(gp.Policy):
        def __init__(self, limit):
            pass

        def decide(self, seen):
            return gp.Decision("pull")

    with pytest.raises(ParameterError, match=r"engine='x\.py:Needy': .*limit.*; give all its parameters defaults"):
        made(Needy, "x.py:Needy")


def test_what_is_no_policy_is_refused_before_a_run():
    class Pulls(gp.Policy):
        def decide(self, seen):
            return gp.Decision("pull")

    with pytest.raises(ParameterError, match=r"engine=Pulls is a class; give an instance: engine=Pulls\(\)"):
        gp.Options(engine=Pulls)
    with pytest.raises(ParameterError, match=r"engine='mine\.py': name the policy's class, too: mine\.py:ClassName"):
        gp.Options(engine="mine.py")
    assert gp.Options(engine=Pulls()).policy.decide(None).why == ""
    with pytest.raises(ParameterError) as error:
        gp.Options(engine="nothing")
    assert "Pulls" not in str(error.value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: gp.Emogi(align=1),
        lambda: GaraphPolicy(dual=1),
        lambda: GaraphPolicy(offsets="yes"),
        lambda: gp.EtaGraph(smp="no"),
        lambda: gp.Grus(byte_map=None),
        lambda: gp.HyTGraph(combine=0),
    ],
)
def test_switches_are_true_or_false(make):
    with pytest.raises(ParameterError, match="give True or False"):
        make()


@pytest.mark.parametrize("make", [
    lambda: gp.EtaGraph(degree_limit=True), lambda: gp.EtaGraph(degree_limit=4.5),
    lambda: gp.HyTGraph(partition_bytes=True), lambda: gp.HyTGraph(partition_bytes=4096.5),
    lambda: gp.Emogi(element_bytes=8.0), lambda: gp.Grus(tau="half"), lambda: gp.Grus(tau=True),
    lambda: gp.HyTGraph(alpha=float("inf")), lambda: gp.HyTGraph(beta=float("nan")),
])  # fmt: skip
def test_numbers_are_numbers(make):
    with pytest.raises(ParameterError, match=r"give a .*number"):
        make()


def test_the_ends_of_what_is_allowed():
    assert [gp.EtaGraph(degree_limit=limit).lists.degree_limit for limit in (1, 48)] == [1, 48]
    assert gp.HyTGraph(partition_bytes=1024).lists.partitions.nbytes == 1024
    assert gp.Grus(tau=1).lists.taus == (1, 1)
    assert gp.Emogi(element_bytes=8).lists.element_bytes == 8
    assert not gp.Emogi(merge=False).align


@pytest.mark.parametrize(("words", "value"), [("yes true on 1 Yes", True), ("no false off 0 NO", False)])
def test_words_for_yes_and_no(words, value):
    assert {engine_of(f"emogi:split={word}").split for word in words.split()} == {value}


def test_the_text_has_what_differs():
    assert text_of(gp.Emogi()) == "emogi"
    assert text_of(gp.Grus(placement="".join("grus"))) == "grus"  # the default, but another object
    assert text_of(gp.Grus(tau=0.25, split=False)) == "grus:tau=0.25,split=False"
    assert engine_of("grus: tau = 0.25 , split = no") == gp.Grus(tau=0.25, split=False)
    assert engine_of("hytgraph:transfers=copied").transfers == COPIED


def test_switches_are_as_in_the_papers_by_default():
    """Of those beyond the papers, only splits of long lists are on."""
    assert not POLICIES["auto"].all_vertices
    assert not POLICIES["auto"].every_edge
    assert GaraphPolicy() == GaraphPolicy(True, True, True, True, True, False, False, False, False)
    assert gp.Emogi() == gp.Emogi(True, True, 4, False, True, False, False)
    assert gp.EtaGraph() == gp.EtaGraph(10, True, True, True)
    assert gp.Grus() == gp.Grus("grus", None, True, True)
    assert gp.HyTGraph() == gp.HyTGraph("hybrid", 33_554_432, True, True, True, True, True, True, True)


def test_how_each_engine_reads_lists():
    assert gp.Emogi().lists == ListPush(where=ZERO_COPY, division=VERTICES, splits=True, aligns=True)
    assert gp.Emogi(merge=False).lists == ListPush(where=ZERO_COPY, division=VERTICES, thread_each=True)
    assert gp.Emogi(unified=True).lists.hints == (READ_MOSTLY,)
    assert gp.EtaGraph().lists == ListPush(
        where=MANAGED, division=SHADOWS, degree_limit=10, prefetches=True, hints=(PREFETCH,)
    )
    assert gp.EtaGraph(um=False).lists.hints == ()
    assert gp.Grus().lists == ListPush(
        where=MANAGED, division=QUEUE, splits=True, byte_map=True, hints=(BY_PRIORITY,), taus=(0.5, 0.8)
    )
    assert gp.Grus(placement="pf+ab").lists.hints == (PREFETCH, ACCESSED_BY)
    assert gp.Grus(placement="um").lists.hints == ()


@pytest.mark.parametrize(("placement", "hints"), [
    ("grus", (BY_PRIORITY,)), ("um", ()), ("pf", (PREFETCH,)), ("ab", (ACCESSED_BY,)), ("pl", (PREFERRED,)),
    ("rm", (READ_MOSTLY,)), ("pf+ab", (PREFETCH, ACCESSED_BY)), ("pf+pl", (PREFETCH, PREFERRED)),
    ("pf+rm", (PREFETCH, READ_MOSTLY)),
])  # fmt: skip
def test_the_columns_of_grus_table_1(placement, hints):
    assert gp.Grus(placement).lists.hints == hints


@pytest.mark.parametrize(("engine", "where", "ways", "combined"), [
    (gp.HyTGraph(), ZERO_COPY, (COPIED, COMPACTED, ZERO_COPY), 4),
    (gp.HyTGraph("unified", combine=False), MANAGED, (MANAGED,), 1), (gp.HyTGraph("copied"), ZERO_COPY, (COPIED,), 4),
])  # fmt: skip
def test_how_hytgraph_transfers_partitions(engine, where, ways, combined):
    lists = engine.lists
    assert (lists.where, lists.division, lists.aligns, lists.splits, lists.byte_map) == (
        where, PARTITIONS, True, True, True
    )  # fmt: skip
    found = lists.partitions
    assert (found.ways, found.nbytes, found.combined) == (ways, 32 << 20, combined)
    assert (found.recomputes, found.overlaps, found.looks_at_all, found.in_turn) == (True, True, True, False)
    assert found.plan == engine.plan


def test_a_plan_combines_copies_and_orders_them():
    """Nine partitions with all edges active, of which a copy is the cheapest way; the last changes most."""
    counts = PartitionCounts(
        *(np.full(9, one) for one in (1 << 20, 1 << 15, 1 << 20, 1 << 16)), 4, np.append(np.ones(8, np.float32), 9)
    )
    plans = {
        (combine, priority): [task.partitions for task in gp.HyTGraph(combine=combine, priority=priority).plan(counts)]
        for combine in (True, False) for priority in (True, False)
    }  # fmt: skip
    single = [(k,) for k in range(8)]
    assert plans == {
        (True, True): [(8,), (0, 1, 2, 3), *single[4:]], (True, False): [(0, 1, 2, 3), (4, 5, 6, 7), (8,)],
        (False, True): [(8,), *single], (False, False): [*single, (8,)],
    }  # fmt: skip
    assert {task.transfer for task in gp.HyTGraph("compacted").plan(counts)} == {COMPACTED}


def test_the_first_push_of_deltas_is_of_all_that_vertices_contribute():
    seen = {"vertices": 9, "edges": 9, "active": 9, "active_edges": 9, "device": "gpu"}
    whys = [gp.Emogi().decide(Observation(**seen, deltas=deltas, has_sums=sums)).why
            for deltas, sums in ((False, False), (True, False), (True, True))]  # fmt: skip
    along = "active vertices push along their lists"
    assert whys == [along, "every vertex pushes all that it contributes", along]


def test_what_list_engines_share():
    for engine in gp.Emogi(), gp.EtaGraph(), gp.Grus(), gp.HyTGraph():
        assert POLICIES[engine.name] == engine
        assert (engine.modes, engine.chooses_asynchrony, engine.one_partition_per_thread) == ((PUSH,), True, False)
        assert not engine.zero_copy
        assert engine.first_rates(2, (100, 0, 4.0)) == POLICIES["auto"].first_rates(2, (100, 0, 4.0))


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
    seen = {"is_relaxation": True, "vertices": 100, "edges": 10**6, "active": 100, "active_edges": 10**6}
    for engine in gp.Emogi(), gp.EtaGraph(), gp.Grus():
        assert engine.decide(Observation(**seen, device="gpu")).mode == PUSH
        assert engine.decide(Observation(**seen, device="cpu")).mode == PULL


@pytest.mark.parametrize(("text", "found"), [
    ("Mine", ("Mine", False)), ("Mine#2", ("Mine", False)), ("Mine:most=0.5", ("Mine", False)),
    ("some/mine.py:Mine", ("Mine", True)), ("mine.py:Mine:most=0.5", ("Mine", True)),
])  # fmt: skip
def test_the_class_in_the_text_of_a_policy(text, found):
    assert (class_of(text), is_in_file(text)) == found
