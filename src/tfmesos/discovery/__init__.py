"""Who leads: host:port, http://, a unix socket. Knows addresses only."""

from tfmesos.discovery.address_text import build_detector
from tfmesos.discovery.detector import Detector
from tfmesos.discovery.errors import MasterAddressError
from tfmesos.discovery.leader import EMBEDDED_MASTER_PID, Leader, agent_address, master_pid

__all__ = [
    "EMBEDDED_MASTER_PID",
    "Detector",
    "Leader",
    "MasterAddressError",
    "agent_address",
    "build_detector",
    "master_pid",
]
