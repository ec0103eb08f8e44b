"""What the gang's core is told, and what it wants done."""

from dataclasses import dataclass

from tfmesos.launcher.addresses import ClusterAddresses, TaskAddress
from tfmesos.launcher.placement import Offer, Placed, TaskKey
from tfmesos.launcher.statuses import Status
from tfmesos.launcher.survey import Survey

# -- events


@dataclass(frozen=True, slots=True)
class Subscribed:
    """A subscription stands; the offers of an earlier one are void."""


@dataclass(frozen=True, slots=True)
class OffersArrived:
    """The master offers."""

    offers: tuple[Offer, ...]


@dataclass(frozen=True, slots=True)
class OfferRescinded:
    """The master takes an offer back."""

    offer_id: str


@dataclass(frozen=True, slots=True)
class StatusArrived:
    """The state of a task. The shell acknowledges it by itself."""

    status: Status


@dataclass(frozen=True, slots=True)
class LaunchFailed:
    """A Launch never reached the master, or was refused: none of its tasks exists."""

    task_ids: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class LaunchImpossible:
    """A task's arguments or environment cannot be handed over: the user's fault."""

    text: str


@dataclass(frozen=True, slots=True)
class MasterRefused:
    """The master ended the framework, with this text."""

    text: str


@dataclass(frozen=True, slots=True)
class ConnectionFailed:
    """There is no master any more."""

    text: str
    exit_status: int


@dataclass(frozen=True, slots=True)
class Surveyed:
    """The answer to Survey; None where the master gave none."""

    survey: Survey | None


@dataclass(frozen=True, slots=True)
class LocalEnded:
    """The task on the launcher's own machine ended."""

    exit_status: int
    text: str


@dataclass(frozen=True, slots=True)
class StopAsked:
    """The user wants the job to end; `at_once`: without grace."""

    exit_status: int
    text: str
    at_once: bool


@dataclass(frozen=True, slots=True)
class TimePassed:
    """It is `wakes_at`, or later."""


Event = (
    Subscribed
    | OffersArrived
    | OfferRescinded
    | StatusArrived
    | LaunchFailed
    | LaunchImpossible
    | MasterRefused
    | ConnectionFailed
    | Surveyed
    | LocalEnded
    | StopAsked
    | TimePassed
)

# -- actions


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTask:
    """A task with the id it has in this attempt."""

    task_id: str
    placed: Placed
    address: TaskAddress


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """ACCEPT offers of one agent, all for these tasks; what they leave is refused for `refuse_s`."""

    agent_id: str
    offer_ids: tuple[str, ...]
    tasks: tuple[NewTask, ...]
    everyone: ClusterAddresses
    refuse_s: float


@dataclass(frozen=True, slots=True)
class Decline:
    """Give offers back."""

    offer_ids: tuple[str, ...]
    refuse_s: float


@dataclass(frozen=True, slots=True)
class Suppress:
    """No more offers are wanted."""


@dataclass(frozen=True, slots=True)
class Revive:
    """Offers are wanted again, refused ones too."""


@dataclass(frozen=True, slots=True)
class Kill:
    """End a task; `grace_s` None leaves it its own."""

    task_id: str
    agent_id: str
    grace_s: float | None


@dataclass(frozen=True, slots=True)
class Reconcile:
    """Ask for the states of tasks, as (task id, agent id)."""

    tasks: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class AskSurvey:
    """Ask the master for its agents; the answer is Surveyed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartLocal:
    """Start the task on the launcher's own machine."""

    address: TaskAddress
    everyone: ClusterAddresses


@dataclass(frozen=True, slots=True)
class KillLocal:
    """End it."""

    grace_s: float


@dataclass(frozen=True, slots=True)
class FollowLogs:
    """A task began; its output is there soon."""

    task: NewTask
    executor_id: str


@dataclass(frozen=True, slots=True)
class FinishLogs:
    """A task ended; its output is complete."""

    task_id: str


@dataclass(frozen=True, slots=True)
class Say:
    """Tell the user."""

    text: str


@dataclass(frozen=True, slots=True)
class AllRun:
    """Every task of the gang runs, or has run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedTask:
    """The first task that failed, and how."""

    key: TaskKey
    task: NewTask | None
    hostname: str
    status: Status
    exit_status: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How the job ends. `stopped`: how many tasks were stopped by us because of it."""

    exit_status: int
    text: str = ""
    failed: FailedTask | None = None
    stopped: int = 0
    never_fits: bool = False


@dataclass(frozen=True, slots=True)
class Finish:
    """The job is over; no task is left that we could wait for."""

    ending: Ending


Action = (
    Launch
    | Decline
    | Suppress
    | Revive
    | Kill
    | Reconcile
    | AskSurvey
    | StartLocal
    | KillLocal
    | FollowLogs
    | FinishLogs
    | Say
    | AllRun
    | Finish
)
