"""Reads a run file of W&B (``run-*.wandb``): records of protobuf within the frames of a LevelDB log.

W&B's package has no reader of them since its datastore module was removed, so both are read here, as
github.com/wandb/wandb has them in core/pkg/leveldb/record.go and wandb/proto/wandb_internal.proto.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MAGIC, BLOCK = b":W&B", 32_768
HEADER, FRAME = struct.Struct("<4sHB"), struct.Struct("<IHB")
FULL, FIRST, LAST = 1, 2, 4
HISTORY, ITEM = 2, 1
"""The fields of a record's history, and of its items."""
NAMES, JSON = (1, 2), 16
"""The fields of an item's name, whole or in parts, and of its value."""


def history(path: Path, notes: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the values logged at each step, by name; damage at the end is noted.

    Raises:
        ValueError: a file that is not W&B's.
    """
    try:
        for record in _records(path):
            for number, value in _fields(record):
                if number == HISTORY:
                    yield dict(_item(item) for place, item in _fields(value) if place == ITEM)
    except (EOFError, IndexError) as error:
        notes.append(f"{path} is damaged, or was being written ({error}): it is read up to there")


def _records(path: Path) -> Iterator[bytes]:
    with path.open("rb") as stream:
        block, whole, at = stream.read(BLOCK), b"", HEADER.size
        if block[:len(MAGIC)] != MAGIC:
            raise ValueError((f"{path} is not a run file of W&B" if block else f"{path} is empty")
                             + ": name the run-*.wandb within its folder, or export the charts as CSV")
        while block:
            while at + FRAME.size <= len(block):
                checksum, size, kind = FRAME.unpack_from(block, at)
                data = block[at + FRAME.size:at + FRAME.size + size]
                if not kind:
                    break  # zeros to the end of the block
                if len(data) < size or zlib.crc32(data, zlib.crc32(bytes([kind]))) != checksum:
                    raise EOFError("a record is cut or altered")
                whole = data if kind in (FULL, FIRST) else whole + data
                if kind in (FULL, LAST):
                    yield whole
                at += FRAME.size + size
            block, at = stream.read(BLOCK), 0


def _item(data: bytes) -> tuple[str, Any]:
    fields = list(_fields(data))
    name = "/".join(value.decode() for number, value in fields if number in NAMES)
    return name, next((json.loads(value) for number, value in fields if number == JSON), None)


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Yield numbers and values of a message's fields: whole numbers as such, others as their bytes."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        size = {1: 8, 5: 4}.get(tag & 7, 0)
        if tag & 7 == 0:
            value, at = _varint(data, at)
            yield tag >> 3, value
            continue
        if tag & 7 == 2:
            size, at = _varint(data, at)
        yield tag >> 3, data[at:at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while data[at] >= 128:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
    return value | data[at] << shift, at + 1
