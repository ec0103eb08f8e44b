"""How frameworks go: disconnected for now, or for good."""

from tfmesos.master import allocator as alloc
from tfmesos.master.core.books import Framework
from tfmesos.master.core.channels import Channels
from tfmesos.master.core.events import Answer, CancelTimer, FailoverOver, SetTimer
from tfmesos.master.core.ledger import Ledger
from tfmesos.master.core.lifecycle import FrameworkState
from tfmesos.master.core.registry import EndFramework
from tfmesos.master.core.statuses import task_status
from tfmesos.master.ids import ExecutorId, FrameworkId, StreamId
from tfmesos.wire import internal_pb2, mesos_pb2


class Endings:
    """What the absence or the end of a framework means for its offers and tasks."""

    def __init__(self, ledger: Ledger, channels: Channels) -> None:
        self._ledger = ledger
        self._books = ledger.books
        self._channels = channels

    def break_stream(self, framework_id: FrameworkId, stream_id: StreamId) -> None:
        """A stream broke; nothing if the framework has another by now."""
        framework = self._books.frameworks.get(framework_id)
        if framework is not None and framework.stream_id == stream_id:
            self.disconnect(framework)

    def disconnect(self, framework: Framework) -> None:
        """It cannot be reached: its offers end, and without a failover_timeout the framework does."""
        self._channels.lose(framework)
        framework.life.step(FrameworkState.DISCONNECTED)
        self._ledger.log(f"{framework} disconnected")
        self._ledger.withdraw_offers(framework.offers.values())
        self._ledger.inform(alloc.FrameworkSetActive(framework_id=framework.id, is_active=False))
        if framework.info.failover_timeout <= 0:
            self.remove(framework, "disconnected")
        else:
            self._ledger.emit(SetTimer(FailoverOver(framework.id), framework.info.failover_timeout))

    def give_up(self, framework_id: FrameworkId) -> None:
        """The failover_timeout is over."""
        framework = self._books.frameworks.get(framework_id)
        if framework is not None and not framework.is_connected:
            self.remove(framework, "did not come back within its failover_timeout")

    def tear_down(self, framework_id: FrameworkId) -> None:
        """An operator wants the framework gone."""
        framework = self._books.frameworks.get(framework_id)
        if framework is None:
            self._ledger.emit(Answer(400, "No framework found with specified ID"))
            return
        self.remove(framework, "torn down by an operator")
        self._ledger.emit(Answer(200))

    def remove(self, framework: Framework, cause: str) -> None:
        """End a framework: its tasks are killed on all agents, without updates; its stream ends."""
        self._ledger.log(f"removed {framework}: {cause}")
        self._ledger.withdraw_offers(framework.offers.values())
        self._shut_down_on_agents(framework)
        self._channels.close(framework)
        self._ledger.emit(CancelTimer(FailoverOver(framework.id)))
        framework.life.step(FrameworkState.REMOVED)
        framework.unregistered_s = self._ledger.now
        self._ledger.announce.framework_removed(framework)
        self._ledger.inform(alloc.FrameworkRemoved(framework_id=framework.id))
        del self._books.frameworks[framework.id]
        self._remember(framework)
        self._ledger.wants_allocation = True

    def _shut_down_on_agents(self, framework: Framework) -> None:
        shutdown = internal_pb2.ShutdownFrameworkMessage()
        shutdown.framework_id.value = framework.id
        for agent in self._books.connected_agents():
            self._ledger.send(agent, shutdown)
        reason = mesos_pb2.TaskStatus.REASON_FRAMEWORK_REMOVED
        for task in list(framework.tasks.values()):
            if not task.is_terminal:
                text = f"Framework {framework.id} removed"
                status = task_status(task, mesos_pb2.TASK_KILLED, reason, text, self._ledger.now)
                self._ledger.update_task(task, status, status.state)
            self._ledger.close_task(task)
        for agent, executor in list(self._books.executors_of(framework.id)):
            self._ledger.remove_executor(framework, agent, ExecutorId(executor.info.executor_id.value))

    def _remember(self, framework: Framework) -> None:
        self._ledger.record(EndFramework(framework_id=framework.id))
        completed = self._books.completed_frameworks
        completed[framework.id] = framework
        while len(completed) > self._books.limits.completed_frameworks:
            completed.popitem(last=False)
