"""The texts that name a master (`--master`, `-m`, MESOS_MASTER)."""

import re

from tfmesos.discovery.detector import Detector, TcpDetector, UnixDetector
from tfmesos.discovery.errors import MasterAddressError
from tfmesos.transport import TcpAddress, UnixAddress

DEFAULT_PORT = 5050
_ALLOWED = "allowed are HOST:PORT, HOST (port 5050), [IPV6]:PORT, http://HOST:PORT and unix:///PATH"
_LATER = ("zk://", "file://", "https://")
_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"  # 1 to 63 bytes (RFC 1035); Python's idna refuses others
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})*\.?")
_IPV6 = re.compile(r"\[([0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*(?:%[A-Za-z0-9._-]+)?)\](?::(.*))?")
_LONGEST_SOCKET_PATH = 107  # kernel: unix(7), sun_path holds 108 bytes with the final NUL


def build_detector(text: str) -> Detector:
    """The detector for a master's address; MasterAddressError names a text that is none and what is allowed."""
    stripped = text.strip()
    if not stripped:
        raise MasterAddressError(text, f"is empty; {_ALLOWED}")
    for scheme in _LATER:
        if stripped.lower().startswith(scheme):
            raise MasterAddressError(text, f"{scheme} is not supported yet; {_ALLOWED}")
    if stripped.startswith("unix://"):
        return UnixDetector(_unix_address(text, stripped.removeprefix("unix://")))
    return TcpDetector(_tcp_address(text, re.sub(r"^http://", "", stripped, flags=re.IGNORECASE).removesuffix("/")))


def _unix_address(text: str, path: str) -> UnixAddress:
    if not path.startswith("/") or "\0" in path:
        raise MasterAddressError(text, "a unix socket needs an absolute path, as in unix:///run/master.sock")
    if len(path.encode(errors="surrogateescape")) > _LONGEST_SOCKET_PATH:
        raise MasterAddressError(text, f"the path of a unix socket has at most {_LONGEST_SOCKET_PATH} bytes")
    return UnixAddress(path)


def _tcp_address(text: str, rest: str) -> TcpAddress:
    bracketed = _IPV6.fullmatch(rest)
    if bracketed is not None:
        return TcpAddress(bracketed[1], _port(text, bracketed[2]))
    host, colon, port = rest.partition(":")
    if _HOST.fullmatch(host) is None or port.startswith("/"):
        raise MasterAddressError(text, _ALLOWED)
    return TcpAddress(host, _port(text, port if colon else None))


def _port(text: str, port: str | None) -> int:
    if port is None:
        return DEFAULT_PORT
    if not port.isascii() or not port.isdigit() or not 0 < int(port[:6]) < 65536 or len(port) > 5:
        raise MasterAddressError(text, f"{port!r} is no port; a port is a number from 1 to 65535")
    return int(port)
