"""Durations and bytes as Mesos writes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfmesos.flags import FlagError, format_bytes, format_duration, parse_bytes, parse_duration


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0ns"),
        (1e-9, "1ns"),
        (1.5e-6, "1500ns"),
        (1.5, "1500ms"),
        (1.5004, "1.5004secs"),
        (5, "5secs"),
        (60, "1mins"),
        (90, "90secs"),
        (61.5, "1.025mins"),
        (5400, "90mins"),
        (6 * 3600, "6hrs"),
        (86400, "1days"),
        (7 * 86400, "1weeks"),
        (10 * 86400, "10days"),
        (14 * 86400, "2weeks"),
    ],
)
def test_a_duration_has_one_text(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text
    assert parse_duration(text) == pytest.approx(seconds, abs=1e-9)


@given(st.integers(0, 10**17))
def test_a_duration_comes_back_from_its_text(nanoseconds: int) -> None:
    seconds = nanoseconds / 1e9
    assert parse_duration(format_duration(seconds)) == pytest.approx(seconds, rel=1e-12, abs=1e-9)


def test_fractions_are_allowed_in_durations() -> None:
    assert parse_duration("1.5hrs") == 5400
    assert parse_duration("0.5secs") == parse_duration(".5secs") == parse_duration("500ms") == 0.5


@pytest.mark.parametrize("text", ["1e400secs", "15251weeks", "9e300ns"])
def test_a_duration_that_mesos_cannot_say_is_refused(text: str) -> None:
    with pytest.raises(FlagError, match="is out of range"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["", "5", "secs", "1sec", "5 secs", "-1secs", "1SECS", "1e", "x", "1secs1", "."])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(FlagError, match="duration"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "count"), [("0B", 0), ("4096B", 4096), ("4kb", 4096), ("2GB", 2 << 30), ("3MB", 3 << 20), ("1tb", 1 << 40)]
)
def test_bytes_have_units_in_powers_of_1024(text: str, count: int) -> None:
    assert parse_bytes(text) == count


@given(st.integers(0, 1 << 50))
def test_bytes_come_back_from_their_text(count: int) -> None:
    assert parse_bytes(format_bytes(count)) == count


@pytest.mark.parametrize("text", ["", "5", "MB", "1.5MB", "5 MB", "-1MB", "1PB", "1K", "x"])
def test_what_is_no_byte_count_is_refused(text: str) -> None:
    with pytest.raises(FlagError, match="bytes"):
        parse_bytes(text)
