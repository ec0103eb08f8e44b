"""A directory that nothing can leave, whatever is tried."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tfmesos.agent.fetch_program.errors import FetchError
from tfmesos.agent.fetch_program.places import Place

STEPS = st.sampled_from(["a", "b", "c", "..", ".", ""])
PATHS = st.lists(STEPS, min_size=1, max_size=5).map("/".join)
ACTIONS = st.lists(
    st.tuples(st.sampled_from(["create", "directory", "symlink", "link"]), PATHS, PATHS), min_size=1, max_size=12
)


def _do(place: Place, action: str, path: str, other: str) -> None:
    match action:
        case "create":
            with place.create(path) as file:
                file.write(b"x")
        case "directory":
            place.make_directory(path)
        case "symlink":
            place.symlink(path, other)
        case _:
            place.link(path, other)


@given(ACTIONS)
@settings(max_examples=100, deadline=None)
def test_nothing_outside_changes_and_no_link_leads_there(actions: list[tuple[str, str, str]]) -> None:
    with tempfile.TemporaryDirectory() as above:
        sandbox = Path(above, "sandbox")
        sandbox.mkdir()
        for name in ("a", "b"):
            Path(above, name).mkdir()
            Path(above, name, "c").write_text("untouched")
        place = Place(str(sandbox))

        for action, path, other in actions:
            with contextlib.suppress(FetchError, OSError):
                _do(place, action, path, other)
        with contextlib.suppress(FetchError):
            place.check_links()

        assert sorted(os.listdir(above)) == ["a", "b", "sandbox"]
        for name in ("a", "b"):
            assert os.listdir(Path(above, name)) == ["c"]
            assert Path(above, name, "c").read_text() == "untouched"
            assert Path(above, name, "c").stat().st_nlink == 1
        for found in sandbox.rglob("*"):
            assert os.path.realpath(found).startswith(os.path.realpath(sandbox))
