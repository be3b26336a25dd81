"""Degrees of vertices, by chance, and where the lists of so many edges begin."""

import numpy as np
from hypothesis import strategies as st

DEGREES = st.lists(st.one_of(st.integers(0, 4), st.integers(0, 3000)), max_size=300)


def offsets_of(degrees):
    return np.cumsum([0, *degrees], dtype=np.int64)
