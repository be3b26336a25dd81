"""The scheduler of a run: what it tells the policy, and what it learns from an iteration."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from garaph_py.dispatch.policy import POLICIES, Policy, device_time
from garaph_py.dispatch.push_cost import PushCost
from garaph_py.dispatch.rates import Rates, Speeds
from garaph_py.dispatch.reentry import DiskPushes
from garaph_py.dispatch.scheduler import Schedule, Scheduler
from garaph_py.errors import PolicyError
from garaph_py.executor.costs import EXPECTED
from garaph_py.executor.decision import Ahead, Decision, PageDecision
from garaph_py.executor.far_lists import FarLists
from garaph_py.executor.gpu.page_transfers import EITHER
from garaph_py.executor.modes import BOTH, COMPONENTS, CPU, GPU, NOTIFY_PULL, PULL, PULL_TILED, PUSH
from garaph_py.executor.protocol import Capabilities
from garaph_py.executor.results import Supersteps
from garaph_py.pages.layout import layout

AUTO, GARAPH = POLICIES["auto"], POLICIES["garaph"]
ALL = (PULL, NOTIFY_PULL, PUSH, PULL_TILED, COMPONENTS)
LOAD = (1000, 500, 4.0)


def scheduler(schedule=None, name=CPU, modes=ALL, relaxes=True, updates_all=False, pages=(), **can):
    program = SimpleNamespace(is_relaxation=relaxes, updates_all_vertices=updates_all)
    return Scheduler(schedule or Schedule(AUTO), 100, 1000, program, Capabilities(name, modes, **can), pages)


@pytest.mark.parametrize(("policy", "mode", "modes", "pushes"), [
    (AUTO, None, ALL, True), (AUTO, PUSH, ALL, True), (AUTO, PULL, ALL, False), (AUTO, None, (PULL,), False),
    (GARAPH, None, ALL, False), (GARAPH, PUSH, ALL, False),
])  # fmt: skip
def test_who_may_push(policy, mode, modes, pushes):
    assert Schedule(policy, mode=mode).pushes(modes) == pushes


def test_by_default_the_policy_decides():
    seen = scheduler().observe(1, 1)
    assert (seen.forced_mode, seen.tiles, seen.components, seen.k) == (None, False, False, 1.0)
    assert (seen.has_sums, seen.in_buckets, seen.reenters, seen.only_pushes) == (False, False, False, False)
    assert (seen.ratio, seen.moving, seen.missed) == (None, 0.0, 0.0)
    assert (Schedule(AUTO).buckets, Schedule(AUTO).ends_early) == (True, False)
    assert scheduler().disk_pushes.pass_bytes == 0


@pytest.mark.parametrize(
    ("asked", "modes", "expected"), [(True, ALL, True), (True, (PULL,), False), (False, ALL, False)]
)
def test_what_the_executor_cannot_do_is_left_out(asked, modes, expected):
    seen = scheduler(Schedule(AUTO, tiles=asked, components=asked), modes=modes).observe(1, 1)
    assert (seen.tiles, seen.components) == (expected, expected)


@pytest.mark.parametrize(("policy", "relaxes", "can", "pushes"), [
    (AUTO, True, True, True), (AUTO, False, True, False), (AUTO, True, False, False), (GARAPH, True, True, False),
])  # fmt: skip
def test_a_device_pushes_in_relaxations(policy, relaxes, can, pushes):
    seen = scheduler(Schedule(policy), relaxes=relaxes, devices_push=can, loads=(LOAD,)).observe(1, 1)
    assert seen.device_pushes == pushes


def test_each_device_has_rates():
    both = scheduler(loads=(LOAD, (1000, 0, 4.0)), threads=2, reads_disk=True)
    first, second = (AUTO.first_rates(2, load)._replace(from_disk=True) for load in (LOAD, (1000, 0, 4.0)))
    assert both.rates == (first, second)
    both.rates = first, second._replace(sparse=7.0)
    seen = both.observe(1, 1)
    assert seen.ratio == first.ratio + second.ratio
    assert seen.sparse == first.sparse == 2.0  # the first one's costs
    assert both.decide(seen).sharing == both.rates
    assert scheduler().decide(scheduler().observe(1, 1)).sharing == ()


def test_pages_go_to_a_gpu_while_it_works():
    can = {"transfers": (EITHER,)}
    hybrid = scheduler(loads=(LOAD,), **can)
    assert hybrid.observe(1, 1).transfers == scheduler(name=GPU, **can).observe(1, 1).transfers == (EITHER.ways,)
    hybrid.learn(hybrid.observe(100, 1000), Decision(PULL, "", BOTH), (), 0, 1)  # the device has failed
    assert hybrid.observe(1, 1).transfers == ()


def test_only_a_decision_on_all_pages_alike_goes_ahead():
    class Told(Policy):
        def decide(self, seen):
            return Decision(PULL, "", CPU, pages=pages, ahead=Ahead(0, True, repeats=True))

    one = scheduler(Schedule(Told()), pages=layout(np.array([0, 10]), 10))
    for pages in (None, {0: PageDecision(PULL, CPU)}):
        assert (one.decide(one.observe(1, 1)).ahead is None) == (pages is not None)


def test_rates_begin_with_measured_speeds_if_there_are_any():
    speeds = Speeds(cpu=3e8, gpu=1e11, link=4e10)
    (rates,) = scheduler(Schedule(GARAPH, speeds=speeds), loads=(LOAD,), threads=2).rates
    assert rates == GARAPH.first_rates(2, LOAD).on(speeds, 4.0)
    assert scheduler(Schedule(GARAPH, speeds=speeds)).rates == ()


@pytest.mark.parametrize(("updates_all", "mode", "f"), [(False, None, 0.25), (True, None, 1.0), (False, PULL, 1.0)])
def test_rates_know_how_many_vertices_an_iteration_updates(updates_all, mode, f):
    hybrid = scheduler(Schedule(GARAPH, mode=mode), loads=(LOAD,), updates_all=updates_all)
    (sharing,) = hybrid.decide(hybrid.observe(10, 250)).sharing
    assert sharing.f == f


@pytest.mark.parametrize(("missing", "copied"), [(400, 1200), (1, 3), (-400, -400)])
def test_values_that_the_host_lacks_are_copied_to_both_its_arrays_and_back(missing, copied):
    hybrid = scheduler(loads=(LOAD, (1000, 0, 4.0)))
    hybrid.missed = 0.5
    seen = hybrid.observe(1, 1, missing)
    assert (seen.moving, seen.missed) == (hybrid.rates[0].moving(copied), 0.5)
    assert (hybrid.observe(1, 1).moving, hybrid.observe(1, 1).missed) == (0.0, 0.0)


def learn(hybrid, device, alpha, mode=PULL, active_edges=500):
    """From a decision of a user's policy, whose names are equal to ours, but other objects."""
    decision = Decision("".join(mode), "", "".join(device), alpha)
    hybrid.learn(hybrid.observe(50, active_edges), decision, hybrid.rates, 0, 10)
    return hybrid.missed


