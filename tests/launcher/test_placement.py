"""Which task goes where."""

from collections import Counter
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from tests.launcher.builders import offer, wishes
from tfmesos.launcher.placement import Offer, Placed, Wish, place
from tfmesos.resources import Resources, scalars

PORTS = "ports:[31000-31099]"


def placed(
    wanted: list[Wish], *offers: Offer, role: str = "*", avoid: dict[str, set[int]] | None = None
) -> tuple[Placed, ...] | None:
    return place(wanted, offers, role, Random(1), avoid)


def test_several_tasks_fit_in_one_offer() -> None:
    found = placed(wishes(count=4), offer("1", f"cpus:16;mem:1024;{PORTS}"))

    assert found is not None
    assert [one.key.index for one in found] == [0, 1, 2, 3]
    assert len({one.port for one in found}) == 4


def test_a_part_of_a_gang_is_never_placed() -> None:
    assert placed(wishes(count=4), offer("1", f"cpus:3.9;mem:1024;{PORTS}")) is None


def test_every_task_needs_a_port() -> None:
    assert placed(wishes(count=2), offer("1", "cpus:16;mem:1024;ports:[5-5]")) is None


def test_tasks_with_cards_are_spread_fairly() -> None:
    offers = [offer(name, f"cpus:16;mem:1024;gpus:4;{PORTS}") for name in "ab"]

    found = placed(wishes(count=4, gpus=1), *offers)

    assert found is not None
    assert set(Counter(one.agent_id for one in found).values()) == {2}


def test_tasks_without_cards_spare_agents_that_have_some() -> None:
    found = placed(
        wishes(count=2), offer("gpu", f"cpus:64;mem:4096;gpus:4;{PORTS}"), offer("cpu", f"cpus:4;mem:4096;{PORTS}")
    )

    assert found is not None
    assert {one.agent_id for one in found} == {"agent-cpu"}


def test_offers_of_one_agent_count_together() -> None:
    found = placed(wishes(cpus=4), offer("1", f"cpus:2;mem:64;{PORTS}", "a"), offer("2", "cpus:2", "a"))

    assert found is not None


def test_what_is_reserved_to_the_role_is_used_first() -> None:
    found = placed(wishes(cpus=2), offer("1", f"cpus(ml):1;cpus:4;mem(ml):64;{PORTS}"), role="ml")

    assert found is not None
    assert str(found[0].resources).startswith("cpus(reservations: [(STATIC,ml)]):1; cpus:1; ")


def test_what_is_reserved_to_others_is_not_used() -> None:
    assert placed(wishes(cpus=2), offer("1", f"cpus(web):4;mem:64;{PORTS}"), role="ml") is None


def test_ports_of_an_earlier_attempt_are_avoided_while_others_are_left() -> None:
    offered = offer("1", "cpus:4;mem:256;ports:[10-12]")

    found = placed(wishes(), offered, avoid={offered.agent_id: {10, 12}})
    again = placed(wishes(), offered, avoid={offered.agent_id: {10, 11, 12}})

    assert found is not None
    assert found[0].port == 11
    assert again is not None


def test_a_gang_that_only_fits_tightly_is_placed() -> None:
    # spreading would put the two small tasks on different agents and leave no room for the large ones
    wanted = [*wishes("ps", 2, cpus=1, gpus=1), *wishes("worker", 1, cpus=3, gpus=0)]

    assert placed(wanted, offer("a", f"cpus:2;mem:512;gpus:2;{PORTS}"), offer("b", f"cpus:3;mem:512;{PORTS}"))


amounts = st.tuples(st.integers(0, 6), st.integers(1, 400), st.integers(0, 3))


@given(
    agents=st.lists(st.tuples(amounts, st.integers(0, 5)), max_size=4),
    tasks=st.lists(amounts, min_size=1, max_size=6),
    seed=st.integers(0, 9),
)
def test_nothing_is_used_twice_and_all_or_nothing_is_placed(
    agents: list[tuple[tuple[int, int, int], int]], tasks: list[tuple[int, int, int]], seed: int
) -> None:
    offers = []
    for number, ((cpus, mem, gpus), ports) in enumerate(agents):
        text = f";ports:[100-{99 + ports}]" if ports else ""
        offers.append(offer(str(number), f"cpus:{cpus};mem:{mem};gpus:{gpus}{text}"))
    wanted = [
        Wish(key=wish.key, resources=scalars(cpus=cpus, mem=mem, gpus=gpus))
        for wish, (cpus, mem, gpus) in zip(wishes(count=len(tasks)), tasks, strict=True)
    ]

    found = place(wanted, offers, "*", Random(seed))

    if found is None:
        return
    assert [one.key for one in found] == [wish.key for wish in wanted]
    for one in offers:
        used = Resources()
        for part in found:
            if part.agent_id == one.agent_id:
                used = used + part.resources
        assert one.resources.contains(used)
    assert len({(one.agent_id, one.port) for one in found}) == len(found)
    for part, wish in zip(found, wanted, strict=True):
        assert part.resources == wish.resources + Resources.parse(f"ports:[{part.port}-{part.port}]")
