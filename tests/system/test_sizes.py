"""Sizes in bytes as people write them."""

import numpy as np
import pytest

from garaph_py.errors import ParameterError
from garaph_py.system.sizes import counted, parse_bytes, show_bytes, show_number, show_seconds, show_speed


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (4096, 4096), ("4096", 4096), ("6GiB", 6 << 30), ("6 gib", 6 << 30), ("500MB", 500_000_000), ("2k", 2000),
        ("1.5 GiB", 3 << 29), (" 1TiB ", 1 << 40), ("1Ki", 1024), ("7B", 7),
    ],
)  # fmt: skip
def test_sizes(text, size):
    assert parse_bytes(text, "gpu_memory") == size


@pytest.mark.parametrize("text", ["", "GiB", "6XB", "-1", "0", "0.5", "1e9", "6 GiB more", 0, -5, 1.5, None, True])
def test_what_is_no_size(text):
    with pytest.raises(ParameterError, match=r"^budget=.*: give a size such as 6GiB, 500MB or a number of bytes$"):
        parse_bytes(text, "budget")


@pytest.mark.parametrize("number", ["64", " 64 ", "4095"])
def test_small_numbers_need_a_unit(number):
    bare = str(number).strip()
    with pytest.raises(ParameterError, match=rf"^memory=.* has no unit; write {bare}MiB or {bare}GiB, or {bare}B for"):
        parse_bytes(number, "memory")
    assert parse_bytes(f"{bare}B", "memory") == parse_bytes(np.int64(bare), "memory") == int(number)


def test_whole_numbers_keep_all_digits():
    assert parse_bytes((1 << 60) + 1, "memory") == (1 << 60) + 1


def test_sizes_are_shown():
    shown = {0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 6 << 30: "6.0 GiB", 5 << 40: "5.0 TiB"}
    assert {size: show_bytes(size) for size in shown} == shown


def test_what_is_needed_is_not_shown_as_less():
    assert show_bytes((98 << 20) + 1) == "98.0 MiB"
    assert show_bytes((98 << 20) + 1, up=True) == "98.1 MiB"
    assert show_bytes(98 << 20, up=True) == "98.0 MiB"
    assert show_bytes(5 << 50, up=True) == "5120.0 TiB"


def test_nothing_but_zero_is_shown_as_zero():
    shown = {0: "0", 1.23456e-5: "0.0000123", 0.05: "0.0500", 9.876: "9.88", 12.34: "12.3", 123456.7: "123,457"}
    assert {number: show_number(number) for number in shown} == shown
    assert (show_number(float("inf")), show_number(float("nan"))) == ("inf", "nan")
    times = {0: "0 s", 7.89e-6: "7.89 µs", 0.0456: "45.6 ms", 1.234: "1.23 s", 5000: "5,000 s"}
    assert {seconds: show_seconds(seconds) for seconds in times} == times
    speeds = {0: "0 B/s", 12: "12.0 B/s", 4500: "4.50 kB/s", 2.5e6: "2.50 MB/s", 3.21e9: "3.21 GB/s"}
    assert {speed: show_speed(speed) for speed in speeds} == speeds


def test_counts_with_nouns():
    assert [counted(n, "run") for n in (0, 1, 2)] == ["0 runs", "1 run", "2 runs"]
    assert counted(1, "kind of work", "kinds of work") == "1 kind of work"
    assert counted(2, "kind of work", "kinds of work") == "2 kinds of work"
