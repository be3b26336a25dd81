"""The options of a simulated run."""

from __future__ import annotations

from dataclasses import dataclass

from ..dispatch.policy import POLICIES, Policy

HYBRID = "hybrid"


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How to run, as `garaph_py.run` is asked."""

    device: str = HYBRID
    engine: str = "auto"
    mode: str = "auto"

    @property
    def policy(self) -> Policy:
        """The rules of the engine."""
        return POLICIES[self.engine]

    @property
    def forced_mode(self) -> str | None:
        """The mode of every iteration; None if the engine chooses it."""
        return None if self.mode == "auto" else self.mode


def cores_beside_gpu(cores: int) -> int:
    """The CPU's threads in a hybrid run on so many cores."""
    return cores - 2 if cores > 4 else cores