def test_what_the_faster_processor_would_have_saved_adds_up():
    hybrid = scheduler(loads=(LOAD,))
    assert learn(hybrid, GPU, 0.25) == 0.75
    assert learn(hybrid, GPU, 0.5) == 1.25
    assert learn(hybrid, GPU, None) == 1.25
    assert learn(hybrid, CPU, 0.5) == 0.0
    assert learn(hybrid, CPU, 1.5) == 0.5
    assert learn(hybrid, BOTH, 1.5) == 0.0
    assert learn(hybrid, CPU, 1.0) == 0.0
    hybrid.missed = 1.0
    assert learn(hybrid, GPU, 1.0) == 0.0  # neither is slower, and the GPU may have its turn
    rates = (Rates(1, 1, 1.0, 1.0, 1.0),)
    hybrid.learn(hybrid.observe(50, 500), Decision(PULL, ""), rates, 0, 10)
    assert hybrid.rates == rates


def test_what_a_push_would_have_saved_is_a_part_of_the_time_of_a_pull():
    """alpha is then that of the push, which takes the GPU less time than a pull of all pages."""
    hybrid = scheduler(loads=(LOAD,), devices_push=True)
    assert learn(hybrid, CPU, 3.0, active_edges=1) == pytest.approx(2 * device_time(hybrid.observe(50, 1)))
    assert device_time(hybrid.observe(50, 1)) < 0.5
    assert device_time(hybrid.observe(100, 1000)) == 1.0


