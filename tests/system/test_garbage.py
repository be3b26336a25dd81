"""Blocks in which Python does not look for garbage."""

import gc

import pytest

from garaph_py.system.garbage import uncollected


def test_python_looks_for_no_garbage_until_the_end():
    with uncollected():
        assert not gc.isenabled()
        with uncollected():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_an_error_ends_it():
    with pytest.raises(KeyError), uncollected():
        raise KeyError
    assert gc.isenabled()


def test_it_stays_off_if_it_was():
    gc.disable()
    try:
        with uncollected():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_decorator():
    assert not uncollected()(gc.isenabled)()
    assert gc.isenabled()
