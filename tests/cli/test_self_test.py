"""tfrun --self-test."""

import importlib.util

import pytest

from tests.cli.programs import TFRUN, Workplace
from tfmesos.cli.tfrun import main


@pytest.mark.tensorflow
def test_two_numbers_are_added_on_a_cluster_of_its_own(workplace: Workplace) -> None:
    pytest.importorskip("tensorflow", exc_type=ImportError)

    result = workplace.run(*TFRUN, "--self-test", MESOS_MASTER="127.0.0.1:9", DOCKER_IMAGE="no/such")

    assert result.status == 0, result
    assert "10 + 32 = 42" in result.output
    assert result.lines[-1] == "the self-test succeeded"


def test_without_tensorflow_it_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    assert main(["--self-test"]) == 2

    output, errors = capsys.readouterr()
    assert output == ""
    assert "-m pip install 'tfmesos[tensorflow]'" in errors
    assert len(errors.splitlines()) == 1
