"""Rows of the table journal as a forger, or a later release, could write them: with the right checksum (db/checksum.cc, again)."""
import struct
import zlib

COLUMNS = ("seq", "term", "time_us", "actor", "kind", "version", "subject_kind", "subject_id", "payload")


def checksum(row):
    data = b""
    for name in COLUMNS:
        value = row[name]
        if isinstance(value, int):
            data += struct.pack("<Q", value)
        else:
            text = value.encode()
            data += struct.pack("<Q", len(text)) + text
    return zlib.crc32(data)
