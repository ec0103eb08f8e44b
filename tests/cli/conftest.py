"""A user's surroundings for programs."""

from collections.abc import Iterator

import pytest

from tests.cli.programs import Workplace


@pytest.fixture
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workplace]:
    """Nothing may be left of what a test starts there."""
    place = Workplace(tmp_path_factory.mktemp("w"))
    yield place
    place.wait_empty()
