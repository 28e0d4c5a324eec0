"""The journal of a sweep, read and written by code of its own, from the words in engine/sweep/journal.h."""
import dataclasses
import json
import pathlib
import struct

FORMAT = b"fairlane sweep journal 1\n"
HEAD = struct.Struct("<IQI")  # size, number, CRC-32C of number and text
POLYNOMIAL = 0x82F63B78       # Castagnoli's, mirrored


def crc_table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (POLYNOMIAL if value & 1 else 0)
        table.append(value)
    return table


TABLE = crc_table()


def crc32c(data):
    """CRC-32C, RFC 3720."""
    value = 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ TABLE[(value ^ byte) & 0xFF]
    return value ^ 0xFFFFFFFF


assert crc32c(b"123456789") == 0xE3069283


@dataclasses.dataclass
class Record:
    """at, end: its bytes in the file."""
    number: int
    value: dict
    at: int
    end: int

    @property
    def kind(self):
        return self.value["kind"]


@dataclasses.dataclass
class Journal:
    """records: acknowledged ones, with COMMITs; end: of the last COMMIT; number: its; rest: what follows."""
    records: list
    end: int
    number: int
    rest: bytes

    def finished(self):
        """The cells whose results are there."""
        return [record.value["cell"] for record in self.records
                if record.kind == "RESULT" and record.value["exit"] in (0, 3)]


def read(path):
    """Reads a journal whose end may be torn."""
    data = pathlib.Path(path).read_bytes()
    journal = Journal([], 0, 0, data)
    if not data.startswith(FORMAT):
        assert FORMAT.startswith(data), f"{path} is no journal"
        return journal
    at, waiting = len(FORMAT), []
    journal.end = at
    while len(data) - at >= HEAD.size:
        size, number, crc = HEAD.unpack_from(data, at)
        text = data[at + HEAD.size:at + HEAD.size + size]
        if len(text) < size or crc32c(struct.pack("<Q", number) + text) != crc:
            break
        expected = (waiting or journal.records)[-1].number + 1 if waiting or journal.records else 1
        assert number == expected, f"{path}: record {number} where {expected} is due"
        waiting.append(Record(number, json.loads(text), at, at + HEAD.size + size))
        at = waiting[-1].end
        if waiting[-1].kind == "COMMIT":
            journal.records += waiting
            journal.end, journal.number, waiting = at, number, []
    journal.rest = data[journal.end:]
    return journal


def packed(values):
    """The bytes of a journal with these records, numbered from 1."""
    data = FORMAT
    for number, value in enumerate(values, 1):
        text = json.dumps(value, separators=(",", ":")).encode()
        data += HEAD.pack(len(text), number, crc32c(struct.pack("<Q", number) + text)) + text
    return data
