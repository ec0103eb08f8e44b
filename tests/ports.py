"""Ports for programs that are to be started on them, also again and again."""

from __future__ import annotations

import socket
from contextlib import suppress
from random import SystemRandom

_PORTS = range(10000, 20000)
"""Below those that the kernel gives to whoever asks for any (Linux: from 32768 on) and those that tasks get here."""


def free_port() -> int:
    """One that is free on loopback, and stays so: the kernel gives it to nobody."""
    random = SystemRandom()  # Hypothesis seeds the shared one: others would choose the same
    while True:
        port = random.choice(_PORTS)
        with suppress(OSError), socket.socket() as bound:
            bound.bind(("127.0.0.1", port))
            return port
