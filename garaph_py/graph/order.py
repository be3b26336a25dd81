"""Orders vertices by degree. The values that are read most often are then adjacent, and stay in the caches."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ParameterError

Array = npt.NDArray[Any]

ORDERS = ("none", "degree", "hub")
"""The orders that a user can choose."""
HUB_SHARE = 0.08
"""The share of the vertices that count as hubs, as in HyTGraph (section VI)."""


def check_order(order: str) -> str:
    """Return `order` if it is one of `ORDERS`; otherwise raise `ParameterError`."""
    if order not in ORDERS:
        raise ParameterError(f"order={order!r}: choose from {', '.join(ORDERS)}")
    return order


def vertex_order(order: str, out_degrees: Array, in_degrees: Array) -> Array:
    """The vertices, by their present numbers, in their new order (int64, shape (n,)). Equal vertices keep their order.

    Parameters
    ----------
    order : {"degree", "hub"}
        ``"degree"`` sorts by descending out-degree, because a vertex's value is read once for each out-edge. ``"hub"``
        puts the hubs first, sorted by descending ``H(v) = out-degree * in-degree / (their maxima)``. These are the 8 %
        of the vertices with the highest H (HyTGraph, section VI). The other vertices follow in their old order.
    out_degrees, in_degrees : ndarray of int64, shape (n,)
    """
    if order == "degree":
        return descending(out_degrees)
    importance = out_degrees.astype(np.float64) * in_degrees  # H without the maxima, which do not change the order
    ranked = np.argsort(-importance, kind="stable")
    hubs = ranked[: int(np.ceil(HUB_SHARE * len(ranked)))]
    others = np.ones(len(ranked), np.bool_)
    others[hubs] = False
    return np.concatenate([hubs, np.flatnonzero(others)])


def descending(degrees: Array) -> Array:
    """The indices of `degrees` in descending order of these; equal ones keep their order."""
    most, bits = int(degrees.max(initial=0)), len(degrees).bit_length()
    if most.bit_length() + bits > 64:
        return np.argsort(-degrees, kind="stable")
    keys = (most - degrees).view(np.uint64)
    keys <<= np.uint64(bits)
    keys |= np.arange(len(degrees), dtype=np.uint64)
    keys.sort()  # all differ, so that NumPy need not sort stably, which takes ten times as long
    keys &= np.uint64((1 << bits) - 1)
    return keys.view(np.int64)
