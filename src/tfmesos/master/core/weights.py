"""Weights of roles: a role of weight 2 gets twice the share of one with 1. Operators change them (Mesos 1.11)."""

from collections.abc import Mapping

from tfmesos.master import allocator as alloc
from tfmesos.master.core.events import Answer, WeightsSet
from tfmesos.master.core.ledger import Ledger
from tfmesos.master.core.registry import SetWeight
from tfmesos.master.flags import MasterFlags
from tfmesos.master.validation import framework_roles, role_error
from tfmesos.wire import mesos_pb2


class Weights:
    """Once an operator has set any, the registry's weights count instead of the flags' (Mesos 1.11)."""

    def __init__(self, ledger: Ledger, flags: MasterFlags) -> None:
        self._ledger = ledger
        self._books = ledger.books
        self._flags = flags
        self._apply(self._books.registry.weights or dict(flags.weights or ()))

    def set(self, wish: WeightsSet) -> None:
        """Change the weights of these roles; those of others stay. Offers are made anew where it matters."""
        if error := self._error(wish.weights):
            text = f"Failed to validate update weights request JSON: {error}"
            self._ledger.emit(Answer(400, text))
            return
        for role, weight in {**self._books.weights, **wish.weights}.items():
            self._ledger.record(SetWeight(info=mesos_pb2.WeightInfo(role=role, weight=weight)))
        self._apply(self._books.registry.weights)
        self._ledger.log(f"weights set: {', '.join(f'{role}={weight:g}' for role, weight in wish.weights.items())}")
        frameworks = self._books.frameworks.values()
        if any(role in wish.weights for framework in frameworks for role in framework_roles(framework.info)):
            self._ledger.withdraw_offers(self._books.offers.values(), rescind=True)
            self._ledger.wants_allocation = True
        self._ledger.emit(Answer(200))

    def _apply(self, weights: Mapping[str, float]) -> None:
        self._books.weights = dict(weights)
        self._ledger.inform(alloc.WeightsSet(weights=self._books.weights))

    def _error(self, weights: Mapping[str, float]) -> str | None:
        for role, weight in weights.items():
            if error := role_error(role):
                return f"Invalid role '{role}': {error}"
            if self._flags.roles is not None and role not in self._flags.roles:
                return f"Unknown role '{role}'"
            if not 0 < weight < float("inf"):
                return f"Invalid weight '{weight:g}' for role '{role}': Weights must be positive"
        return None
