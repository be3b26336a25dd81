"""Policies that are told what to decide."""

from collections import Counter

from garaph_py.dispatch.policy import Policy
from garaph_py.dispatch.rates import Rates
from garaph_py.executor.decision import Decision, PageDecision
from garaph_py.executor.modes import BOTH, COPIED, CPU, GPU, PULL


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


class ByPage(Policy):
    """Has the GPU read every third page in host memory, and the next ones in the next iteration; it copies the others.

    Attributes
    ----------
    told : list of Counter
        For each iteration, the edges by direction, processor and transfer, as decided.
    transfers : tuple of tuple of str
        The last `Observation.transfers`.
    """

    chooses_transfers = True

    def __init__(self, mode=PULL, cpu=None, only=1):
        """Every `cpu`-th page is the CPU's; it decides on every `only`-th page only, which is read there."""
        self.mode, self.cpu, self.only, self.told, self.transfers = mode, cpu, only, [], ()

    def start(self):
        return 0

    def decide(self, seen):
        self.transfers = seen.transfers
        return Decision(self.mode, "page by page", BOTH if seen.ratio else seen.device, pages=self.pages(seen))

    def pages(self, seen):
        return {page.number: self.of_page(page.number, seen) for page in seen.pages if page.number % self.only == 0}

    def of_page(self, number, seen):
        if self.cpu and number % self.cpu == 1:
            return PageDecision(self.mode, CPU)
        ways = seen.transfers[number]
        is_far = len(ways) > 1 and (self.only > 1 or (number + seen.own) % 3 == 0)
        return PageDecision(self.mode, GPU, ways[is_far])

    def observe(self, own, seen, decision, done):
        self.told.append(Counter())
        for number, how in decision.pages.items():
            self.told[-1][how] += seen.pages[number].edges
        return own + 1


def edges_by_way(row):
    """The edges of an iteration by direction, processor and transfer, as recorded."""
    found = Counter()
    for group in row.groups:
        found[group.mode, group.device, group.transfer] += group.edges
    return found
