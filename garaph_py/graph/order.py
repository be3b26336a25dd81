"""Renumbering vertices by degree: those that are read most stand together, and stay in the caches."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ParameterError

Array = npt.NDArray[Any]

ORDERS = ("none", "degree", "hub")
HUB_SHARE = 0.08
"""HyTGraph moves the top 8 % to the front (section VI)."""


def check_order(order: str) -> str:
    if order not in ORDERS:
        raise ParameterError(f"order={order!r}: choose from {', '.join(ORDERS)}")
    return order


def vertex_order(order: str, out_degrees: Array, in_degrees: Array) -> Array:
    """The present numbers of the vertices in their new order (int64, shape (n,)).

    Parameters
    ----------
    order : {"degree", "hub"}
        ``"degree"``: by descending out-degree, since a vertex is read once for each out-edge. ``"hub"``: the 8 % with
        the highest ``H(v) = out-degree * in-degree / (their maxima)`` first, by H; the others as they stood
        (HyTGraph, section VI). Equal ones keep their order.
    out_degrees, in_degrees : ndarray of int64, shape (n,)
    """
    if order == "degree":
        return np.argsort(-out_degrees, kind="stable")
    importance = out_degrees.astype(np.float64) * in_degrees  # the maxima divide everybody alike
    ranked = np.argsort(-importance, kind="stable")
    hubs = ranked[: int(np.ceil(HUB_SHARE * len(ranked)))]
    others = np.ones(len(ranked), np.bool_)
    others[hubs] = False
    return np.concatenate([hubs, np.flatnonzero(others)])
