"""When pushes over edges on disk use reentry: once they have read as much, and while it follows more edges."""

from types import SimpleNamespace

from garaph_py.dispatch.policy import POLICIES
from garaph_py.dispatch.reentry import LEAST_PUSHES, DiskPushes
from garaph_py.dispatch.scheduler import Schedule, Scheduler
from garaph_py.executor.decision import Decision
from garaph_py.executor.modes import CPU, PULL, PUSH
from garaph_py.executor.protocol import Capabilities


def after(pushes, *reads):
    """After pushes that read and followed so much, each in the way that was decided."""
    for read, followed in reads:
        pushes = pushes.after(read, followed, pushes.reenters)
    return pushes


def many(read, followed):
    """As many pushes as a trial needs, which read and followed so much together."""
    return [(0, 0)] * (LEAST_PUSHES - 1) + [(read, followed)]


def test_pages_are_tried_once_many_pushes_have_read_half_as_much():
    pushes = DiskPushes(pass_bytes=1000)
    assert not after(pushes, *many(499, 50)).reenters
    assert after(pushes, *many(500, 50)).reenters
    assert not after(pushes, *[(1000, 100)] * (LEAST_PUSHES - 1)).reenters


def test_pages_are_tried_after_sixteen_pushes():
    assert not after(DiskPushes(pass_bytes=10), *[(100, 1)] * 15).reenters
    assert after(DiskPushes(pass_bytes=10), *[(100, 1)] * 16).reenters
    assert after(DiskPushes(pass_bytes=10), *[(0, 0)] * 19, (100, 1)).reenters  # or later
    assert after(DiskPushes(pass_bytes=2), *many(1, 1)).reenters


def test_a_run_that_may_not_reenter_never_does():
    pushes = after(DiskPushes(), *many(1 << 40, 1))
    assert pushes == DiskPushes()
    assert not pushes.reenters
    assert not DiskPushes(pushes=LEAST_PUSHES, by_lists=(1, 1)).reenters


def test_pages_are_kept_while_they_follow_more_edges_for_each_byte():
    lists = after(DiskPushes(pass_bytes=1000), *many(1000, 100))
    assert after(lists, (500, 60), (500, 60)).reenters
    assert not after(lists, (500, 40)).reenters
    assert after(lists, (500, 500), (500, 20)).reenters  # one bad push after a good one
    assert not after(lists, (500, 500), *[(500, 10)] * 5).reenters


def test_what_was_given_up_is_tried_again_after_twice_as_much():
    given_up = after(DiskPushes(pass_bytes=1000), *many(1000, 100), (1000, 1))
    assert not after(given_up, *many(999, 100)).reenters
    assert after(given_up, *many(1000, 100)).reenters


def test_what_pages_have_read_counts_half_after_the_next():
    lists = after(DiskPushes(pass_bytes=1000), *many(1000, 100))
    pages = after(lists, (801, 401), (160, 80))
    assert (pages.by_pages, pages.has_reentered, lists.has_reentered) == ((560, 280), True, False)
    assert after(lists, (500, 50)).reenters  # as many edges for each byte as lists
    given_up = after(lists, (500, 49))
    assert given_up == DiskPushes(1000, 1.0, has_reentered=True)


def test_a_push_that_was_asked_for_says_nothing_about_pages():
    pushes = after(DiskPushes(pass_bytes=1000), *many(1000, 100)).after(1000, 100, False)
    assert (pushes.by_lists, pushes.by_pages, pushes.has_reentered) == ((2000, 200), (0, 0), False)


def test_reentry_if_all_pages_stay_in_memory():
    assert after(DiskPushes(pass_bytes=1000), *many(1000, 100), (0, 10), (0, 0)).reenters


RELAXATION = SimpleNamespace(is_relaxation=True, updates_all_vertices=False)


def scheduled(ends_early):
    schedule = Schedule(POLICIES["auto"], ends_early=ends_early, pass_bytes=1000)
    return Scheduler(schedule, 100, 10**6, RELAXATION, Capabilities(CPU, (PULL, PUSH), threads=2))


def test_a_program_with_done_does_not_pull_after_reentry():
    for ends_early in (True, False):
        scheduler = scheduled(ends_early)
        assert scheduler.decide(scheduler.observe(1, 900_000)).mode == PULL
        for read, followed in many(1000, 10):
            scheduler.read(Decision(PUSH, ""), read, followed)
        decision = scheduler.decide(scheduler.observe(1, 1))
        assert (decision.mode, decision.reenters) == (PUSH, True)
        assert "reentry" in decision.why
        scheduler.read(decision, 1000, 1)  # too few: it is given up
        assert not scheduler.decide(scheduler.observe(1, 1)).reenters
        assert scheduler.decide(scheduler.observe(1, 900_000)).mode == (PUSH if ends_early else PULL)


def test_only_pushes_count():
    scheduler = scheduled(False)
    scheduler.read(Decision(PULL, ""), 1 << 20, 10)
    assert not scheduler.decide(scheduler.observe(1, 1)).reenters
