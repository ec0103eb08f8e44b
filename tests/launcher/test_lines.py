"""Output of many tasks on one terminal."""

import re

from hypothesis import given
from hypothesis import strategies as st

from tfmesos.launcher.lines import PENDING_LIMIT, LineMixer, Piece, Tail
from tfmesos.launcher.sinks import Stream

OUT = Stream.STDOUT


def mixer(*names: str) -> LineMixer:
    made = LineMixer()
    for name in names:
        made.add(name, f"[{name}] ".encode(), OUT)
    return made


def joined(pieces: list[Piece]) -> bytes:
    return b"".join(piece.data for piece in pieces)


def test_whole_lines_are_written_at_once_with_their_prefix() -> None:
    mix = mixer("a")

    assert joined(mix.feed("a", b"one\ntwo\nthr", 0)) == b"[a] one\n[a] two\n"
    assert joined(mix.feed("a", b"ee\n", 0.1)) == b"[a] three\n"


def test_an_unfinished_line_is_shown_after_a_second_and_continued_in_place() -> None:
    mix = mixer("a")
    mix.feed("a", b"45%", 0)

    assert mix.wakes_at == 1
    assert not mix.flush(0.9)
    assert joined(mix.flush(1)) == b"[a] 45%"
    assert joined(mix.feed("a", b" done\n", 2)) == b" done\n"


def test_another_task_breaks_an_unfinished_line() -> None:
    mix = mixer("a", "b")
    mix.feed("a", b"45%", 0)
    mix.flush(1)

    assert joined(mix.feed("b", b"hi\n", 1)) == b"\n[b] hi\n"
    assert joined(mix.feed("a", b" done\n", 2)) == b"[a]  done\n"


def test_a_carriage_return_starts_the_line_anew() -> None:
    mix = mixer("a")
    mix.feed("a", b"10%\r20%\r", 0)

    assert joined(mix.flush(1)) == b"[a] 10%\r[a] 20%"
    assert joined(mix.feed("a", b"30%\n", 2)) == b"\r[a] 30%\n"


def test_a_line_that_ends_as_on_windows_is_one_line() -> None:
    mix = mixer("a")

    assert joined(mix.feed("a", b"x\r\ny\r\n", 0)) == b"[a] x\r\n[a] y\r\n"


def test_half_a_character_waits_for_its_rest() -> None:
    mix = mixer("a")
    euro = "€".encode()
    mix.feed("a", b"5" + euro[:2], 0)

    assert joined(mix.flush(1)) == b"[a] 5"
    assert joined(mix.feed("a", euro[2:] + b"\n", 1)) == euro + b"\n"


def test_the_last_line_of_a_task_is_ended() -> None:
    mix = mixer("a", "b")
    mix.feed("a", b"bye", 0)

    assert joined(mix.finish("a")) == b"[a] bye\n"
    assert joined(mix.feed("b", b"x\n", 0)) == b"[b] x\n"


def test_an_endless_line_does_not_fill_the_memory() -> None:
    mix = mixer("a")

    assert len(joined(mix.feed("a", b"x" * (PENDING_LIMIT + 1), 0))) == PENDING_LIMIT + 1 + len("[a] ")


@given(
    st.lists(
        st.tuples(
            st.sampled_from("ab"), st.lists(st.sampled_from([b"x", b"\n", b"\xc3", b"\xa9", b"yy"])).map(b"".join)
        ),
        max_size=20,
    ),
    st.floats(0, 3),
)
def test_no_byte_is_lost_and_no_line_holds_two_tasks(chunks: list[tuple[str, bytes]], step: float) -> None:
    mix, now, written = mixer("a", "b"), 0.0, b""
    for name, data in chunks:
        now += step
        written += joined(mix.flush(now)) + joined(mix.feed(name, data, now))
    written += joined(mix.finish("a")) + joined(mix.finish("b"))

    for name in "ab":
        given_text = b"".join(data for owner, data in chunks if owner == name)
        shown = b"".join(re.findall(b"^\\[" + name.encode() + b"\\] (.*)$", written, re.MULTILINE))
        assert shown == given_text.replace(b"\n", b"")
    lines = written.split(b"\n")
    assert lines.pop() == b""
    assert all(line.startswith((b"[a] ", b"[b] ")) and line.count(b"[") == 1 for line in lines)


def test_the_tail_holds_the_last_twenty_lines_as_a_terminal_shows_them() -> None:
    tail = Tail()
    tail.feed(OUT, b"".join(b"%d\n" % number for number in range(30)))
    tail.feed(Stream.STDERR, b"1%\r2%\r\nValueError: \xff")

    assert len(tail.lines) == 20
    assert tail.lines[-3:] == ("29", "2%", "ValueError: �")
