"""The page queues of several GPUs as one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ...pages.layout import Page


@dataclass
class SharedQueue:
    """The page queues of several GPUs as one.

    Attributes
    ----------
    queues : list of PageQueue
        One for each GPU, which numbers its pages by itself.
    firsts : list of int
        How many pages the GPUs before each have.
    """

    queues: list[Any]
    firsts: list[int]

    @property
    def edges(self) -> int:
        return sum(queue.edges for queue in self.queues)

    def steal(self, most: int | None) -> Page | None:
        """Take work from the GPU that has most left."""
        for queue, first in sorted(zip(self.queues, self.firsts, strict=True), key=lambda each: -each[0].edges):
            page: Page | None = queue.steal(most)
            if page is not None:
                return replace(page, number=page.number + first)
        return None

    def clear(self) -> None:
        for queue in self.queues:
            queue.clear()
