"""How to use a GPU: what `garaph_py.run` was asked for, checked."""

from __future__ import annotations

from dataclasses import dataclass

from ...codec.arrays import PACKED
from ...errors import ParameterError
from ...program import BoundProgram
from ...system.sizes import parse_bytes
from .gather import AUTO, CALIBRATED, CUSTOM, REPLICATED, SEGMENTED
from .interface import can_replicate
from .replication import FACTORS

DEFAULT_SHARE = 0.9
"""Of the memory that is free: the rest is left to others."""
DETERMINISTIC_SHARE = 0.8
"""Of the whole memory, where pages must not depend on what is free."""
STREAMS = 4


@dataclass(frozen=True)
class Settings:
    """How to use the GPU.

    Attributes
    ----------
    memory : int or None
        Budget in bytes; by default `DEFAULT_SHARE` of what is free.
    streams : int
    gather : {"auto", "replicated", "segmented", "packed"}
    replication : {"custom", "calibrated"} or int
        For ``"replicated"``: equation 2, measured, or a fixed factor.
    page_edges : int or None
        Bound on a page's edges.
    deterministic : bool
        The budget does not depend on what is free, and so not the pages, while `DETERMINISTIC_SHARE` can be had.
    iterations : int or None
        How many there will be at most: packing has to pay within them.
    threads : int or None
        Of the CPU, for packing.
    """

    memory: int | None = None
    streams: int = STREAMS
    gather: str = "auto"
    replication: str | int = "custom"
    page_edges: int | None = None
    deterministic: bool = False
    iterations: int | None = None
    threads: int | None = None


def checked(
    bound: BoundProgram, encoding: str, engine: str, memory: int | str | None, streams: int, gather: str,
    replication: int | str, page_edges: int | None, deterministic: bool,
) -> Settings:  # fmt: skip
    """What was asked for, as the engine and the program have it where it was left open.

    Raises
    ------
    ParameterError
    """
    if isinstance(streams, bool) or not isinstance(streams, int) or not 1 <= streams <= 64:
        raise ParameterError(f"streams={streams!r}: give a whole number from 1 to 64")
    factor = int(replication) if str(replication).isdigit() else replication
    if isinstance(factor, bool) or factor not in (CUSTOM, CALIBRATED, *FACTORS):
        allowed = ", ".join(map(str, (CUSTOM, CALIBRATED, *FACTORS)))
        raise ParameterError(f"replication={replication!r}: choose from {allowed}")
    if deterministic and gather == REPLICATED:
        raise ParameterError("deterministic=True needs gather='segmented': atomics add in no fixed order")
    if gather == REPLICATED and not can_replicate(bound):
        raise ParameterError(
            f"gather='replicated': no atomic takes the sums of {bound.name}, whose own monoid combines "
            f"{bound.accumulator.itemsize} bytes together; choose gather='segmented'"
        )
    if encoding == PACKED and gather in (REPLICATED, SEGMENTED):
        raise ParameterError(
            f"gather={gather!r} is for raw edges, and these are packed; use encoding='raw' (--encoding raw), or leave "
            "gather out"
        )
    if gather == AUTO and encoding == PACKED:
        gather = PACKED
    elif gather == AUTO and deterministic:  # whether packing pays is a matter of time
        gather = SEGMENTED
    elif gather == AUTO and engine == "garaph":
        gather = REPLICATED if can_replicate(bound) else SEGMENTED
    budget = None if memory is None else parse_bytes(memory, "gpu_memory")
    return Settings(budget, streams, gather, factor, page_edges, deterministic)
