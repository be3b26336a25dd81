"""The attacks of `scripts/attack.py`: one module each, with a function ``attack(seed, folder) -> Outcome``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Outcome:
    """What one round of an attack did.

    Attributes
    ----------
    counts : Counter
        How often each kind of thing was tried, or came out: kills, inputs, typed errors.
    problems : list of str
        What must not happen and did, each in one line that says how to see it again.
    """

    counts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


Attack = Callable[[int, Path], Outcome]
"""``attack(seed, folder)`` does one round of some seconds in the empty `folder`; a seed always does the same."""

NAMES = ("kills", "faults", "power", "damage", "page_logs", "fuzz", "bombs", "bounds", "memory")
"""The modules of this folder that are attacks."""
