"""Run by the Python of an environment that has PyPI `avmesos`: one task from offer to end, as that package's users do.

framework.py http://HOST:PORT TASK COMMAND
Prints each state of the task, then what the framework's end was. Has no patience of its own: who started it has.

avmesos 0.4.2 reads the events by lines and so sees each only when the next one comes: a question about a task that does
not exist, whose answer is an event, is asked again and again.
"""

import sys
import threading
from typing import Any

from avmesos.client import MesosClient  # type: ignore[import-not-found]


class Framework:
    def __init__(self, url: str, task_id: str, command: str) -> None:
        self.task_id = task_id
        self.command = command
        self.launched = False
        self.ended = threading.Event()
        self.driver: Any = None
        self.client = MesosClient(mesos_urls=[url], frameworkName="avmesos", frameworkUser="root")
        self.client.on(MesosClient.SUBSCRIBED, self.subscribed)
        self.client.on(MesosClient.OFFERS, self.offers)
        self.client.on(MesosClient.UPDATE, self.update)

    def subscribed(self, driver: Any) -> None:
        self.driver = driver
        print("subscribed", driver.frameworkId, flush=True)

    def nudge(self) -> None:
        while not self.ended.wait(0.3):
            if self.driver is not None:
                self.driver.reconcile([{"task_id": {"value": "no such task"}}])

    def offers(self, offers: list[Any]) -> None:
        for offer in offers:
            if self.launched:
                offer.decline()
                continue
            self.launched = True
            offer.accept([self.task(offer.get_offer())])

    def task(self, offer: Any) -> dict[str, object]:
        return {
            "name": "foreign",
            "task_id": {"value": self.task_id},
            "agent_id": offer["agent_id"],
            "resources": [
                {"name": "cpus", "type": "SCALAR", "scalar": {"value": 0.1}},
                {"name": "mem", "type": "SCALAR", "scalar": {"value": 32}},
            ],
            "command": {"value": self.command},
        }

    def update(self, update: Any) -> None:
        status = update["status"]
        if status["task_id"]["value"] != self.task_id:
            return
        print(status["state"], status.get("message", ""), flush=True)
        if status["state"] in ("TASK_FINISHED", "TASK_FAILED", "TASK_ERROR", "TASK_KILLED", "TASK_LOST"):
            self.ended.set()

    def run(self) -> None:
        threading.Thread(target=self.client.register, daemon=True).start()
        threading.Thread(target=self.nudge, daemon=True).start()
        self.ended.wait()
        if self.driver is not None:
            self.driver.tearDown()
            print("torn down", flush=True)


Framework(*sys.argv[1:4]).run()
