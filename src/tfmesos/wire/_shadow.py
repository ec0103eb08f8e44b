"""The same messages once more, holding text and messages only, in proto3, whose parser checks UTF-8 at full speed."""

from typing import cast

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError, Message

from tfmesos.wire._fields import is_repeated, message_of

_PACKAGE = "tfmesos.wire.shadow"


class Shadow:
    """Tells whether all text in serialized messages is UTF-8; builds what it needs per message type when first asked.

    A map is shadowed as what it is on the wire, a repeated message of key and value. Fields of other types become
    unknown fields, which the parser skips.
    """

    def __init__(self) -> None:
        """Knows nothing yet."""
        self._pool = descriptor_pool.DescriptorPool()
        self._names: dict[str, str] = {}
        self._files: list[str] = []
        self._classes: dict[type[Message], type[Message]] = {}

    def has_clean_text(self, cls: type[Message], data: bytes) -> bool:
        """Whether every text in `data`, a serialized `cls`, is UTF-8."""
        if cls not in self._classes:
            self._classes[cls] = self._build(cast(Descriptor, cls.DESCRIPTOR))
        try:
            self._classes[cls].FromString(data)
        except (DecodeError, UnicodeDecodeError):
            return False
        return True

    def _build(self, descriptor: Descriptor) -> type[Message]:
        file = descriptor_pb2.FileDescriptorProto(
            name=f"{_PACKAGE}.{len(self._files)}.proto", package=_PACKAGE, syntax="proto3", dependency=self._files
        )
        name = self._add(file, descriptor)
        self._pool.AddSerializedFile(file.SerializeToString())
        self._files.append(file.name)
        return message_factory.GetMessageClass(self._pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))

    def _add(self, file: descriptor_pb2.FileDescriptorProto, descriptor: Descriptor) -> str:
        """The shadow's name of a message; it is added to `file` with all it holds unless it is there already."""
        known = self._names.get(descriptor.full_name)
        if known is not None:
            return known
        name = self._names[descriptor.full_name] = f"M{len(self._names)}"
        shadow = file.message_type.add(name=name)
        for field in descriptor.fields:
            if field.type == FieldDescriptor.TYPE_STRING:
                self._add_field(shadow, field, None)
            elif field.type == FieldDescriptor.TYPE_MESSAGE:
                self._add_field(shadow, field, f".{_PACKAGE}.{self._add(file, message_of(field))}")
        return name

    @staticmethod
    def _add_field(shadow: descriptor_pb2.DescriptorProto, field: FieldDescriptor, type_name: str | None) -> None:
        kind = descriptor_pb2.FieldDescriptorProto
        shadow.field.add(
            name=f"f{field.number}",
            number=field.number,
            type=kind.TYPE_STRING if type_name is None else kind.TYPE_MESSAGE,
            type_name=type_name,
            label=kind.LABEL_REPEATED if is_repeated(field) else kind.LABEL_OPTIONAL,
        )
