"""How the edges of each page may reach a GPU in a pull, where a policy decides on that."""

from __future__ import annotations

from collections.abc import Callable

from ...pages.layout import Page
from ..decision import Transfers
from ..modes import COPIED, RESIDENT, ZERO_COPY
from .placed import Placement
from .residency import Residency
from .settings import Settings

STAYS = Transfers((RESIDENT,), "it stays in the GPU's memory")
"""A resident page, whose edges are neither copied nor read in host memory."""
EITHER = Transfers((COPIED, ZERO_COPY))
"""A page that is not resident, of a run whose policy chooses."""
NOT_CHOSEN = "the policy's class must have chooses_transfers = True"
"""Why a page has no second way in a run whose policy has not said that it chooses."""
FROM_DISK = "its edges come from disk"
"""Why kernels cannot read a page in host memory, where only buffers have it for a while."""
OFFSETS = "the offsets of its destinations are copied with its edges"
"""Why they cannot if the engine gives them such offsets."""
NOT_PINNED = "the system has refused to pin its edges"
BEYOND_THE_END = "kernels would read beyond the end of its edges, which is the end of pinned memory"


def transfers_of(placed: Placement, settings: Settings) -> tuple[Transfers, ...]:
    """How the edges of each page may reach the GPU in a run with these settings."""
    by_page, m = placed.by_page, placed.numbering.arrays.m

    def elsewhere(page: Page) -> Transfers:
        holds = by_page is not None and by_page.holds(page, m)
        choices = settings.page_by_page, settings.offsets
        return of_streamed(placed.on_disk, placed.in_place, *choices, by_page is not None, holds)

    return of_pages(placed.residency, elsewhere)


def of_pages(residency: Residency, elsewhere: Callable[[Page], Transfers]) -> tuple[Transfers, ...]:
    """The same, if ``elsewhere(page)`` says it of those pages that are not resident."""
    here = residency.numbers
    return tuple(STAYS if page.number in here else elsewhere(page) for page in residency.pages)


def of_streamed(
    on_disk: bool, in_place: bool, chooses: bool, offsets: bool, pinned: bool = True, holds: bool = True
) -> Transfers:
    """How the edges of a page that is not resident may reach the GPU.

    Parameters
    ----------
    on_disk : bool
        The edges are not in host memory.
    in_place : bool
        Kernels read all such pages in host memory.
    chooses : bool
        The policy's class says that it chooses.
    offsets : bool
        The engine copies the offsets of a page's destinations with its edges.
    pinned, holds : bool
        The edges are pinned; and kernels that read the page read nothing behind them (`MappedEdges.holds`).
    """
    if in_place:
        return Transfers((ZERO_COPY,), NOT_CHOSEN)
    reasons = (
        (FROM_DISK, on_disk), (NOT_CHOSEN, not chooses), (OFFSETS, offsets), (NOT_PINNED, not pinned),
        (BEYOND_THE_END, not holds),
    )  # fmt: skip
    return next((Transfers((COPIED,), why) for why, applies in reasons if applies), EITHER)
