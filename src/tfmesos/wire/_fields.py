"""What fields of messages are, said alike for all protobuf runtimes from 4.25 on."""

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

_REPEATED = 3
_REQUIRED = 2


def is_repeated(field: FieldDescriptor) -> bool:
    """Whether a field is repeated, maps included (`is_repeated` is new, `label` goes away)."""
    repeated: bool | None = getattr(field, "is_repeated", None)
    return repeated if repeated is not None else getattr(field, "label", 0) == _REPEATED


def is_required(field: FieldDescriptor) -> bool:
    """Whether a field is required."""
    required: bool | None = getattr(field, "is_required", None)
    return required if required is not None else getattr(field, "label", 0) == _REQUIRED


def is_map(field: FieldDescriptor) -> bool:
    """Whether a field is a map (a repeated message of key and value on the wire)."""
    return field.type == FieldDescriptor.TYPE_MESSAGE and bool(message_of(field).GetOptions().map_entry)


def map_value(field: FieldDescriptor) -> FieldDescriptor:
    """The field of a map's values."""
    value: FieldDescriptor = message_of(field).fields_by_name["value"]
    return value


def message_of(field: FieldDescriptor) -> Descriptor:
    """The message that a field of type message holds."""
    assert field.message_type is not None
    return field.message_type


def enum_of(field: FieldDescriptor) -> EnumDescriptor:
    """The enumeration that a field of type enum holds."""
    assert field.enum_type is not None
    return field.enum_type
