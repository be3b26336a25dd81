"""Measured rates, and what they determine: alpha, and the division of pages between CPU and GPU."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from garaph_py.dispatch.observation import Observation
from garaph_py.dispatch.policy import POLICIES, GaraphPolicy, alpha_of
from garaph_py.dispatch.rates import LEAST_SECONDS, Rates, Speeds, blend
from garaph_py.executor.modes import NOTIFY_PULL, PULL, PUSH
from garaph_py.pages.layout import Page
from garaph_py.pages.queue import PageQueue


def observation(**what):
    return Observation(**({"vertices": 100, "edges": 1000, "active": 10, "active_edges": 100} | what))


@pytest.mark.parametrize(("what", "alpha"), [
    ({"ratio": 4.0}, 0.8), ({"ratio": 10.0}, 2.0), ({"ratio": 10.0, "active_edges": 900}, 10.0),
    ({"ratio": 4.0, "vertex": 3.0}, 1.04),
    ({"ratio": 4.0, "k": 10.0}, 4.0), ({"ratio": 4.0, "k": 10.0, "active_edges": 20}, 1.6),
    ({"ratio": 4.0, "start": 0.5}, 2.8), ({"ratio": 10.0, "sparse": 0.5}, 0.5),
    ({"ratio": 3.0, "updates_all_vertices": True}, 3.0), ({"ratio": 4.0, "forced_mode": "pull"}, 4.0),
    ({"ratio": 4.0, "engine": "auto"}, 4.0), ({"ratio": 4.0, "engine": "auto", "active_edges": 10}, 0.08),
    ({"ratio": 4.0, "engine": "auto", "active_edges": 60, "is_relaxation": True}, 0.48),
])  # fmt: skip
def test_alpha_is_equation_3(what, alpha):
    policy = POLICIES[what.pop("engine", "garaph")]
    seen = observation(**what)
    decision = policy.decide(seen)
    assert decision.alpha == pytest.approx(alpha)
    assert decision.device == ("both" if alpha >= 1 else "cpu")
    alone = policy.decide(replace(seen, cpu_helps=False))
    assert (alone.device, alone.mode) == (("gpu", "pull") if alpha >= 1 else ("cpu", decision.mode))


def test_alpha_of_a_graph_without_edges():
    seen = observation(ratio=4.0, edges=0, active=1, active_edges=0, vertex=3.0, sparse=0.1)
    assert alpha_of(seen, NOTIFY_PULL, 4.0) == pytest.approx(4 * 0.1 * (1 + 3))


def test_one_processor_has_no_alpha():
    policy = POLICIES["garaph"]
    assert policy.decide(observation()).alpha is None
    assert policy.decide(observation()).device == "cpu"
    assert policy.decide(observation(device="gpu")).device == "gpu"


def test_rates_follow_what_was_measured():
    rates = Rates.expected(4, 10**9, 10**8, 4.0, False)
    for _ in range(90):
        rates = rates.measured(10**9, 1.0, gpu_edges=10**10, gpu_seconds=1.0, copied_edges=3 * 10**7)
        rates = rates.alone(10**3, 1e-5).alone(5 * 10**8, 1.00001)
    assert rates.ratio == pytest.approx(10)
    assert rates.seen["start"] == pytest.approx(1e-5)
    assert rates.sparse == pytest.approx(2)
    share = rates.share(1030000000)
    assert share == pytest.approx(1e9, rel=1e-6)  # 1000 of 1030 million edges a second
    assert rates.share(int(1.02e9 * LEAST_SECONDS)) == 0
    assert rates.measured(gpu_edges=5, gpu_seconds=1.0, copied_edges=10**9).gpu == rates.gpu
    assert rates.alone(10**9, 1.0).alone(10**3, 9.0).seen["start"] == rates.seen["start"]
    assert rates.measured() == rates
    first = Rates.expected(4, 10**9, 10**8, 4.0, False).alone(1 << 14, 1.0)
    dear = first.alone(1 << 14, 1e-4 + 6 * 2**14 / first.cpu)
    assert (first.sparse, dear.sparse) == (2.0, pytest.approx(4.0))
    assert dear.alone(1 << 14, 1.0).sparse == pytest.approx(10.0)  # somebody was held up
    assert dear.alone((1 << 14) - 1, 1.0).sparse == dear.sparse
    assert Rates.expected(4, 0, 0, 4.0, False).ratio > 0


@pytest.mark.parametrize(("edges", "streamed", "reactive", "seconds"), [
    (10**9, 0, False, 2e-4 + 1e-2), (10**9, 5 * 10**8, False, 2e-4 + 1e-2 + 4e-2), (10**9, 0, True, 1e-2),
])  # fmt: skip
def test_what_is_expected_before_a_measurement(edges, streamed, reactive, seconds):
    """A thread pulls 150 million edges a second, a GPU 100 billion, and a link copies 50 GB."""
    rates = Rates.expected(3, edges, streamed, 4.0, reactive)
    assert rates == Rates(edges, streamed, 4.5e8, pytest.approx(edges / seconds), 1.25e10, reactive=reactive)
    assert (rates.sparse, rates.alone_seconds, rates.notified, rates.from_disk) == (2.0, 1e-4, 0.0, False)
    assert (rates.alone_before, rates.cpu_known, rates.copied_known) == (False, False, False)


def test_a_graph_without_edges_has_rates():
    assert Rates.expected(1, 0, 0, 4.0, False).gpu == pytest.approx(1 / 2e-4)
    assert Rates.expected(1, 0, 0, 4.0, True).gpu == pytest.approx(1e9)
    rates = Rates(0, 0, 1e6, 5e10, 1.0)
    assert rates.seen["start"] == pytest.approx(1e-4 * 1e6)
    assert rates.moving(3) == pytest.approx(3.0)


def test_what_moving_values_takes():
    assert Rates(1000, 0, 1.0, 1e4, 1.0).moving(5 * 10**9) == pytest.approx(0.1 / 0.1)
    assert Rates(1000, 0, 1.0, 1e4, 1.0).moving(-(10**9)) == pytest.approx(-0.2)


def test_the_costs_that_an_observation_has():
    rates = Rates(10**6, 0, 1e9, 1e10, 1e10, sparse=5.0, alone_seconds=2e-4)
    assert rates.seen == {
        "sparse": 5.0,
        "vertex": 3.0,
        "start": pytest.approx(0.2),
        "from_disk": False,
        "cpu_helps": False,
    }


def test_an_iteration_of_the_cpu_alone():
    rates = Rates(10**9, 0, 1e8, 1e10, 1e10, alone_before=True)
    pulled = rates.without_gpu("".join(PULL), 10, 0, 10**8, 0.5)  # a user's policy has names of its own
    assert pulled == rates._replace(cpu=2e8, cpu_known=True)
    pushed = rates.without_gpu(PUSH, 10**6, 10**6, 10**6, 0.0801)
    assert pushed == rates._replace(sparse=pytest.approx(2.0))  # 0.08 s at the rate of 8 million pulled edges
    dearer = rates.without_gpu(PUSH, 10**6, 10**6, 10**6, 0.1601)
    assert dearer.sparse == pytest.approx((2 + 4) / 2)
    notified = rates.without_gpu("".join(NOTIFY_PULL), 10**6, 10**6, 10**7, 0.0801)
    assert notified == pushed._replace(notified=10**7 / 0.0801)


def test_a_measurement_needs_edges_and_time():
    rates = Rates(1000, 500, 1.0, 10.0, 10.0)
    assert rates.measured(cpu_edges=100) == rates.measured(cpu_seconds=1.0) == rates
    assert rates.measured(gpu_edges=100) == rates.measured(gpu_seconds=1.0) == rates
    assert rates.measured(gpu_edges=600, gpu_seconds=1.0) == rates._replace(gpu=305.0)
    assert rates.measured(gpu_edges=600, gpu_seconds=1.0, copied_edges=500).copied_known
    assert not rates.measured(gpu_edges=600, gpu_seconds=1.0, copied_edges=501).copied_known
    assert blend(3.0, 0, 1.0) == blend(3.0, 1.0, 0.0) == 3.0
    assert blend(3.0, 10.0, 2.0) == 4.0
    assert blend(3.0, 10.0, 2.0, 1.0) == 5.0


def test_an_iteration_of_no_work_sets_the_start():
    rates = Rates(1000, 500, 1e9, 1e10, 1e10, alone_before=True, alone_seconds=2e-4)
    assert rates.alone(16383, 1e-4).alone_seconds == 1e-4
    assert rates.alone(16384, 1e-4) == rates._replace(sparse=1.0)  # it took less than the start
    cheap = rates._replace(sparse=0.5).alone(16384, 1.0)
    assert cheap.sparse == (0.5 + 4.0) / 2  # at most four times, and four at least


def test_bounds_belong_to_what_pays():
    rates = Rates(100, 50, 12.0, 10.0, 88.0)
    assert rates.cpu_helps  # 0.12 of the edges
    assert not rates._replace(from_disk=True).cpu_helps
    five = Rates(10**9, 1000, 10.0**5, 1.0, 10.0**5)
    assert five.cpu_helps  # half of the edges, and exactly five milliseconds
    assert not five._replace(streamed=999).cpu_helps
    known = Rates(100, 50, 1000.0, 10.0, 1000.0, cpu_known=True, copied_known=True)
    assert known._replace(cpu=2000.0, copied=2000.0).share(2) == 1  # half a millisecond
    assert known._replace(cpu=2001.0, copied=2001.0).share(2) == 0
    assert known.worth_dividing(16384)
    assert not known.worth_dividing(16383)
    assert not known._replace(from_disk=True).worth_dividing(16384)
    assert known._replace(cpu=1e6).gathered(100, 1.0).notified == 100.0
    assert known._replace(cpu=1e6).gathered(99, 1.0).notified == 0.0


def test_the_cpu_takes_pages_only_where_that_helps():
    rates = Rates(100, 50, 2.0, 10.0, 10.0)  # five seconds of copies
    assert rates.cpu_helps
    assert not rates._replace(cpu=1.0).cpu_helps  # a tenth is less than it takes from the copies
    assert not rates._replace(streamed=0).cpu_helps
    assert not rates._replace(cpu=2e3, copied=1e4).cpu_helps  # eight tenths of a millisecond


def test_the_first_measurement_counts_as_it_is():
    """With too high a first guess, the CPU would get more than it can do while the GPU does the rest."""
    rates = Rates.expected(16, 10**9, 10**9, 4.0, False)
    assert not rates.cpu_known
    assert rates.share(10**9) == pytest.approx(2e-3 * rates.cpu, abs=1)
    known = rates.measured(cpu_edges=10**6, cpu_seconds=1e-3)
    assert known.cpu == 10**9
    assert known.share(10**9) == pytest.approx(2e-3 * known.cpu, abs=1)
    assert known.measured(gpu_edges=1, gpu_seconds=1.0, copied_edges=10**9 + 1) == known  # what stays came, too
    copied = known.measured(gpu_edges=10**8, gpu_seconds=1e-2, copied_edges=10**8)
    assert copied.share(10**9) > 5 * 10**7
    assert known.measured(cpu_edges=3 * 10**6, cpu_seconds=1e-3).cpu == 2 * 10**9
    assert not rates.measured(gpu_edges=10**6, gpu_seconds=1.0).cpu_known


def cut_never(page, edges):
    """`PageQueue.split` of pages that cannot be cut."""
    return None, page


def pages_of(*edges):
    ends = np.cumsum(edges).tolist()
    return [Page(k, k, k + 1, end - own, end) for k, (own, end) in enumerate(zip(edges, ends, strict=True))]


def test_pages_are_divided_by_what_they_cost():
    million = 10**6
    rates = Rates(400 * million, 300 * million, 1e9, 2e10, 1e10)
    pages = pages_of(100 * million, 100 * million, 100 * million, 100 * million)
    stays = lambda page: page.number == 0  # noqa: E731

    def given(*notified, rates=rates, values=0):
        return [page.number for page in rates.divide(pages, [n * million for n in notified], stays, values)]

    assert given(0.5, 0.5, 0.5, 0.5) == []  # the GPU would have to begin
    assert given(20, 1, 1, 1) == [0]  # it stays
    assert given(20, 1, 60, 1) == [0, 2]  # dense
    assert given(90, 90, 90, 90) == [0, 1, 2, 3]
    assert given(2, 100, 0, 0) == [1]  # 100 ms for 10 come before 2 ms for 1, which then save nothing
    assert given(20, 1, 1, 1, values=10**9) == []
    fast = rates._replace(streamed=0, gpu=1e14)
    assert given(2.3, 0, 0, 0, rates=fast) == [0]  # the hand-over takes 2.2 ms,
    assert given(2.3, 0, 0, 0, rates=fast, values=10**6) == [0]  # values 0.02,
    assert given(2.3, 0, 0, 0, rates=fast, values=10**7) == []  # and more of them 0.2
    assert given(2.2, 0, 0, 0, rates=fast) == []
    assert given(20, 1, 60, 1, rates=rates.gathered(9 * million, 1e-3)) == [0]  # a fast CPU
    assert rates.divide([], [], stays, 0) == []
    empty = pages_of(100 * million, 0)
    assert rates.divide(empty, [20 * million, 0], stays, 0) == empty[:1]  # the other one saves nothing
    with pytest.raises(ValueError, match="shorter"):
        rates.divide(pages, [1], stays, 0)
    assert rates.gathered(20, 3e-4) == rates  # so few say how long a job takes to begin
    assert rates.worth_dividing(million)
    assert not rates.worth_dividing(1000)
    assert not rates._replace(reactive=True).worth_dividing(million)


@given(st.lists(st.tuples(st.integers(0, 10**8), st.integers(0, 10**8)), max_size=30), st.integers(0, 30))
def test_no_division_ends_later_than_the_cpu_alone(loads, resident):
    rates = Rates(10**9, 10**8, 1e9, 5e9, 5e9)
    pages = pages_of(*(max(pair) for pair in loads)) if loads else []
    notified = [min(pair) for pair in loads]
    theirs = set(rates.divide(pages, notified, lambda page: page.number < resident, 0))
    alone = sum(n for page, n in zip(pages, notified, strict=True) if page not in theirs) / rates.cpu
    assert alone <= sum(notified) / rates.cpu
    assert all(notified[page.number] for page in theirs)


def test_reactive_an_idle_processor_takes_the_next_page():
    """Section 5.1: whole pages, however fast the other one is, and costs are the paper's."""
    rates = POLICIES["garaph"].first_rates(2, (1000, 500, 4.0))
    pages = pages_of(500, 300, 200)
    queue = PageQueue.of(pages, {}, {}, cut_never)
    assert [rates.steal(queue) for _ in range(4)] == [*pages[::-1], None]
    assert (rates.reactive, rates.seen, rates.moving(10**9)) == (True, {}, 0.0)
    assert rates.gpu == pytest.approx(1000 / (1000 / 1e11 + 500 / 1.25e10))


