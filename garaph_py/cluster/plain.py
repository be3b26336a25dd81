"""Plain data for messages: numbers, text, tuples and arrays. No object is pickled.

An array goes as the text of its dtype, its shape, and its bytes; a large one as a buffer that the transport need not
copy.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.format import descr_to_dtype, dtype_to_descr

from ..errors import ClusterError

Array = npt.NDArray[Any]

SMALL = 4096
"""Bytes of an array that is sent within a message, and not as a buffer of its own: a page of memory."""
KINDS = "biufV"
"""The kinds of arrays that are sent: truth values, numbers, and structures of them."""


def pack(value: Any, buffer: Callable[[Array], Any] = lambda array: array) -> Any:
    """`value` with each array, tuple and type replaced; ``buffer(bytes)`` wraps a large array of bytes."""
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.ascontiguousarray(value)
        content = array.reshape(-1).view(np.uint8)
        shape = list(value.shape)
        whole = content.tobytes() if content.nbytes <= SMALL else buffer(content)
        return {"array": whole, "dtype": repr(dtype_to_descr(array.dtype)), "shape": shape}
    if isinstance(value, type) and issubclass(value, np.generic):
        return {"type": np.dtype(value).str}
    if isinstance(value, np.dtype):
        return {"dtype of": repr(dtype_to_descr(value))}
    if isinstance(value, (tuple, list)):
        return {"items": [pack(item, buffer) for item in value]}
    if isinstance(value, dict):
        return {"names": list(value), "values": [pack(item, buffer) for item in value.values()]}
    return value


def unpack(data: Any) -> Any:
    """The inverse of `pack`. Lists come back as tuples.

    Raises
    ------
    ClusterError
        If a message has no such form.
    """
    if not isinstance(data, dict):
        return data
    try:
        if "array" in data:
            return unpacked_array(data)
        if "type" in data:
            return np.dtype(data["type"]).type
        if "dtype of" in data:
            return descr_to_dtype(ast.literal_eval(data["dtype of"]))
        if "items" in data:
            return tuple(unpack(item) for item in data["items"])
        return dict(zip(data["names"], map(unpack, data["values"]), strict=True))
    except (KeyError, TypeError, ValueError, SyntaxError) as error:
        problem = "use the same version of garaph_py on all workers"
        raise ClusterError(f"a worker's message is invalid: {error}; {problem}") from error


def unpacked_array(data: dict[str, Any]) -> Any:
    """The array that `pack` made plain; a number of NumPy's if it has no dimensions."""
    dtype, content = descr_to_dtype(ast.literal_eval(data["dtype"])), data["array"]
    if dtype.kind not in KINDS or dtype.hasobject:
        raise ValueError(f"an array of {dtype}")
    array = np.frombuffer(content, np.uint8).view(dtype).reshape(tuple(data["shape"]))
    return array if array.ndim else array[()]
