"""Flags of images: where they come from and how long they are kept."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ImageFlags:
    """A part of AgentFlags."""

    __slots__ = ()
