"""What tfrun does with its own output: a full disk, and what --verbose adds."""

import pytest

from tests.cli.programs import TFRUN, Workplace


@pytest.mark.parametrize("command", ["echo one", "echo one; sleep 1000"])
def test_output_that_cannot_be_written_ends_the_job_with_one_line(workplace: Workplace, command: str) -> None:
    job = [*TFRUN, "-w", "1", "--", "sh", "-c", command]

    result = workplace.run("sh", "-c", '"$@" > /dev/full', "sh", *job)

    assert result.status == 1, result
    lines = result.errors.splitlines()
    assert "cannot write to standard output: No space left on device" in lines[-1]
    assert len(lines) == 1


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["-w", "1", "--dry-run", "--", "true"]])
def test_a_text_that_cannot_be_written_is_told_in_one_line(workplace: Workplace, words: list[str]) -> None:
    result = workplace.run("sh", "-c", '"$@" > /dev/full', "sh", *TFRUN, *words)

    assert result.status != 0
    assert result.errors == "tfrun: cannot write to standard output: No space left on device\n"


def test_verbose_tells_the_life_of_each_task(workplace: Workplace) -> None:
    result = workplace.run(*TFRUN, "-v", "-w", "1", "--", "true")

    told = result.errors.splitlines()
    assert told[0].startswith("tfrun: subscribed as framework ")
    assert told[1].startswith("tfrun: worker-0.1: launching on ")
    assert "tfrun: worker-0.1: TASK_RUNNING" in told
    assert told[-1] == "tfrun: worker-0.1: TASK_FINISHED: Command exited with status 0"
