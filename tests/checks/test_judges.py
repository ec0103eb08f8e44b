from hypothesis import given
from hypothesis import strategies as st

from tfmesos.checks.judges import CheckJudge, HealthJudge, HealthVerdict, empty_status
from tfmesos.wire import mesos_pb2

COMMAND = mesos_pb2.CheckInfo.COMMAND


def health(consecutive_failures: int = 2, grace_s: float = 0) -> HealthJudge:
    return HealthJudge(mesos_pb2.HealthCheck(consecutive_failures=consecutive_failures, grace_period_seconds=grace_s))


def test_only_the_first_success_is_told() -> None:
    judge = health()

    assert judge.judge(True, 0) == HealthVerdict(True)
    assert judge.judge(True, 1) is None


def test_every_failure_is_told_and_the_last_allowed_one_is_hopeless() -> None:
    judge = health(consecutive_failures=2)

    assert judge.judge(False, 0) == HealthVerdict(False)
    assert judge.judge(False, 1) == HealthVerdict(False, is_hopeless=True)


def test_a_success_in_between_starts_the_count_anew() -> None:
    judge = health(consecutive_failures=2)

    told = [judge.judge(is_success, 0) for is_success in (False, True, False)]

    assert told == [HealthVerdict(False), HealthVerdict(True), HealthVerdict(False)]


def test_failures_within_the_grace_period_are_not_told() -> None:
    judge = health(consecutive_failures=1, grace_s=10)

    assert judge.judge(False, 9.9) is None
    assert judge.judge(False, 10) == HealthVerdict(False, is_hopeless=True)


def test_the_grace_period_ends_with_the_first_success() -> None:
    judge = health(grace_s=10)
    judge.judge(True, 1)

    assert judge.judge(False, 2) == HealthVerdict(False)


@given(st.lists(st.booleans(), max_size=30), st.integers(1, 4))
def test_a_task_is_hopeless_exactly_after_so_many_failures_in_a_row(results: list[bool], allowed: int) -> None:
    judge = health(consecutive_failures=allowed)
    in_a_row = 0
    for is_success in results:
        in_a_row = 0 if is_success else in_a_row + 1

        verdict = judge.judge(is_success, 0)

        assert (verdict is not None and verdict.is_hopeless) == (in_a_row >= allowed)


def test_the_defaults_are_those_of_mesos() -> None:
    judge = HealthJudge(mesos_pb2.HealthCheck())

    told = [judge.judge(False, elapsed_s) for elapsed_s in (9.9, 10, 20, 30)]

    assert told == [None, HealthVerdict(False), HealthVerdict(False), HealthVerdict(False, is_hopeless=True)]


def test_a_check_tells_changes_only() -> None:
    check = mesos_pb2.CheckInfo(type=COMMAND)
    judge = CheckJudge(check)
    good = mesos_pb2.CheckStatusInfo(type=COMMAND, command=mesos_pb2.CheckStatusInfo.Command(exit_code=0))

    assert judge.judge(empty_status(check)) is None
    assert judge.judge(good) == good
    assert judge.judge(good) is None
    assert judge.judge(empty_status(check)) == empty_status(check)


def test_a_health_check_without_type_is_of_the_kind_it_has() -> None:
    check = mesos_pb2.HealthCheck(http=mesos_pb2.HealthCheck.HTTPCheckInfo(port=80))

    assert empty_status(check).type == mesos_pb2.CheckInfo.HTTP