def test_otherwise_the_cpu_takes_its_share():
    rates = POLICIES["auto"].first_rates(2, (10**9, 10**8, 4.0))
    assert not rates.reactive
    known = rates._replace(cpu_known=True, copied_known=True, cpu=1000.0, copied=9000.0)
    assert known.steal(SimpleNamespace(edges=1000, steal=lambda most: most)) == 100
    assert known.steal(SimpleNamespace(edges=10, steal=lambda most: most)) == 1
    assert known.steal(SimpleNamespace(edges=9, steal=lambda most: "a page")) is None  # it is not worth the hand-over


@given(st.integers(0, 10**12), st.floats(1e6, 1e11), st.floats(1e6, 1e11))
def test_a_share_ends_with_the_rest(waiting, cpu, copied):
    rates = Rates(waiting, waiting, cpu, 1.0, copied)
    share = rates.share(waiting)
    assert 0 <= share <= waiting
    assert share / cpu <= (waiting - share) / copied * (1 + 1e-9) + 1e-9


def test_rates_begin_with_the_speeds_of_the_hardware():
    speeds = Speeds(cpu=3e8, gpu=1e11, link=4e10)
    rates = POLICIES["garaph"].first_rates(2, (1000, 500, 8.0)).on(speeds, 8.0)
    assert (rates.cpu, rates.copied) == (3e8, 5e9)
    assert rates.ratio == pytest.approx(1000 / (1000 / 1e11 + 500 / 5e9) / 3e8)
    assert (rates.reactive, rates.by_f, rates.edges, rates.streamed) == (True, True, 1000, 500)
    for edges in (0, 1):  # in a nanosecond at least
        assert Rates.expected(1, edges, 0, 4.0, True).on(speeds, 4.0).gpu == pytest.approx(1e9)


def test_t_pull_over_t_gpu_is_t_cpu_over_f_t_gpu():
    """Section 5.1: the CPU took 2 s for a page of 1000 edges, the GPU 0.5 s, and a quarter was to be updated."""
    rates = POLICIES["garaph"].first_rates(2, (4000, 4000, 4.0)).at(0.25).paged(1000, 400, 2.0)
    rates = rates._replace(gpu=1000 / 0.5)
    assert rates.ratio == pytest.approx(2 / (0.25 * 0.5))
    for mode in (PULL, NOTIFY_PULL):  # both processors must have begun
        assert rates.without_gpu(mode, 10, 1 << 20, 10**9, 7.0) is rates


@pytest.mark.parametrize("policy", [GaraphPolicy(page_times=False), GaraphPolicy(dual=False)])
def test_without_it_the_cpu_s_rate_is_that_of_the_edges_that_it_gathered(policy):
    rates = policy.first_rates(2, (4000, 4000, 4.0)).at(0.25)
    assert rates.f == 1.0
    assert rates.paged(1000, 400, 2.0).cpu == 200
    assert rates.without_gpu(PULL, 10, 10, 4000, 2.0).cpu == 2000
