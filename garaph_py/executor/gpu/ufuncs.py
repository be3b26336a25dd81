"""NumPy's functions of one number that numba-cuda lacks, such as `numpy.sqrt`.

The functions of `math` replace them. Where a function is a plain instruction, numba-cuda's own code replaces it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

UNARY: dict[Any, Any] = {
    np.sqrt: math.sqrt, np.exp: math.exp, np.expm1: math.expm1, np.log1p: math.log1p, np.floor: math.floor,
    np.ceil: math.ceil, np.trunc: math.trunc, np.fabs: math.fabs,
}  # fmt: skip
BINARY: dict[Any, Any] = {np.copysign: math.copysign, np.fmod: math.fmod, np.power: math.pow}
PLAIN: tuple[Any, ...] = (
    np.absolute, np.negative, np.positive, np.sign, np.square, np.reciprocal, np.add, np.subtract, np.multiply,
    np.isfinite, np.isinf, np.signbit,
)  # fmt: skip


@cache
def teach() -> None:
    """Add these functions to numba-cuda's table, for this process. Functions that the table has are not replaced."""
    from numba.cuda import mathimpl
    from numba.cuda.np import ufunc_db
    from numba.cuda.ufuncs import ufunc_db as known

    def through(find: Callable[..., Any], function: Any) -> Callable[..., Any]:
        return lambda context, builder, sig, args: find(function, sig.args[0])(context, builder, sig, args)

    table = known()
    for ufunc, function in UNARY.items():
        code = through(mathimpl.get_unary_impl_for_fn_and_ty, function)
        table.setdefault(ufunc, {"f->f": code, "d->d": code})
    for ufunc, function in BINARY.items():
        code = through(mathimpl.get_binary_impl_for_fn_and_ty, function)
        table.setdefault(ufunc, {"ff->f": code, "dd->d": code})
    for ufunc in PLAIN:
        table.setdefault(ufunc, ufunc_db.get_ufunc_info(ufunc))
