"""What a policy's decisions for single pages mean for a device's page queue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ...pages.layout import Page
from ..decision import PageDecision
from ..modes import COPIED, CPU, ZERO_COPY


class Named(NamedTuple):
    """The pages of a queue that a policy decides on.

    Attributes
    ----------
    own : frozenset of int
        Numbers of the device's pages, which no other processor may steal.
    copied : list of Page
        Pages that are copied, also if they are still in the buffers of streams.
    far : list of Page
        Pages that kernels read in host memory.
    """

    own: frozenset[int]
    copied: list[Page]
    far: list[Page]


def named_pages(pages: Iterable[Page], named: Mapping[int, PageDecision]) -> Named:
    """Those of `pages` that a policy has decided on; `named` has its decisions by page number."""
    own = frozenset(number for number, how in named.items() if how.processor != CPU)
    ways = [(page, named[page.number].transfer) for page in pages if page.number in named]
    return Named(own, *([page for page, way in ways if way == wanted] for wanted in (COPIED, ZERO_COPY)))
