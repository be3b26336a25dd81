"""Policies that are told what to decide."""

from garaph_py.dispatch.policy import Policy
from garaph_py.dispatch.rates import Rates
from garaph_py.executor.decision import Decision
from garaph_py.executor.modes import COPIED, PULL


class Sharing(Policy):
    """Makes the same decision in every iteration, for a host and devices that share the pages."""

    name, modes = "told", (PULL,)
    chooses_asynchrony = False
    gather, transfer, zero_copy = "segmented", COPIED, False

    def __init__(self, decision):
        self.decision = decision

    def decide(self, seen):
        return self.decision

    def first_rates(self, threads, load):
        return Rates.expected(threads, *load, reactive=True)


class Turns(Policy):
    """The CPU works in the third iteration, the GPU in all others."""

    def start(self):
        return 0

    def decide(self, seen):
        return Decision("pull", "its turn", "cpu" if seen.own == 2 else "gpu")

    def observe(self, own, seen, decision, done):
        return own + 1
