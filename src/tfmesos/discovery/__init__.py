"""Who leads: host:port, http://, a unix socket; and who it is that answers instead."""

from tfmesos.discovery.address_text import build_detector
from tfmesos.discovery.detector import Detector
from tfmesos.discovery.errors import MasterAddressError
from tfmesos.discovery.leader import EMBEDDED_MASTER_PID, Leader, agent_address, master_pid
from tfmesos.discovery.stranger import Stranger, find_stranger, stranger_text

__all__ = [
    "EMBEDDED_MASTER_PID",
    "Detector",
    "Leader",
    "MasterAddressError",
    "Stranger",
    "agent_address",
    "build_detector",
    "find_stranger",
    "master_pid",
    "stranger_text",
]
