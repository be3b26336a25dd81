"""An iteration in three parts: begin, process every page, commit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar

from ..pages.layout import Page
from ..pages.source import PageSource
from .decision import Decision, PageDecision
from .modes import NOTIFY_PULL, PULL
from .results import PageResult, StepResult
from .state import OnPage, State


class StepByParts:
    """An `Executor` whose `step` calls `begin`, `process` and `commit`, with the meaning that `HostExecutor` gives.

    Attributes
    ----------
    order : sequence of int or None
        The numbers of all pages, in the order in which `process` takes them, if a policy has decided on that.
    named : mapping of int to PageDecision
        A policy's decisions for single pages.
    """

    name: ClassVar[str]
    source: PageSource
    order: Sequence[int] | None = None
    named: Mapping[int, PageDecision] = MappingProxyType({})

    @property
    def pages(self) -> Sequence[Page]:
        """The pages of an iteration."""
        return self.source.pages

    def begin(self, state: State, mode: str) -> int:
        raise NotImplementedError

    def process(self, pages: Iterable[Page], source: PageSource, state: State, mode: str) -> list[PageResult]:
        raise NotImplementedError

    def commit(self, state: State, mode: str) -> None:
        raise NotImplementedError

    def follow(self, decision: Decision) -> None:
        """Process the pages as the decision says of them."""
        self.order, self.named = decision.order, decision.pages or {}

    def pull(self, state: State) -> list[PageResult]:
        """Pull all pages; new values are not the current ones yet."""
        self.begin(state, PULL)
        return self.process(self.pages, self.source, state, PULL)

    def step(self, state: State, decision: Decision) -> StepResult:
        """One iteration over all pages."""
        mode, every = direction_of(decision), self.pages
        self.follow(decision)
        followed = self.begin(state, mode)
        notify_whole_pages(decision, every, state, mode)
        pages = self.process(every, self.source, state, mode)
        self.commit(state, mode)
        return StepResult(pages, followed, self.name, decision.sharing)


def direction_of(decision: Decision) -> str:
    """The direction in which an iteration begins: notify-pull if the decision asks for it on any page of a pull."""
    pages = decision.pages.values() if decision.pages and decision.mode == PULL else ()
    return NOTIFY_PULL if any(page.direction == NOTIFY_PULL for page in pages) else decision.mode


def tell(on_page: OnPage | None, page: Page, state: State) -> None:
    """Tell of a page whose new values the host has, if somebody asks for those of an asynchronous run."""
    if on_page is not None and not state.synchronous:
        words = page.words
        active = state.next_frontier.bits[words] | state.pending.bits[words]
        on_page(page, state.values[page.first_vertex : page.last_vertex], active)


def notify_whole_pages(decision: Decision, pages: Sequence[Page], state: State, mode: str) -> None:
    """In a notify-pull iteration, notify all vertices of the pages that the decision pulls as a whole."""
    for page in whole_pages(decision, pages) if mode == NOTIFY_PULL else ():
        state.notified.put(page.first_vertex, page.last_vertex)


def whole_pages(decision: Decision, pages: Iterable[Page]) -> list[Page]:
    """Those of `pages` that an iteration pulls as a whole by a decision, though it notifies for others."""
    named, mode = decision.pages, decision.mode
    if not named:
        return [*pages] if mode == PULL else []
    return [page for page in pages if (named[page.number].direction if page.number in named else mode) == PULL]
