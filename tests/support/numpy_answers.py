"""The kernel on the GPU of `numpy_gpu` that makes a parameter of an earlier run's answer."""

import numpy as np

from garaph_py.executor.gpu.run_arrays import KINDS


def place_numbers(driver, *arguments):
    """The twin of place_numbers.cu, for programs on integers."""
    vertex_data, fields, field, given, step, kind, positions, n = map(int, arguments)
    numbers = np.ndarray(n, KINDS[kind], driver.bytes, given, (step,))
    at = driver.array(positions, np.uint32, n) if positions else np.arange(n)
    driver.array(vertex_data, np.int64, n * fields).reshape(n, fields)[at, field] = numbers


WITHOUT_TASK = {"place_numbers": place_numbers}
