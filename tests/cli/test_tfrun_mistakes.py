"""What a user gets wrong: one line, a status, and nothing started."""

import pytest

from tests.cli.programs import TFRUN, Workplace

REFUSED = "127.0.0.1:9"


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        (["--nonsense", "--", "true"], 2, "unknown option '--nonsense'"),
        (["-w", "1"], 2, "the command is missing"),
        (["-w", "0", "-s", "0", "--", "true"], 2, "a job with no tasks"),
        (["-w", "1", "-V", "", "--", "true"], 2, "volume"),
        (["-w", "1", "-V", ":/b", "--", "true"], 2, "volume"),
        (["-w", "1", "-V", "relative:/b", "--", "true"], 2, "absolute"),
        (["-w", "1", "-V", "/tmp:/b:xy", "--", "true"], 2, "ro and rw are allowed"),
        (["-w", "1", "-V", "/tmp:/", "--", "true"], 2, "would hide all else that a task sees"),
        (["-w", "1", "-V", "/no/such", "--", "true"], 2, "does not exist"),
        (["-w", "1", "-Gw", "-1", "--", "true"], 2, "cannot be negative"),
        (["-w", "1", "-Gw", "0.5", "--", "true"], 2, "whole number"),
        (["-w", "1", "-Gw", "1", "--local-worker", "--", "true"], 2, "a local worker is given no GPUs here"),
        (["-w", "1", "--image", "", "--", "true"], 2, "the image '' must be one line"),
        (["-w", "1", "--shm", "2", "--", "true"], 2, "is not a number with its unit, as 512m or 2g"),
        (["-w", "1", "-C", "DOCKER", "--", "true"], 2, "needs an image"),
        (["-w", "1", "-C", "LXC", "--", "true"], 2, "MESOS and DOCKER are allowed"),
        (["-w", "1", "-n", "a\nb", "--", "true"], 2, "control characters"),
        (["-w", "1", "-r", "a\tb", "--", "true"], 2, "cannot be a role"),
        (["-w", "1", "-e", "/no/such", "--", "true"], 2, "/no/such"),
        (["-w", "1", "--env", "A", "--", "true"], 2, "NAME=VALUE"),
        (["-w", "1", "--", b"\xff"], 2, "UTF-8"),
        (["-w", "1", "-m", "not a master", "--", "true"], 2, "not a master"),
        (["-w", "1", "-m", "zk://a/b", "--", "true"], 2, "zk://"),
        (["-w", "1", "-Cw", "0", "-Mw", "0", "--", "true"], 2, "cpus or mem"),
        (["-w", "1", "-m", REFUSED, "--", "true"], 69, REFUSED),
    ],
)
def test_bad_input_is_told_in_one_line(workplace: Workplace, words: list[str | bytes], status: int, text: str) -> None:
    result = workplace.run(*TFRUN, *words)

    assert result.status == status, result
    assert result.output == ""
    assert len(result.errors.splitlines()) == 1, result.errors
    assert text in result.errors
    assert not list(workplace.state.iterdir())


def test_the_environment_names_a_master_and_an_image(workplace: Workplace) -> None:
    refused = workplace.run(*TFRUN, "-w", "1", "--", "true", MESOS_MASTER=REFUSED)
    assert (refused.status, REFUSED in refused.errors) == (69, True)

    image = workplace.run(*TFRUN, "-w", "1", "--", "true", DOCKER_IMAGE="No Image")
    assert image.errors.startswith("tfrun: Failed to parse docker image 'No Image': ")
    assert (image.status, len(image.errors.splitlines())) == (2, 1)

    assert workplace.run(*TFRUN, "-w", "1", "-m", "local", "--", "true", MESOS_MASTER=REFUSED).status == 0
