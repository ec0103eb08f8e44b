"""Which medium an answer has."""

from __future__ import annotations

import pytest

from tfmesos.wire.media import JSON, PROTOBUF, chosen_media


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        (None, JSON),
        ("*/*", JSON),
        ("application/*", JSON),
        (f"{PROTOBUF}, {JSON}", JSON),
        (PROTOBUF, PROTOBUF),
        (f"{JSON};q=0, {PROTOBUF}", PROTOBUF),
        (f"text/html, {PROTOBUF};q=0.5", PROTOBUF),
        ("text/html", None),
        ("*/*;q=0", None),
        ("", None),
    ],
)
def test_the_medium_of_an_answer(accept: str | None, media: str | None) -> None:
    assert chosen_media(accept) == media
