"""Sources of a page on the GPU of `numpy_gpu`, raw or packed."""

import numpy as np

from garaph_py.codec.format import GROUP, RECORD, RUN


def array_of(driver, context, name, kind, count=None):
    return driver.array(context[name], kind, int(context["n"]) if count is None else count)


def offsets_of(driver, context, name):
    """The offsets of a graph with fewer than 2^32 edges."""
    return array_of(driver, context, name, np.uint32, int(context["n"]) + 1).astype(np.int64)


def sources_of(driver, context, page, begins="in_begins"):
    """The sources of the page's edges, int64; the array `begins` says where lists begin."""
    first, last = int(page["first_edge"]), int(page["last_edge"])
    if not page["records"]:
        return here_and_there(driver, page, "sources", "mapped_sources", np.uint32)
    _, gaps = packed_of(driver, page, ("records", "words", "first_word", "mapped_words"))
    offsets = offsets_of(driver, context, begins)
    begins = offsets[np.searchsorted(offsets, np.arange(first, last), side="right") - 1] - first
    sums = np.cumsum(np.append(0, gaps))
    return sums[1:] - sums[begins]


def here_and_there(driver, page, name, mapped, kind):
    """The page's numbers in an array whose edges outside [base_edge, first_mapped) are in host memory, int64."""
    first, last, base, end = (int(page[each]) for each in ("first_edge", "last_edge", "base_edge", "first_mapped"))
    begin = min(max(first, base), last)
    end = max(min(last, end), begin)
    parts = [(mapped, first, begin, 0), (name, begin, end, base), (mapped, end, last, 0)]
    found = [driver.array(page[each], kind, e - b, b - at) for each, b, e, at in parts if b < e]
    return np.concatenate([np.empty(0, kind), *found]).astype(np.int64)


def packed_of(driver, page, names):
    """The records and the packed numbers of the page's edges; some words may be in host memory."""
    first, last, base, end = (int(page[each]) for each in ("first_edge", "last_edge", "base_edge", "first_mapped"))
    at, words, first_word, mapped = (int(page[name]) for name in names)
    if not mapped:
        records = driver.array(at, RECORD, -(-last // RUN) - base // RUN)
        edges = np.arange(first, last)
        return records[edges // RUN - base // RUN], numbers_of(driver, records, words, first_word, edges - base)
    records, edges = driver.array(at - base // RUN * RECORD.itemsize, RECORD, -(-last // RUN)), np.arange(first, last)
    is_here, numbers = (edges >= base) & (edges < end), np.empty(len(edges), np.int64)
    numbers[is_here] = numbers_of(driver, records, words, first_word, edges[is_here])
    numbers[~is_here] = numbers_of(driver, records, mapped, 0, edges[~is_here])
    return records[edges // RUN], numbers


def numbers_of(driver, records, words, first_word, places):
    """The packed numbers at `places`, counted from the first of the `records`, int64."""
    widths = records["widths"].astype(np.int64)
    before = records["first_word"][:, None] - first_word + np.cumsum(widths, axis=1) - widths
    groups = places // GROUP
    width, bit = widths.ravel()[groups], places % GROUP * widths.ravel()[groups]
    at = before.ravel()[groups] + bit // 32
    data, begin = driver.bytes.view(np.uint32), words // 4
    low, high = (data[begin + at + k].astype(np.uint64) for k in range(2))
    numbers = (low | high << np.uint64(32)) >> (bit % 32).astype(np.uint64)
    return (numbers % (np.uint64(1) << width.astype(np.uint64))).astype(np.int64)
