"""When to try again: equal jitter under a doubling, capped bound."""

from random import Random


class Backoff:
    """Delays for repeated tries: each uniform in [bound/2, bound].

    The bound starts at `initial_s` and doubles with each try up to `max_s`.
    """

    def __init__(self, initial_s: float, max_s: float, random: Random) -> None:
        self._initial_s = initial_s
        self._max_s = max_s
        self._random = random
        self._bound_s = initial_s

    def next(self) -> float:
        """The seconds to wait before the next try."""
        delay_s = self._bound_s * (0.5 + 0.5 * self._random.random())
        self._bound_s = min(self._bound_s * 2, self._max_s)
        return delay_s

    def reset(self) -> None:
        """A try succeeded: begin anew with short delays."""
        self._bound_s = self._initial_s
