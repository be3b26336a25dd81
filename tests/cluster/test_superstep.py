"""The state machines of several parts, over a network that loses, delays, repeats and reorders messages."""

import random
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from garaph_py.cluster.superstep import NEVER, Arrived, Copied, Copy, Finish, Ready, Report, Send, Step, Supersteps
from garaph_py.errors import ClusterError

LAST = 6
"""The superstep after which the run ends."""


def ends(reports, superstep):
    return superstep == LAST


def report(part, superstep, copied=NEVER, seconds=1.0, cost=0.01):
    return Report((part, superstep), seconds, cost, copied, 0)


@dataclass
class Network:
    """Parts whose computing and whose messages take as long as `draw` says."""

    parts: int
    draw: object
    epoch: int = 0
    start: int = 0
    log: list = field(default_factory=list)
    pending: list = field(default_factory=list)

    def __post_init__(self):
        self.machines = [Supersteps(part, self.parts, self.epoch, self.start, ends, True) for part in range(self.parts)]
        self.pending = [("ready", part, self.start) for part in range(self.parts)]

    def obey(self, part, instructions):
        for one in instructions:
            self.log.append((part, one))
            if isinstance(one, Send):
                others = (other for other in range(self.parts) if other != part)
                self.pending += [
                    ("letter", other, Arrived(self.epoch, one.superstep, part, one.report)) for other in others
                ]
            elif isinstance(one, Copy):
                self.pending.append(("copied", part, one.superstep))
            elif isinstance(one, Step):
                self.pending.append(("ready", part, one.superstep))

    def happen(self):
        """One thing that is pending happens, or a letter is lost or comes twice; a lost one is sent again."""
        what, part, about = self.pending.pop(self.draw(len(self.pending)))
        machine = self.machines[part]
        if what == "ready":
            self.obey(part, machine.handle(Ready(report(part, about, machine.copied))))
        elif what == "copied":
            self.obey(part, machine.handle(Copied(about)))
        else:
            fate = self.draw(4)
            if fate in (0, 1):  # lost, or only its acknowledgement is: the sender tries again
                self.pending.append((what, part, about))
            if fate != 0:
                self.obey(part, machine.handle(about))


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 4), st.integers(0, 2**32))
def test_all_parts_do_every_superstep_once_and_take_the_same_decisions(parts, seed):
    chance = random.Random(seed)
    network = Network(parts, chance.randrange)
    while network.pending:
        network.happen()
    for part in range(parts):
        own = [one for who, one in network.log if who == part]
        assert [one.superstep for one in own if isinstance(one, Step)] == list(range(1, LAST + 1))
        assert [one.superstep for one in own if isinstance(one, Finish)] == [LAST]
        for one in own:
            if isinstance(one, Step | Finish):
                done = one.superstep - isinstance(one, Step)
                assert [report.counts for report in one.reports] == [(other, done) for other in range(parts)]
    made = [(who, one.superstep) for who, one in network.log if isinstance(one, Copy)]
    first = [step for who, step in made if who == 0]
    assert all([step for who, step in made if who == part] == first for part in range(parts))


@settings(max_examples=100, deadline=None)
@given(st.integers(2, 4), st.integers(0, 2**32), st.integers(1, 40))
def test_letters_of_an_earlier_epoch_change_nothing(parts, seed, before):
    chance = random.Random(seed)
    first = Network(parts, chance.randrange)
    for _ in range(min(before, 30)):
        if first.pending:
            first.happen()
    network = Network(parts, chance.randrange, epoch=1, start=2)
    network.pending += [one for one in first.pending if one[0] == "letter"]
    while network.pending:
        network.happen()
    for part in range(parts):
        own = [one.superstep for who, one in network.log if who == part and isinstance(one, Step)]
        assert own == list(range(3, LAST + 1))


def run_alone(supersteps, **costs):
    """The supersteps at which a part that has no others makes copies."""
    machine, copies = Supersteps(0, 1, 0, 0, lambda reports, superstep: superstep == supersteps, True), []
    for superstep in range(supersteps):
        for one in machine.handle(Ready(report(0, superstep, machine.copied, **costs))):
            if isinstance(one, Copy):
                copies.append(one.superstep)
                machine.handle(Copied(one.superstep))
    return copies


def test_copies_take_a_twentieth_of_the_time():
    assert run_alone(100, seconds=1.0, cost=1.0) == [19, 39, 59, 79, 99]
    assert run_alone(10, seconds=1.0, cost=0.01) == list(range(10))
    assert run_alone(10, seconds=0.001, cost=1.0) == []


def test_no_copy_begins_before_the_one_before_is_complete():
    machine = Supersteps(0, 2, 0, 0, ends, True)
    copies = []
    for superstep in range(LAST):
        machine.handle(Ready(report(0, superstep, machine.copied)))
        copied = NEVER if superstep < 4 else 0  # the other part's first copy takes this long
        for one in machine.handle(Arrived(0, superstep, 1, report(1, superstep, copied))):
            if isinstance(one, Copy):
                copies.append(one.superstep)
                machine.handle(Copied(one.superstep))
    assert copies == [0, 4]


def test_without_a_neighbour_there_are_no_copies():
    machine = Supersteps(0, 1, 0, 0, ends, False)
    assert not any(isinstance(one, Copy) for step in range(5) for one in machine.handle(Ready(report(0, step))))


@pytest.mark.parametrize(("superstep", "sender"), [(2, 1), (0, 5), (0, 0)])
def test_letters_that_cannot_be_are_refused(superstep, sender):
    machine = Supersteps(0, 2, 0, 0, ends, True)
    with pytest.raises(ClusterError, match="part 0 is at superstep 0 and got a message of part"):
        machine.handle(Arrived(0, superstep, sender, report(sender, superstep)))


def test_what_the_client_asks_one_part_for_all_copy_at_once():
    """Also without a neighbour, and whatever copies cost; but no copy begins before the one before is complete."""
    costly = Report((), 1.0, 1e9, NEVER, 0)
    for copies in (False, True):
        machine = Supersteps(0, 2, 0, 0, lambda reports, superstep: False, copies)
        made = []
        for superstep, asked in enumerate([False, True, True, False]):
            machine.handle(Ready(costly))
            told = costly._replace(asked=asked, copied=1 if superstep == 2 else NEVER)
            made += [one for one in machine.handle(Arrived(0, superstep, 1, told)) if isinstance(one, Copy)]
        assert made == [Copy(1, asked=True)]