@pytest.mark.parametrize(("name", "mode", "bound"), [
    (GPU, NOTIFY_PULL, 0.01), (GPU, PULL, 0.001), (GPU, COMPONENTS, 0.001), (CPU, NOTIFY_PULL, 0.001),
])  # fmt: skip
def test_a_gpu_that_notified_in_vain_is_told(name, mode, bound):
    alone = scheduler(name=name)
    learn(alone, name, None, mode)
    assert alone.notify_bound == alone.observe(1, 1).notify_bound == bound


@pytest.mark.parametrize(("name", "device"), [(GPU, CPU), (CPU, GPU)])
def test_a_pull_of_a_device_ends_reading_lists_from_disk(name, device):
    """A run on a GPU alone, and one on both: the price then is that of lists in the GPU's memory."""
    found = scheduler(name=name, reads_disk=True)
    assert found.observe(1, 1).device_push_cost == EXPECTED.push_from_disk
    record = SimpleNamespace(seconds=0.5)
    found.done(found.observe(1, 1000), Decision(PUSH, "", device), record)
    assert found.observe(1, 1).device_push_cost == EXPECTED.push_from_disk
    found.done(found.observe(1, 1000), Decision(PULL, "", device), record)
    assert found.observe(1, 1).device_push_cost == EXPECTED.push_edge


@pytest.mark.parametrize("name", [CPU, GPU])
def test_the_times_of_a_gpu_are_learned(name):
    alone = scheduler(name=name)
    assert alone.observe(1, 1).device_push_cost == EXPECTED.push_edge
    record = SimpleNamespace(seconds=0.5)
    alone.done(alone.observe(1, 1000), Decision(PULL, ""), record)
    assert alone.push_cost == PushCost(EXPECTED.push_edge, 0.5 if name == GPU else 0.0)
    alone.done(alone.observe(1, 1 << 20), Decision(PUSH, ""), record)
    assert alone.observe(1, 1).device_push_cost == (1000 / (1 << 20) if name == GPU else EXPECTED.push_edge)


def test_a_slow_push_along_lists_in_host_memory_is_learned():
    alone, many = scheduler(name=GPU, far_lists=FarLists(1.0, 4.0, 8, 16)), 1 << 22
    seen = alone.observe(many, many)
    assert (seen.compacts, seen.least_compacted) == (False, math.inf)
    alone.done(seen, Decision(PULL, ""), SimpleNamespace(seconds=0.1))
    assert not alone.observe(many, many).compacts
    alone.done(seen, Decision(PUSH, ""), SimpleNamespace(seconds=0.1))
    assert alone.observe(many, many).compacts
    assert not alone.observe(1, 1).compacts
    assert 1 < alone.observe(1, 1).least_compacted < many
    alone.done(seen, Decision(PUSH, "", compacts=True), SimpleNamespace(seconds=0.2))
    assert not alone.observe(many, many).compacts


def test_the_slowest_push_of_several_supersteps_is_learned():
    """The second of four, before which as many vertices are active as after the first; the longest superstep pulled."""
    lists, many, way = FarLists(1.0, 4.0, 8, 16), 1 << 22, PageDecision(PUSH, GPU)
    after, pulled = np.array([many, 7, 9, 0]), np.array([False, False, True, False])
    steps = Supersteps(after, 2 * after, np.array([0.01, 0.1, 0.5, 0.0]), 2 * after, pulled, way, way)
    alone, told = (scheduler(name=GPU, far_lists=lists) for _ in range(2))
    alone.pushed_several(alone.observe(1, 1), steps)
    told.pushed(False, many, 2 * many, 0.1)
    assert alone.far_pushes == told.far_pushes != scheduler(name=GPU, far_lists=lists).far_pushes


