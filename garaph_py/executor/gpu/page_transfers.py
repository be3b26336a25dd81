"""How the edges of each page may reach a GPU in a pull, where a policy decides on that."""

from __future__ import annotations

from ...pages.layout import Page
from ..decision import Transfers
from ..modes import COPIED, RESIDENT, ZERO_COPY
from .placed import Placement
from .settings import Settings

STAYS = "it stays in the GPU's memory"
"""Why the edges of a resident page are not copied, nor read in host memory."""
NOT_CHOSEN = "the policy's class must have chooses_transfers = True"
"""Why a page has no second way in a run whose policy has not said that it chooses."""
FROM_DISK = "its edges come from disk"
"""Why kernels cannot read a page in host memory, where only buffers have it for a while."""
OFFSETS = "the offsets of its destinations are copied with its edges"
"""Why they cannot if the engine gives them such offsets."""
EITHER = Transfers((COPIED, ZERO_COPY), "there are no other ways")
"""A page that is not resident, of a run whose policy chooses."""


def transfers_of(placed: Placement, settings: Settings) -> tuple[Transfers, ...]:
    """How the edges of each page may reach the GPU in a run with these settings."""
    here, stays = placed.residency.numbers, Transfers((RESIDENT,), STAYS)
    return tuple(stays if page.number in here else elsewhere(page, placed, settings) for page in placed.residency.pages)


def elsewhere(page: Page, placed: Placement, settings: Settings) -> Transfers:
    """How those of a page that is not resident may reach it."""
    if placed.in_place:
        return Transfers((ZERO_COPY,), NOT_CHOSEN)
    if placed.on_disk:
        return Transfers((COPIED,), FROM_DISK)
    if not settings.page_by_page:
        return Transfers((COPIED,), NOT_CHOSEN)
    if settings.offsets:
        return Transfers((COPIED,), OFFSETS)
    if placed.by_page is None:
        return Transfers((COPIED,), "the system has refused to pin its edges")
    if not placed.by_page.holds(page, placed.numbering.arrays.m):
        return Transfers((COPIED,), "kernels would read beyond the end of its edges, which is the end of pinned memory")
    return EITHER
