"""--image_gc_config."""

from __future__ import annotations

import pytest

from tfmesos.agent.images import parse_image_gc_config
from tfmesos.agent.images.gc_config import ImageGcConfig
from tfmesos.flags import FlagError


def test_what_is_missing_has_a_default() -> None:
    assert parse_image_gc_config("{}") == ImageGcConfig(headroom=0.1, interval_s=3600.0, excluded=())


def test_all_can_be_said() -> None:
    text = (
        '{"image_disk_headroom":0.25,"image_disk_watch_interval":{"nanoseconds":"1500000000"},'
        '"excluded_images":[{"type":"DOCKER","docker":{"name":"a:1"}}]}'
    )
    assert parse_image_gc_config(text) == ImageGcConfig(headroom=0.25, interval_s=1.5, excluded=("a:1",))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"image_disk_headroom":2}',
        '{"image_disk_headroom":true}',
        '{"image_disk_watch_interval":{"nanoseconds":0}}',
        '{"image_disk_watch_interval":5}',
        '{"excluded_images":"a"}',
        '{"excluded_images":[{"type":"APPC"}]}',
    ],
)
def test_what_is_wrong_is_refused(text: str) -> None:
    with pytest.raises(FlagError):
        parse_image_gc_config(text)
