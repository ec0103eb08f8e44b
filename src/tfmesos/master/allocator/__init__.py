"""Who is offered what: pure; told of frameworks, agents and freed resources, it answers with allocations."""

from tfmesos.master.allocator.events import (
    AgentAdded,
    AgentChanged,
    AgentRemoved,
    AgentSetActive,
    AgentTraits,
    AgentUpdated,
    Allocation,
    Allocator,
    AllocatorEvent,
    FrameworkRemoved,
    FrameworkSet,
    FrameworkSetActive,
    FrameworkTraits,
    OffersRevived,
    OffersSuppressed,
    ResourcesRecovered,
    ResourcesUsed,
)
from tfmesos.master.allocator.hierarchical import AllocatorOptions, HierarchicalAllocator

__all__ = [
    "AgentAdded",
    "AgentChanged",
    "AgentRemoved",
    "AgentSetActive",
    "AgentTraits",
    "AgentUpdated",
    "Allocation",
    "Allocator",
    "AllocatorEvent",
    "AllocatorOptions",
    "FrameworkRemoved",
    "FrameworkSet",
    "FrameworkSetActive",
    "FrameworkTraits",
    "HierarchicalAllocator",
    "OffersRevived",
    "OffersSuppressed",
    "ResourcesRecovered",
    "ResourcesUsed",
]
