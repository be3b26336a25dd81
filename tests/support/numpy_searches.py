"""The kernels for searches from several sources on the GPU of `numpy_gpu`: the program is `ManyBFS`."""

import numpy as np

from garaph_py.executor.levels import bit_of

from .numpy_packed import array_of, offsets_of, sources_of
from .numpy_push import bits_of, count


def initialize(driver, context, page):
    values = array_of(driver, context, "values", np.int64)
    values[:] = int(context["parameters"]["everyone"])
    bits_of(driver, context, "frontier")[1](np.zeros(len(values), bool))


def pull(driver, context, page):
    """What gather_until_done.cu does, or gather_segmented.cu and apply.cu; a vertex that is done gathers nothing."""
    first, last = int(page["first_vertex"]), int(page["last_vertex"])
    old = array_of(driver, context, "values", np.int64)[first:last].copy()
    lengths = np.diff(offsets_of(driver, context, "in_begins")[first : last + 1])
    acc, sources = np.full(last - first, -1), sources_of(driver, context, page)
    gathered = array_of(driver, context, "values", np.int64)[sources]
    np.bitwise_and.at(acc, np.repeat(np.arange(last - first), lengths), gathered)
    waits = old & int(context["parameters"]["live"]) != 0
    new = np.where(waits, old & acc, old)
    array_of(driver, context, "next_values", np.int64)[first:last] = new
    active, write = bits_of(driver, context, "next_frontier")
    active[first:last] = new != old
    write(active)
    count(driver, context, page, first + np.flatnonzero(new != old))


def begin_searches(driver, *arguments):
    sources, positions, values, frontier, count = map(int, arguments)
    for k, source in enumerate(driver.array(sources, np.int64, count).tolist()):
        v = int(driver.array(positions, np.uint32, 1, source)[0]) if positions else source
        driver.array(values, np.int64, 1, v)[:] &= ~bit_of(k)
        driver.array(frontier, np.uint32, 1, v // 32)[:] |= np.uint32(1 << v % 32)


def note_levels(driver, *arguments):
    values, left, planes, noted, n, level, is_last = map(int, arguments)
    bits = driver.array(left, np.uint64, n) & ~driver.array(values, np.uint64, n)
    if is_last:
        driver.array(left, np.uint64, n)[:] ^= bits
    for plane in range(level.bit_length()):
        if level >> plane & 1:
            driver.array(planes, np.uint64, n, plane * n)[:] |= bits
    driver.array(noted, np.uint64, 1)[:] |= np.bitwise_or.reduce(bits)


def spread_levels(driver, *arguments):
    values, positions, planes, table, first, last, n, depth, words = map(int, arguments)
    users = np.arange(first, last)
    numbers = driver.array(positions, np.uint32, n)[users] if positions else users
    levels = -bits_by_source(driver.array(values, np.uint64, n)[numbers], 8 * words)
    for plane in range(depth):
        levels |= bits_by_source(driver.array(planes, np.uint64, n, plane * n)[numbers], 8 * words) << plane
    driver.array(table, np.int8, levels.size)[:] = levels.reshape(-1)


def bits_by_source(words, width):
    """The bits of words, 0 or 1, in the order of the sources: the first of a byte is its top bit."""
    return np.unpackbits(words.view(np.uint8).reshape(len(words), 8), axis=1)[:, :width].astype(np.int8)


UPDATES = {
    "initialize": initialize,
    "apply_vertices": pull,
    "gather_until_done": pull,
    "gather_until_done_packed": pull,
}
WITHOUT_TASK = {"begin_searches": begin_searches, "note_levels": note_levels, "spread_levels": spread_levels}
