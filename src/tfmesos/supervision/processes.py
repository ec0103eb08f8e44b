"""Processes as /proc shows them."""


def process_start_time(pid: int) -> int | None:
    """When the process started, in clock ticks after boot; None: there is none (zombies still have one).

    A pid and its start time together name a process for good (kernel: proc(5), field 22 of stat).
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            stat = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(stat[stat.rindex(b")") + 2 :].split()[19])
