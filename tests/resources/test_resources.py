"""Bags of resources: arithmetic, reservations, what a role may use."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfmesos.resources import Entry, Key, Ranges, Reservation, Resources, ResourcesError, scalars, validate_gpus
from tfmesos.wire import mesos_pb2

SCALAR, RANGES, SET = 0, 1, 2
roles = st.sampled_from(["a", "a/b", "c"])
stacks = st.one_of(
    st.just(()),
    st.tuples(st.sampled_from([1, 2]), roles).map(lambda layer: (Reservation(*layer),)),
    st.just((Reservation(1, "a"), Reservation(2, "a/b", "me"))),
)


def keys(names: list[str], kind: int) -> st.SearchStrategy[Key]:
    parts = st.tuples(st.sampled_from(names), stacks, st.sampled_from([None, "a"]), st.booleans())
    return parts.map(lambda part: Key(part[0], kind, part[1], part[2], revocable=part[3]))


ranges = st.lists(st.tuples(st.integers(0, 20), st.integers(20, 30))).map(Ranges)
entries = st.one_of(
    st.builds(Entry, keys(["cpus", "mem"], SCALAR), st.integers(0, 5000)),
    st.builds(Entry, keys(["ports"], RANGES), ranges),
    st.builds(Entry, keys(["x"], SET), st.frozensets(st.sampled_from("abc"))),
)
bags = st.lists(entries, max_size=6).map(Resources)
scalar_bags = st.lists(st.builds(Entry, keys(["cpus", "mem"], SCALAR), st.integers(0, 5000)), max_size=6).map(Resources)


def parse(text: str, role: str = "*") -> Resources:
    return Resources.parse(text, role)


@given(scalar_bags, scalar_bags)
def test_what_was_added_can_be_taken_away_again(a: Resources, b: Resources) -> None:
    assert (a + b).contains(a)
    assert (a + b).contains(b)
    assert (a + b) - b == a


@given(bags, bags)
def test_addition_is_commutative_and_equal_bags_hash_alike(a: Resources, b: Resources) -> None:
    assert a + b == b + a
    assert hash(a + b) == hash(b + a)


@given(bags, bags)
def test_subtraction_needs_containment_and_undoes_addition(a: Resources, b: Resources) -> None:
    if a.contains(b):
        assert (a - b) + b == a
    else:
        with pytest.raises(ResourcesError, match="does not contain"):
            a - b


@given(bags)
def test_nothing_is_a_neutral_part_of_everything(a: Resources) -> None:
    assert a + Resources() == a == Resources() + a
    assert a - a == Resources()
    assert a.contains(Resources())
    assert bool(a) == (len(a) > 0)
    assert all(amount for _, amount in a)


@given(st.lists(bags, max_size=4))
def test_a_total_is_the_sum_of_all(many: list[Resources]) -> None:
    assert Resources.total(many) == sum(many, Resources())


@given(bags)
def test_filters_split_a_bag(a: Resources) -> None:
    reserved = Resources(entry for entry in a if entry.key.reservations)
    assert a.unreserved() + reserved == a
    assert a.allocatable_to("a/b") == a.unreserved() + a.reserved_to("a") + a.reserved_to("a/b")
    assert a.strip_reservations().unreserved() == a.strip_reservations()
    assert a.strip_reservations().scalar("cpus") == a.scalar("cpus")


@given(bags)
def test_messages_come_back(a: Resources) -> None:
    assert Resources.from_proto(a.to_proto("post")) == a
    assert Resources.from_proto(a.to_proto("endpoint")) == a
    assert Resources.from_proto(a.to_proto(role="r")).unallocated() == a.unallocated()
    assert Resources.from_proto(a.to_proto(role="r")) == a.allocated("r")


@given(scalar_bags, st.integers(0, 5000), st.integers(0, 5000), roles)
def test_what_is_found_is_there_and_is_what_was_wanted(a: Resources, cpus: int, mem: int, role: str) -> None:
    wanted = scalars(cpus=cpus / 1000, mem=mem / 1000)
    found = a.find(wanted, role)
    usable = a.allocatable_to(role).nonrevocable()
    if found is None:
        assert usable.scalar("cpus") < cpus or usable.scalar("mem") < mem
    else:
        assert usable.contains(found)
        assert found.strip_reservations().unallocated() == wanted


def test_a_role_uses_its_own_reservation_first_then_its_ancestors_then_what_is_free() -> None:
    offered = parse("cpus(a/b):1;cpus(a):1;cpus:2;cpus(c):8;ports:[1-9]")

    found = offered.find(parse("cpus:2.5;ports:[3-4]"), "a/b")

    assert found == parse("cpus(a/b):1;cpus(a):1;cpus:0.5;ports:[3-4]")
    assert offered.find(parse("cpus:4.5"), "a/b") is None
    assert offered.find(parse("cpus:2"), "*") == parse("cpus:2")
    assert offered.find(parse("cpus:2.001"), "*") is None
    assert offered.find(parse("ports:[9-10]"), "*") is None


def test_found_resources_keep_their_allocation() -> None:
    offered = parse("cpus:2").allocated("a")
    assert offered.find(parse("cpus:1"), "a") == parse("cpus:1").allocated("a")


def test_containment_regards_reservations_allocation_and_revocability() -> None:
    revocable = Resources([Entry(Key("cpus", SCALAR, revocable=True), 4000)])

    assert not parse("cpus:4").contains(parse("cpus(a):1"))
    assert not parse("cpus(a):4").contains(parse("cpus:1"))
    assert not parse("cpus:4").allocated("a").contains(parse("cpus:1"))
    assert not revocable.contains(parse("cpus:1"))
    assert not parse("cpus:4").contains(revocable)
    assert not revocable.nonrevocable()


def test_amounts_are_rounded_to_thousandths() -> None:
    assert scalars(cpus=0.1) + scalars(cpus=0.2) == scalars(cpus=0.3)
    assert scalars(cpus=0.0005, mem=0.0025) == parse("cpus:0.0005;mem:0.0025") == parse("cpus:0.001;mem:0.003")
    assert parse("cpus:0.0004") == Resources()
    assert parse("cpus:0.0006").scalar("cpus") == 1


def test_sums_run_over_all_entries_of_a_name() -> None:
    bag = parse("cpus:1;cpus(a):2.5;ports:[1-2];ports(a):[3-4,9-9];x:{a}")
    assert bag.scalar("cpus") == 3500
    assert bag.ranges("ports") == Ranges([(1, 4), (9, 9)])
    assert bag.names() == {"cpus", "ports", "x"}
    assert bag.scalar("ports") == 0
    assert not bag.ranges("cpus")


def test_the_summary_always_has_the_four_and_shows_ranges_as_text() -> None:
    assert parse("cpus:1;cpus(a):2.5;ports:[1-2,5-6];x:{b,a}").summary() == {
        "cpus": 3.5,
        "gpus": 0.0,
        "mem": 0.0,
        "disk": 0.0,
        "ports": "[1-2, 5-6]",
        "x": "{a, b}",
    }
    revocable = Resources([Entry(Key("cpus", SCALAR, revocable=True), 4000)])
    assert revocable.summary() == {"cpus": 0.0, "gpus": 0.0, "mem": 0.0, "disk": 0.0, "cpus_revocable": 4.0}


def test_they_print_as_mesos_prints_them() -> None:
    recorded = "ports(allocated: *):[31000-32000]; cpus(allocated: *):3.9; mem(allocated: *):4096"
    assert str(parse("ports:[31000-32000];cpus:3.9;mem:4096").allocated("*")) == recorded
    assert str(parse("cpus(zzz):0.1").allocated("*")) == "cpus(allocated: *)(reservations: [(STATIC,zzz)]):0.1"
    assert (
        str(Resources([Entry(Key("cpus", SCALAR, allocated="*", revocable=True), 100)]))
        == "cpus(allocated: *){REV}:0.1"
    )
    refined = (Reservation(1, "a"), Reservation(2, "a/b", "me"))
    assert str(Resources([Entry(Key("x", SET, refined), frozenset("ab"))])) == (
        "x(reservations: [(STATIC,a),(DYNAMIC,a/b,me)]):{a, b}"
    )


def messages(**fields: object) -> list[mesos_pb2.Resource]:
    resource = mesos_pb2.Resource(name="cpus", type=mesos_pb2.Value.SCALAR, **fields)  # type: ignore[arg-type]
    if not resource.HasField("scalar"):
        resource.scalar.value = 1
    return [resource]


def formats(bag: Resources, format: str) -> Iterable[tuple[str | None, str | None, list[str]]]:
    for message in bag.to_proto(format):  # type: ignore[arg-type]
        role = message.role if message.HasField("role") else None
        principal = message.reservation.principal if message.HasField("reservation") else None
        yield role, principal, [info.role for info in message.reservations]


def test_the_three_formats_say_reservations_each_in_its_way() -> None:
    dynamic = Resources([Entry(Key("cpus", SCALAR, (Reservation(2, "a", "me"),)), 1000)])
    refined = Resources([Entry(Key("cpus", SCALAR, (Reservation(1, "a"), Reservation(2, "a/b"))), 1000)])

    assert list(formats(parse("cpus:1"), "post")) == [(None, None, [])]
    assert list(formats(parse("cpus:1"), "pre")) == [("*", None, [])]
    assert list(formats(dynamic, "post")) == [(None, None, ["a"])]
    assert list(formats(dynamic, "pre")) == [("a", "me", [])]
    assert list(formats(dynamic, "endpoint")) == [("a", "me", ["a"])]
    assert list(formats(refined, "endpoint")) == [(None, None, ["a", "a/b"])]
    assert Resources.from_proto(dynamic.to_proto("pre")) == dynamic
    with pytest.raises(ResourcesError, match="refined reservation"):
        refined.to_proto("pre")


def test_the_old_format_is_read_as_a_stack() -> None:
    assert Resources.from_proto(messages(role="*")) == parse("cpus:1")
    assert Resources.from_proto(messages(role="a")) == parse("cpus(a):1")
    info = mesos_pb2.Resource.ReservationInfo(principal="me")
    assert Resources.from_proto(messages(role="a", reservation=info)) == Resources(
        [Entry(Key("cpus", SCALAR, (Reservation(2, "a", "me"),)), 1000)]
    )


def test_what_makes_resources_apart_survives_a_message() -> None:
    disk = mesos_pb2.Resource(name="disk", type=mesos_pb2.Value.SCALAR)
    disk.scalar.value = 5
    disk.disk.source.type = mesos_pb2.Resource.DiskInfo.Source.MOUNT
    disk.disk.source.mount.root = "/mnt"
    disk.provider_id.value = "p"
    disk.disk.persistence.id = "id"
    disk.shared.SetInParent()
    bag = Resources.from_proto([disk])

    assert bag.to_proto() == [disk]
    assert bag != parse("disk:5")
    assert bag.find(parse("disk:1"), "*") is None
    assert str(bag) == "disk[MOUNT:/mnt,id]<SHARED>:5"


reservation = mesos_pb2.Resource.ReservationInfo


@pytest.mark.parametrize(
    ("resource", "error"),
    [
        (messages(scalar={"value": -1.0}), "Resource 'cpus:-1' is invalid: Invalid scalar resource: value <= 0"),
        (messages(ranges={"range": []}), "Resource 'cpus:1' is invalid: Invalid scalar resource"),
        (messages(scalar={"value": float("nan")}), "is invalid: Invalid scalar resource: value is not finite"),
        (messages(scalar={"value": 0.0004}), "Resource 'cpus:0' is invalid: Invalid scalar resource: value <= 0"),
        (messages(scalar={"value": -0.0004}), "Resource 'cpus:0' is invalid: Invalid scalar resource: value <= 0"),
        (messages(scalar={"value": 1e308}), "is invalid: Invalid scalar resource: value is too large"),
        (messages(scalar={"value": 9.3e15}), "is invalid: Invalid scalar resource: value is too large"),
        (messages(disk={}), "DiskInfo should not be set for cpus resource"),
        (messages(shared={}), "Resource cpus cannot be shared"),
        (messages(reservation={}), 'role "*" cannot be dynamically reserved'),
        (messages(reservations=[{}]), "'Resource.ReservationInfo.type' field must be set"),
        (messages(reservations=[{"type": "STATIC"}]), "'Resource.ReservationInfo.role' field must be set"),
        (messages(reservations=[reservation(type="STATIC", role="*")]), 'role "*" cannot be reserved'),  # type: ignore[arg-type]
        (
            messages(reservations=[{"type": "STATIC", "role": "a"}, {"type": "DYNAMIC", "role": "b/a"}]),
            "role 'b/a' is not a refinement of 'a'",
        ),
    ],
)
def test_a_malformed_message_is_refused_with_mesos_text(resource: list[mesos_pb2.Resource], error: str) -> None:
    with pytest.raises(ResourcesError) as caught:
        Resources.from_proto(resource)
    assert error in str(caught.value)


def test_halves_of_a_thousandth_are_rounded_up_as_in_mesos() -> None:
    assert Resources.from_proto(messages(scalar={"value": 0.0005})).scalar("cpus") == 1
    assert Resources.from_proto(messages(scalar={"value": 0.0025})).scalar("cpus") == 3


def test_a_message_without_its_value_or_with_a_bad_one_is_refused_with_the_recorded_text() -> None:
    cpus = mesos_pb2.Resource(name="cpus", type=mesos_pb2.Value.SCALAR)
    with pytest.raises(ResourcesError, match=r"^Resource 'cpus:0' is invalid: Invalid scalar resource$"):
        Resources.from_proto([cpus])

    ports = mesos_pb2.Resource(name="ports", type=mesos_pb2.Value.RANGES)
    ports.ranges.range.add(begin=31005, end=31001)
    text = r"^Resource 'ports:\[31005-31001\]' is invalid: Invalid ranges resource: begin > end$"
    with pytest.raises(ResourcesError, match=text):
        Resources.from_proto([ports])

    ports.ranges.range[0].begin = 31000
    ports.ranges.range.add(begin=31001, end=31002)
    with pytest.raises(ResourcesError, match="Invalid ranges resource: overlapping ranges"):
        Resources.from_proto([ports])

    items = mesos_pb2.Resource(name="x", type=mesos_pb2.Value.SET)
    items.set.item.extend(["a", "a"])
    with pytest.raises(ResourcesError, match="Invalid set resource: duplicated elements"):
        Resources.from_proto([items])

    with pytest.raises(ResourcesError, match="Unsupported resource type"):
        Resources.from_proto([mesos_pb2.Resource(name="x", type=mesos_pb2.Value.TEXT)])
    with pytest.raises(ResourcesError, match="Empty resource name"):
        Resources.from_proto([mesos_pb2.Resource(type=mesos_pb2.Value.SCALAR)])


@pytest.mark.parametrize(
    ("amounts", "is_whole"),
    [
        ((), True),
        ((1.0, 2.0), True),
        ((0.3, 0.7), True),
        ((0.5,), False),
        ((0.9995,), False),
        ((0.0005, 0.9995), False),
    ],
)
def test_only_a_whole_number_of_cards_is_valid(amounts: tuple[float, ...], is_whole: bool) -> None:
    cards = [mesos_pb2.Resource(name="gpus", type=mesos_pb2.Value.SCALAR) for _ in amounts]
    for card, amount in zip(cards, amounts, strict=True):
        card.scalar.value = amount
    other = mesos_pb2.Resource(name="cpus", type=mesos_pb2.Value.SCALAR)
    other.scalar.value = 0.5
    assert (validate_gpus([*cards, other]) is None) == is_whole
