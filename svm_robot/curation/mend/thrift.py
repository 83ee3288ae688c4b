"""The compact protocol of Apache Thrift, as far as Parquet's headers and footers need it: read and write without types.

A struct is a list of (field number, kind, value); a list is (kind of its elements, values).
"""

from typing import Any

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)

type Struct = list[tuple[int, int, Any]]


class ThriftReader:
    """Reads values from ``data``, beginning at ``at``. Raises ``ValueError`` or ``IndexError`` for what is none."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data, self.at = data, at

    def struct(self) -> Struct:
        """All fields of a struct."""
        fields: Struct = []
        number = 0
        while head := self._byte():
            kind, step = head & 15, head >> 4
            number = number + step if step else self._signed()
            fields.append((number, kind, self._value(kind)))
        return fields

    def _value(self, kind: int) -> Any:
        if kind in (TRUE, FALSE):
            return kind == TRUE
        if kind in (I16, I32, I64):
            return self._signed()
        if kind == BYTE:
            return self._byte()
        if kind == DOUBLE:
            return self._take(8)
        if kind == BINARY:
            return self._take(self._plain())
        if kind in (LIST, SET):
            head = self._byte()
            of, size = head & 15, head >> 4
            size = self._plain() if size == 15 else size
            return of, [self._element(of) for _ in range(size)]
        if kind == STRUCT:
            return self.struct()
        raise ValueError(f"unknown kind of value {kind}")

    def _element(self, kind: int) -> Any:
        return self._byte() == TRUE if kind in (TRUE, FALSE) else self._value(kind)

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _take(self, size: int) -> bytes:
        if self.at + size > len(self.data):
            raise ValueError("cut short")
        self.at += size
        return self.data[self.at - size : self.at]

    def _plain(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 128:
            value |= (byte & 127) << shift
            shift += 7
        return value | byte << shift

    def _signed(self) -> int:
        value = self._plain()
        return (value >> 1) ^ -(value & 1)


def to_bytes(fields: Struct) -> bytes:
    """The inverse of ``ThriftReader.struct``."""
    written = bytearray()
    last = 0
    for number, kind, value in fields:
        kind = (TRUE if value else FALSE) if kind in (TRUE, FALSE) else kind
        step = number - last
        written += bytes([step << 4 | kind]) if 0 < step < 16 else bytes([kind]) + signed(number)
        last = number
        if kind not in (TRUE, FALSE):
            written += value_bytes(kind, value)
    return bytes(written) + b"\0"


def value_bytes(kind: int, value: Any) -> bytes:
    """One value without its field's head."""
    if kind in (I16, I32, I64):
        return signed(value)
    if kind in (TRUE, FALSE, BYTE):
        return bytes([int(value) if kind == BYTE else TRUE if value else FALSE])
    if kind == DOUBLE:
        return bytes(value)
    if kind == BINARY:
        return plain(len(value)) + bytes(value)
    if kind in (LIST, SET):
        of, values = value
        head = bytes([len(values) << 4 | of]) if len(values) < 15 else bytes([0xF0 | of]) + plain(len(values))
        return head + b"".join(value_bytes(of, element) for element in values)
    return to_bytes(value)


def plain(value: int) -> bytes:
    """A number of seven bits per byte, the lowest first."""
    written = bytearray()
    while value > 127:
        written.append(value & 127 | 128)
        value >>= 7
    return bytes([*written, value])


def signed(value: int) -> bytes:
    """The same for numbers with a sign."""
    return plain(value << 1 if value >= 0 else (-value << 1) - 1)


def field(fields: Struct, number: int) -> Any:
    """The value of one field; None when it is absent."""
    return next((value for known, _, value in fields if known == number), None)


def with_field(fields: Struct, number: int, kind: int, value: Any) -> Struct:
    """The struct with one field set, or (None) left out."""
    others = [entry for entry in fields if entry[0] != number]
    return sorted(others + ([(number, kind, value)] if value is not None else []), key=lambda entry: entry[0])
