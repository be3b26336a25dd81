"""Compiled code is linked wherever in memory it is loaded."""

import os
import subprocess
import sys

import pytest

SCATTERED = """
import ctypes, gc
import numpy as np
from garaph_py.native import Kernel, cache, loader

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
PAGE, NOTHING_MAY_BE_DONE, PRIVATE_ANONYMOUS_UNBACKED = 4096, 0, 0x4022

def take(size):
    return libc.mmap(None, size, NOTHING_MAY_BE_DONE, PRIVATE_ANONYMOUS_UNBACKED, -1, 0)

def function(x, y, n):
    total = 0.0
    for i in range(n):
        total += (x[i] * 1.2345 + 0.777) * (3.3 if x[i] > 2.5 else 7.7)  # constants, in a section of their own
    y[0] = total
    return 0

kernel = Kernel("f64* f64* i64", function)
x, y = np.arange(1000.0), np.zeros(1)
kernel(x, y, 1000)
expected, code = float(y[0]), cache.load(kernel.key)
loader.load_object(code)  # whatever that takes memory for the first time, it has now
gc.disable()
for size in (1 << 24, 1 << 20, 1 << 18, 1 << 16, 1 << 15, 1 << 14, 1 << 13):
    for _ in range(60):
        take(size)
for _ in range(6000):
    take(PAGE)
hole = take(PAGE)
for _ in range(4):
    take(1 << 30)
for _ in range(3000):
    take(PAGE)  # up to where the large ones begin, on a rounder address
for _ in range(4):
    take(1 << 30)
libc.munmap(hole, PAGE)
entry = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 3)(loader.load_object(code))
row = np.array([x.ctypes.data, y.ctypes.data, 1000], np.int64)
result, error = np.zeros(1, np.int64), np.zeros(1, np.int64)
y[0] = 0
entry(result.ctypes.data, error.ctypes.data, row.ctypes.data)
print(y[0] == expected)
"""


@pytest.mark.full
@pytest.mark.skipif(os.sysconf("SC_PAGE_SIZE") != 4096, reason="the holes are made for pages of 4 KiB")
def test_sections_are_adjacent_in_fragmented_memory():
    """Free pages are 4 GiB apart, as after a GPU's driver has reserved address space; MCJIT would abort."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", SCATTERED], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


REFUSED = """
import resource
from pathlib import Path
import numpy as np
from garaph_py.native import Kernel, cache, loader

kernel = Kernel("i64*", lambda x: x[0])
assert kernel(np.array([7])) == 7
code = cache.load(kernel.key)
mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (mapped + (1 << 20), resource.RLIM_INFINITY))
try:
    for _ in range(2000):
        loader.load_object(code)
except MemoryError:
    print("refused")
"""


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="/proc/self/statm")
def test_llvm_does_not_end_a_process_with_too_little_memory(tmp_path):
    """LLVM calls abort() if it gets no memory, and 2000 kernels take more than the megabyte that is left."""
    environment = os.environ | {"GARAPH_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", REFUSED], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout) == (0, "refused\n"), done.stderr
