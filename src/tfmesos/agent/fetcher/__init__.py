"""Brings the URIs of commands into sandboxes, through a child that runs as the task's user; keeps a cache."""

from tfmesos.agent.fetcher.errors import FetchFailed
from tfmesos.agent.fetcher.fetcher import Fetcher, FetchOrder

__all__ = ["FetchFailed", "FetchOrder", "Fetcher"]
