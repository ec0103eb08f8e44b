"""The text grammar of resources and attributes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfmesos.resources import Ranges, Resources, ResourcesError, parse_attributes
from tfmesos.wire.json_codec import message_to_dict

amounts = st.integers(1, 10**9).map(lambda amount: amount / 1000)
names = st.sampled_from(["cpus", "mem", "disk"])
scalar_texts = st.lists(st.tuples(names, st.sampled_from(["", "(a)", "(a/b)"]), amounts), max_size=5)


@given(scalar_texts)
def test_what_is_printed_can_be_parsed_again(entries: list[tuple[str, str, float]]) -> None:
    bag = Resources.parse(";".join(f"{name}{role}:{amount}" for name, role, amount in entries))
    assert Resources.parse(str(bag.strip_reservations())) == bag.strip_reservations()
    assert Resources.parse(json.dumps([message_to_dict(message) for message in bag.to_proto()])) == bag


def test_text_and_json_say_the_same() -> None:
    text = "cpus(a):0.5;mem:128;ports:[1-2,3-4];x:{a,b}"
    items = [
        {"name": "cpus", "type": "SCALAR", "role": "a", "scalar": {"value": 0.5}},
        {"name": "mem", "type": "SCALAR", "scalar": {"value": 128}},
        {"name": "ports", "type": "RANGES", "ranges": {"range": [{"begin": 1, "end": 4}]}},
        {"name": "x", "type": "SET", "set": {"item": ["b", "a"]}},
    ]
    assert Resources.parse(json.dumps(items)) == Resources.parse(text)


def test_blanks_and_empty_entries_do_not_count() -> None:
    assert Resources.parse(" cpus : 1 0 ; ;;ports:[ 1 - 2 ]") == Resources.parse("cpus:10;ports:[1-2]")
    assert Resources.parse("") == Resources()


def test_the_default_role_is_for_what_names_none() -> None:
    assert Resources.parse("cpus:1;mem(b):2", "a") == Resources.parse("cpus(a):1;mem(b):2")
    assert Resources.parse("cpus(*):1", "a") == Resources.parse("cpus:1")
    item = {"name": "cpus", "type": "SCALAR", "scalar": {"value": 1}}
    assert Resources.parse(json.dumps([item]), "a") == Resources.parse("cpus(a):1")


def test_ranges_are_merged() -> None:
    assert Resources.parse("ports:[3-4,1-2,2-3]").ranges("ports") == Ranges([(1, 4)])


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("cpus", "Bad value for resources, missing or extra ':' in cpus"),
        ("cpus:1:2", "Bad value for resources, missing or extra ':' in cpus:1:2"),
        ("cpus:", "Bad value for resources, missing or extra ':' in cpus:"),
        (":1", "Bad value for resources, missing or extra ':' in :1"),
        ("cpus(a:1", "Bad value for resources, mismatched parentheses in cpus(a:1"),
        ("cpus:abc", "Bad type for resource cpus value abc type TEXT"),
        ("ports:[1-2", "Mismatched brackets"),
        ("ports:[1-2,3]", 'Expecting one or more "ranges"'),
        ("ports:[a-b]", "Expecting non-negative integers in 'a'"),
        ("ports:[5-1]", "begin > end"),
        ("ports:1[2-3]", "Unexpected '[' found"),
        ("x:1{a}", "Unexpected '{' found"),
        ("x: ", "Expecting non-empty string"),
        ("cpus:-1", "Failed to parse resource cpus value -1"),
        ("cpus:nan", "Failed to parse resource cpus value nan"),
        ("cpus:inf", "Failed to parse resource cpus value inf"),
        ("cpus:1e308", "Failed to parse resource cpus value 1e308 error Invalid scalar value"),
        ("ports:[0-18446744073709551616]", "Number out of range in '18446744073709551616'"),
        (f"ports:[0-{'9' * 5000}]", "Number out of range in '9999"),
        ("cpus:1;cpus:[1-2]", "Resources with the same name ('cpus') but different types are not allowed"),
        ("[1]", "Expecting a Resource object, not 1"),
        ("[", "Failed to parse resources as JSON"),
        ("[" * 100_000, "Failed to parse resources as JSON"),
        ('[{"name":"cpus"}]', "Missing required fields: type"),
    ],
)
def test_a_wrong_text_is_named(text: str, error: str) -> None:
    with pytest.raises(ResourcesError) as caught:
        Resources.parse(text)
    assert error in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"revocable": {}}, "Revocable resources cannot be specified"),
        ({"reservations": [{"type": "DYNAMIC", "role": "a"}]}, "Dynamic reservations cannot be specified"),
        ({"disk": {"persistence": {"id": "x"}}}, "Persistent volumes cannot be specified"),
    ],
)
def test_what_only_programs_may_say_is_refused_in_json(fields: dict[str, object], error: str) -> None:
    item = {"name": "disk", "type": "SCALAR", "scalar": {"value": 1}, **fields}
    with pytest.raises(ResourcesError, match=error):
        Resources.parse(json.dumps([item]))


def test_attributes_are_scalars_ranges_or_texts() -> None:
    rack, speed, ports, address = parse_attributes("rack:r 1;speed: 2.5\nports:[1-2];address:a:b;")

    assert (rack.name, rack.text.value) == ("rack", "r1")
    assert speed.scalar.value == 2.5
    assert [(pair.begin, pair.end) for pair in ports.ranges.range] == [(1, 2)]
    assert address.text.value == "a:b"
    assert parse_attributes("") == []


@pytest.mark.parametrize("text", ["rack", ":x", "rack:", "rack:{a,b}", "rack:[1"])
def test_a_wrong_attribute_is_named(text: str) -> None:
    with pytest.raises(ResourcesError):
        parse_attributes(text)
