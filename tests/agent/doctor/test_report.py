from tfmesos.agent.doctor import Finding, Report

THERE = Finding(subject="user", text="root")
ABSENT = Finding(subject="nvidia-smi", text="is not on PATH", is_there=False, remedy="install it")
MISSING = Finding(subject="NVML", text="is not\nthere", is_there=False, remedy="install it", is_needed=True)


def test_each_finding_is_one_line_with_the_remedy_of_what_is_not_there() -> None:
    text = Report([THERE, ABSENT, MISSING], "all is well").text()

    assert [line.split() for line in text.splitlines()[:3]] == [
        ["ok", "user", "root"],
        ["absent", "nvidia-smi", "is", "not", "on", "PATH;", "install", "it"],
        ["missing", "NVML", "is", "not", "there;", "install", "it"],
    ]


def test_what_is_needed_and_not_there_makes_a_machine_unfit() -> None:
    report = Report([THERE, ABSENT, MISSING], "all is well")

    assert not report.is_fit
    assert report.text().splitlines()[-1] == "1 missing (what is only absent is not needed by these flags)."


def test_what_is_only_absent_does_not() -> None:
    report = Report([THERE, ABSENT], "all is well")

    assert report.is_fit
    assert report.text().splitlines()[-1] == "all is well"
