"""What a push costs beside a pull follows from where edges are."""

import types

import pytest

from garaph_py.dispatch.policy import PUSH_THRESHOLD
from garaph_py.executor.costs import EXPECTED
from garaph_py.executor.gpu.push_cost import far_bytes, push_cost
from garaph_py.executor.gpu.residency import Residency
from garaph_py.executor.modes import RESIDENT, ZERO_COPY
from garaph_py.pages.layout import Page

M = 1 << 20


def placed(
    resident=4, encoding="raw", width=4.0, mapped=False, out=None, in_place=False, lists_encoding="raw",
    lists_width=4.0, from_disk=False, values=EXPECTED.cache + 1, sums=False, degree=32,
):  # fmt: skip
    """A placement of four pages, with what the cost depends on."""
    lists = types.SimpleNamespace(layout=types.SimpleNamespace(width=lists_width, encoding=lists_encoding))
    bounds = [k * M // 4 for k in range(5)]
    pages = [Page(k, bounds[k] // degree, bounds[k + 1] // degree, *bounds[k : k + 2]) for k in range(4)]
    return types.SimpleNamespace(
        residency=Residency(pages, resident, 0, 0, 0), in_place=in_place, is_resident=resident == 4,
        pushes_from_disk=from_disk,
        memory=types.SimpleNamespace(arrays={"values": values}), keeps_sums=sums,
        numbering=types.SimpleNamespace(arrays=types.SimpleNamespace(m=M)),
        edges=types.SimpleNamespace(arrays=types.SimpleNamespace(encoding=encoding, width=width)),
        mapped=lists if mapped else None,
        out_edges=None if out is None else types.SimpleNamespace(way=out, mapped=lists if out == ZERO_COPY else None),
    )  # fmt: skip


def test_all_edges_in_the_gpus_memory():
    assert push_cost(placed()) == pytest.approx(EXPECTED.push_edge)
    assert push_cost(placed(out=RESIDENT)) == pytest.approx(EXPECTED.push_edge)


def test_values_that_stay_in_the_cache_make_pushes_cheaper():
    cached, half_far = {"values": EXPECTED.cache}, {"resident": 2, "mapped": True}
    assert push_cost(placed(**cached)) == pytest.approx(EXPECTED.gpu / EXPECTED.push_cached)
    assert push_cost(placed(**cached)) < push_cost(placed())
    saved = push_cost(placed(**half_far)) - push_cost(placed(**half_far, **cached))
    # What lists in host memory take is the same.
    assert saved == pytest.approx((1 / EXPECTED.push - 1 / EXPECTED.push_cached) / (1e-11 + 2 / 5e10))


def test_the_cache_does_not_help_deltas():
    assert push_cost(placed(values=EXPECTED.cache, sums=True)) == pytest.approx(EXPECTED.push_edge)


def test_out_edges_in_place_of_in_edges_are_always_pushed_along():
    assert push_cost(placed(resident=0, out=RESIDENT, lists_width=8.0, width=8.0)) < 1


def test_lists_in_host_memory_are_dear_beside_pages_that_are_near():
    near, far = placed(out=ZERO_COPY, lists_width=8.0), placed(resident=2, mapped=True)
    assert push_cost(near) == pytest.approx((1 / EXPECTED.push + 8 / 2.5e10) / 1e-11)
    # Half of the pages are copied for a pull, and half of the lists are far.
    assert push_cost(far) == pytest.approx((1 / EXPECTED.push + 2 / 2.5e10) / (1e-11 + 2 / 5e10))


def test_long_raw_lists_in_host_memory_are_read_sooner():
    """Lists of 128 edges on the average came at 51 GB/s, those of R-MAT 24, with 32, at 25; packed ones were not
    measured."""
    far = {"out": ZERO_COPY, "lists_width": 8.0}
    assert push_cost(placed(**far, degree=128)) == pytest.approx((1 / EXPECTED.push + 8 / 5.1e10) / 1e-11)
    assert push_cost(placed(**far, degree=64)) == push_cost(placed(**far))
    # Beside pages that are copied, a push would be cheaper up to f = 0.94; up to 0.39 that was measured.
    copied = {"resident": 0, "mapped": True, "width": 8.0, "lists_width": 8.0}
    assert push_cost(placed(**copied, degree=128)) == push_cost(placed(**copied)) < 1 / EXPECTED.far_long_f
    dearer = copied | {"width": 4.0}
    usual = (1 / EXPECTED.push + 8 / 2.5e10) / (1e-11 + 4 / 5e10)
    assert usual > 1 / EXPECTED.far_long_f
    assert push_cost(placed(**dearer)) == pytest.approx(usual)
    assert push_cost(placed(**dearer, degree=128)) == pytest.approx(1 / EXPECTED.far_long_f)
    packed = {**far, "lists_encoding": "packed"}
    assert push_cost(placed(**packed, degree=128)) == push_cost(placed(**packed)) == push_cost(placed(**far))


def test_packed_pages_are_copied_sooner():
    """Then pushes cost more beside them; less so if the lists are packed, too."""
    raw, near = placed(resident=2, mapped=True), {"resident": 2, "mapped": True, "encoding": "packed", "width": 2.0}
    packed = placed(**near, lists_encoding="packed", lists_width=2.0)
    assert push_cost(raw) < push_cost(packed) < push_cost(placed(**near))


def test_what_is_read_in_place_is_not_copied():
    assert push_cost(placed(resident=0, mapped=True, in_place=True)) > push_cost(placed(resident=0, mapped=True))


def test_lists_on_disk_are_pushed_along_up_to_the_same_f_as_on_the_cpu():
    assert push_cost(placed(resident=2, from_disk=True)) == pytest.approx(1 / PUSH_THRESHOLD)


def test_several_gpus_wait_for_the_slowest():
    """One that pulls sooner than another does not make the pulls of both shorter."""
    near, far = placed(), placed(resident=2, mapped=True)
    assert push_cost(near, near) == push_cost(near)
    assert push_cost(near, far) == pytest.approx(push_cost(far))
    pulls_sooner = placed(out=ZERO_COPY)
    assert push_cost(pulls_sooner, far) < push_cost(pulls_sooner)
    assert push_cost(far, placed(from_disk=True)) == EXPECTED.push_from_disk


def test_bytes_of_an_edge_that_is_read_in_host_memory():
    assert far_bytes(placed()) == 0
    assert far_bytes(placed(resident=1, mapped=True)) == 3.0  # three of four lists are far
    assert far_bytes(placed(resident=1, mapped=True, encoding="packed", width=2.0)) == 4.0
    near = {"resident": 1, "mapped": True, "encoding": "packed", "width": 2.0}
    assert far_bytes(placed(**near, lists_encoding="packed", lists_width=2.0)) == 1.5
    assert far_bytes(placed(out=ZERO_COPY)) == 4.0
    assert far_bytes(placed(out=RESIDENT)) == 0