def test_supersteps_that_all_pulled_say_nothing_of_pushes():
    alone, many, way = scheduler(name=GPU, far_lists=FarLists(1.0, 4.0, 8, 16)), 1 << 22, PageDecision(PUSH, GPU)
    before, counts = alone.far_pushes, np.array([many, 0])
    steps = Supersteps(counts, counts, np.array([0.1, 0.0]), counts, counts >= 0, way, way)
    alone.pushed_several(alone.observe(many, many), steps)
    assert alone.far_pushes == before


@pytest.mark.parametrize("mode", ALL)
def test_what_pushes_read_from_disk_is_counted(mode):
    alone = scheduler(Schedule(AUTO, pass_bytes=1000))
    alone.read(Decision("".join(mode), ""), 10, 2)
    assert alone.disk_pushes.by_lists == ((10, 2) if mode == PUSH else (0, 0))


@pytest.mark.parametrize(("ends_early", "reentered", "only"), [
    (True, True, True), (True, False, False), (False, True, False), (False, False, False),
])  # fmt: skip
def test_pulls_that_end_early_are_wrong_after_reentry(ends_early, reentered, only):
    alone = scheduler(Schedule(AUTO, ends_early=ends_early, pass_bytes=1000))
    alone.disk_pushes = DiskPushes(1000, has_reentered=reentered)
    assert alone.observe(1, 1).only_pushes == only


class Mine(Policy):
    """Does what it is told, and may keep what it observes."""

    def __init__(self, decision=None):
        self.decision = decision

    def decide(self, seen):
        return self.decision or {}["decide"]


class Observant(Mine):
    def observe(self, own, seen, decision, done):
        return {}["observe"] if done is None else done


class Late(Mine):
    def start(self):
        return {}["start"]


AHEAD = Decision(PUSH, "", ahead=Ahead(5, False))


def test_a_policy_that_observes_sees_each_iteration():
    """So the executor may not go on by itself."""
    own, watched = scheduler(Schedule(Mine(AHEAD))), scheduler(Schedule(Observant(AHEAD)))
    assert own.decide(own.observe(1, 1)).ahead == AHEAD.ahead
    assert watched.decide(watched.observe(1, 1)).ahead is None
    watched.done(watched.observe(1, 1), AHEAD, "kept")
    assert watched.observe(1, 1).own == "kept"


def test_a_policy_must_decide():
    class Undecided(Policy):
        pass

    with pytest.raises(
        PolicyError, match=r"policy 'Undecided' has no decide\(self, seen\), which returns a gp\.Decision"
    ):
        scheduler(Schedule(Undecided()))


def test_a_policy_s_mistake_names_the_iteration():
    with pytest.raises(PolicyError, match="policy 'Late', before the first iteration: KeyError: 'start'; correct the"):
        scheduler(Schedule(Late()))
    faulty = scheduler(Schedule(Mine()))
    assert faulty.number == 0
    faulty.number = 7
    with pytest.raises(PolicyError, match="policy 'Mine', iteration 7: KeyError: 'decide'; correct the policy"):
        faulty.decide(faulty.observe(1, 1))
    wrong = scheduler(Schedule(Observant(Decision("sideways", ""))))
    with pytest.raises(PolicyError, match="policy 'Observant', iteration 0: mode='sideways' is not possible here"):
        wrong.decide(wrong.observe(1, 1))
    with pytest.raises(PolicyError, match="policy 'Observant', iteration 0: KeyError: 'observe'; correct the policy"):
        wrong.done(wrong.observe(1, 1), AHEAD, None)
