"""Docker engines for tests: real ones, of their own directories, socket and bridge; nothing of theirs is left.

The fixtures `dockerd` (one for all tests) and `start_dockerd` are in tests/conftest.py.
"""

from collections.abc import Callable

from tests.dockerd.engine import Dockerd, missing_for_dockerd

StartDockerd = Callable[..., Dockerd]
"""Takes the keyword arguments of Dockerd."""

__all__ = ["Dockerd", "StartDockerd", "missing_for_dockerd"]
