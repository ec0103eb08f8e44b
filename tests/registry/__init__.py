"""Registries for tests: Debian's docker-registry on loopback, and a small fake for what that one cannot be told to do.

The fixtures `registry` (plain http, one for all tests), `start_registry` and `fake_registry` are in tests/conftest.py.
"""

from collections.abc import Callable

from tests.registry.fake import FakeRegistry
from tests.registry.registry import Credentials, Registry, missing_for_registry

StartRegistry = Callable[..., Registry]
"""Takes the keyword arguments of Registry."""

__all__ = ["Credentials", "FakeRegistry", "Registry", "StartRegistry", "missing_for_registry"]
