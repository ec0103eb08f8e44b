"""RecordIO streams in any pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfmesos.wire import RecordDecoder, RecordIOError, encode_record


def cut(stream: bytes, sizes: list[int]) -> list[bytes]:
    pieces = []
    for size in sizes:
        pieces.append(stream[:size])
        stream = stream[size:]
    return [*pieces, stream]


@given(st.lists(st.binary(max_size=300)), st.lists(st.integers(0, 50)))
def test_any_records_in_any_pieces_come_out_whole_and_in_order(records: list[bytes], sizes: list[int]) -> None:
    stream = b"".join(map(encode_record, records))
    decoder = RecordDecoder()

    decoded = [record for piece in cut(stream, sizes) for record in decoder.feed(piece)]

    assert decoded == records
    assert decoder.feed(encode_record(b"next")) == [b"next"]


def test_records_larger_than_the_compaction_step_come_out_whole() -> None:
    records = [bytes([number]) * 70_000 for number in range(8)]
    stream = b"".join(map(encode_record, records))
    decoder = RecordDecoder()

    decoded = [record for at in range(0, len(stream), 65_000) for record in decoder.feed(stream[at : at + 65_000])]

    assert decoded == records


def test_a_record_is_given_out_as_soon_as_its_last_byte_is_there() -> None:
    decoder = RecordDecoder()

    assert decoder.feed(b"3\nab") == []
    assert decoder.feed(b"c2\nx") == [b"abc"]


def test_an_empty_record_is_a_record() -> None:
    assert RecordDecoder().feed(b"0\n0\n") == [b"", b""]


@pytest.mark.parametrize("stream", [b"x\n", b"-1\n", b"\nabc", b"1 \n", b"0x1\n", b"1" * 21, b"\xff", b"+1\n"])
def test_a_length_that_is_no_number_is_an_error(stream: bytes) -> None:
    with pytest.raises(RecordIOError, match="Failed to decode record length"):
        RecordDecoder().feed(stream)


def test_a_record_above_the_limit_is_refused_before_it_arrives() -> None:
    decoder = RecordDecoder(limit=10)

    assert decoder.feed(encode_record(b"0123456789")) == [b"0123456789"]
    with pytest.raises(RecordIOError, match="A record of 11 bytes is above the limit of 10"):
        decoder.feed(b"11\n")
