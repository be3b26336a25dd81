"""What several GPUs of one host, and the thread that drives them, take to exchange values: the table ``[gpus]``."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from ..experiment import toml

WHERE = "gpus: "
"""Begins error messages."""
COSTS = ("bandwidth", "turn", "copy", "received", "joined")
KEYS = (*COSTS, "assumed")


@dataclass(frozen=True)
class Peers:
    """What the GPUs of a host cost each other.

    Attributes
    ----------
    bandwidth : float
        Bytes per second that a GPU receives from the others, and sends to them at the same time.
    turn : float
        Seconds of the thread for a step of each GPU but the first; those of one GPU are in the costs of its iterations.
    copy : float
        Seconds of the thread to start a copy from one GPU to another.
    received : float
        Seconds of a GPU for each vertex that others have changed in a push.
    joined : float
        Seconds of a GPU for each vertex whose tree it joins with that of another GPU.
    assumed : tuple of str
        Which of these were not measured here: they are those of `TWO_H200S`.
    """

    bandwidth: float
    turn: float = 0.0
    copy: float = 0.0
    received: float = 0.0
    joined: float = 0.0
    assumed: tuple[str, ...] = ()


TWO_H200S = Peers(3.91e11, 2e-5, 2.3e-5, 1e-9, 8e-11, COSTS)
"""Two H200s with NVLink, 2026-11-27 to 29 (docs/results/gpus.md): what stands for costs that were not measured."""


def given_costs(given: dict[str, Any]) -> dict[str, float]:
    """The costs in a table ``[gpus]``."""
    return {
        key: (toml.positive if key == "bandwidth" else toml.amount)(given, key, WHERE) for key in COSTS if key in given
    }


def peers_of(given: dict[str, Any]) -> Peers | None:
    """The table ``[gpus]`` of a machine; None if it has none."""
    if not given:
        return None
    toml.known(given, KEYS, WHERE)
    toml.positive(given, "bandwidth", WHERE)
    assumed = toml.listed(given.get("assumed", []))
    return Peers(**given_costs(given), assumed=tuple(toml.chosen(f"{WHERE}assumed", one, COSTS) for one in assumed))


def table_of(peers: Peers) -> dict[str, Any]:
    """The table ``[gpus]`` of a machine with these costs."""
    known = {item.name: getattr(peers, item.name) for item in fields(peers)}
    return known | {"assumed": list(peers.assumed)}


@dataclass(frozen=True)
class Gpus:
    """The table ``[gpus]`` of a spec.

    Attributes
    ----------
    counts : tuple of int
        Each run is simulated with each of these numbers of GPUs.
    costs : dict of str to float
        Those that take the place of the machine's.
    """

    counts: tuple[int, ...]
    costs: dict[str, float]

    def on(self, peers: Peers | None) -> Peers:
        """The costs on a machine, which may have some of its own; otherwise those of `TWO_H200S`."""
        known = table_of(peers or TWO_H200S)
        assumed = tuple(key for key in known["assumed"] if key not in self.costs)
        return Peers(**known | self.costs | {"assumed": assumed})


def gpus_of(document: dict[str, Any]) -> Gpus | None:
    """The table ``[gpus]`` of a spec; None if it has none."""
    given = toml.table(document, "gpus")
    if not given:
        return None
    toml.known(given, ("count", *COSTS), WHERE)
    return Gpus(toml.counts(given, "GPUs", WHERE), given_costs(given))
