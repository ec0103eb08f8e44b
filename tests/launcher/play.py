"""A gang that tests play the master to."""

from random import Random

from tests.launcher.builders import offer, only, status
from tfmesos.launcher import Job
from tfmesos.launcher.events import (
    Action,
    Ending,
    Event,
    Finish,
    Kill,
    Launch,
    NewTask,
    OffersArrived,
    StatusArrived,
    Subscribed,
    TimePassed,
)
from tfmesos.launcher.gang import Gang
from tfmesos.launcher.gang_options import GangOptions

PORTS = "ports:[31000-31099]"
PLENTY = f"cpus:64;mem:65536;{PORTS}"
JOBS = (Job("ps", 1, cmd="serve"), Job("worker", 2, cmd="work"))


class Play:
    """A gang with a clock and a memory of what it wanted."""

    def __init__(self, *jobs: Job, **options: object) -> None:
        self.now = 0.0
        self.gang = Gang(GangOptions(jobs=jobs or JOBS, **options), Random(3), self.now)  # type: ignore[arg-type]
        self.tell(Subscribed())

    def tell(self, event: Event) -> list[Action]:
        return self.gang.handle(event, self.now)

    def offers(self, *texts: str) -> list[Action]:
        return self.tell(OffersArrived(tuple(offer(f"{self.now}-{n}", text, f"a{n}") for n, text in enumerate(texts))))

    def wait(self, seconds: float) -> list[Action]:
        self.now += seconds
        return self.tell(TimePassed())

    def launch(self) -> list[NewTask]:
        return [task for launch in only(self.offers(PLENTY), Launch) for task in launch.tasks]

    def says(self, task_id: str, state: str, message: str = "", *, source: str = "SOURCE_EXECUTOR") -> list[Action]:
        return self.tell(StatusArrived(status(task_id, state, message, source=source)))

    def run(self) -> list[NewTask]:
        tasks = self.launch()
        for task in tasks:
            self.says(task.task_id, "RUNNING")
        return tasks


def ending(actions: list[Action]) -> Ending:
    (finish,) = only(actions, Finish)
    return finish.ending


def killed(actions: list[Action]) -> list[str]:
    return [kill.task_id for kill in only(actions, Kill)]
