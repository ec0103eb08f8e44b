"""The master without sockets, clocks and files: an event and the time in, actions out.

master.py          MasterCore: sends each event to the part that knows
events.py          what happens, and what the master wants done
books.py           what it knows: frameworks, agents, tasks, offers
registry.py        what it must not forget over a restart
lifecycle.py       the lives of these: which step may follow which
ledger.py          moves that touch books and allocator at once
subscriptions.py   frameworks come and change;  endings.py  they go;  channels.py  how they are reached
drivers.py         frameworks on libprocess;  driver_messages.py  what these say and hear
registrations.py   agents come;  returns.py  what they bring back;  observers.py  pings;  partings.py  how they go
drains.py          what operators do with agents: drain, deactivate, mark gone;  weights.py  and with weights
offering.py        allocations become offers;  launches.py  offers are answered;  starts.py  and become tasks
operations.py      what else may be asked for with offers
updates.py         running tasks;  statuses.py  those that the master itself makes
"""

from tfmesos.master.core.books import Books
from tfmesos.master.core.master import MasterCore, build_allocator
from tfmesos.master.core.registry import MemoryRegistry, Registry

__all__ = ["Books", "MasterCore", "MemoryRegistry", "Registry", "build_allocator"]
