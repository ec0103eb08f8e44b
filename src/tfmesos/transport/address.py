"""Where a peer listens: a TCP port or a unix socket."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TcpAddress:
    """A host (name, IPv4 or IPv6 address without brackets) and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class UnixAddress:
    """The path of a unix socket."""

    path: str

    def __str__(self) -> str:
        return f"unix://{self.path}"


Address = TcpAddress | UnixAddress
