"""Decisions for single pages in a simulation: how a page's edges may reach the GPU, and the record of the pages."""

from __future__ import annotations

from collections.abc import Mapping

from ..dispatch.policy import Policy
from ..events import PageGroup
from ..executor.decision import Transfers
from ..executor.gpu.page_transfers import of_pages, of_streamed
from ..executor.gpu.residency import Residency
from ..executor.modes import CPU, GPU, PULL
from ..pages.layout import Page
from .workload import Workload


def transfers_of(workload: Workload, residency: Residency, policy: Policy) -> tuple[Transfers, ...]:
    """How the edges of each page may reach the GPU: as in a real run that can pin them, and that reads no small graph
    in place."""
    streamed = of_streamed(workload.on_disks, in_place=False, chooses=policy.chooses_transfers, offsets=policy.offsets)
    return of_pages(residency, lambda page: streamed)


def groups_of(owners: Mapping[Page, str], ways: Mapping[Page, str], mode: str, share: float) -> tuple[PageGroup, ...]:
    """The pages of an iteration, grouped as in the record of a real one.

    Parameters
    ----------
    owners : mapping of Page to str
        The processor of each.
    ways : mapping of Page to str
        How the edges of each of the GPU's pages reached it.
    mode : str
        What the CPU does.
    share : float
        The share of its pages' edges that it gathers.
    """
    found = dict[tuple[str, str, str | None], list[int]]()
    for page, owner in owners.items():
        how = (PULL, GPU, ways[page]) if owner == GPU else (mode, CPU, None)
        group = found.setdefault(how, [0, 0])
        group[0] += 1
        group[1] += page.edges if owner == GPU else round(share * page.edges)
    return tuple(PageGroup(*how, *counts) for how, counts in found.items())
