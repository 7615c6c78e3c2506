"""The bytes of version files: compression, line ends, damage."""

import gzip
import zlib
from pathlib import Path

from support.writers.cases.case import Cases
from support.writers.cases.expected import Expected, Fatal, line, naming
from support.writers.handmade import HandMade, add, file, metadata
from support.writers.log_folder import java_gzip, lines, rust_gzip, scala_compressed

CASES = Cases("1.1")

A, B, C = file("a", 1_000), file("b", 2_000), file("c", 3_000)
ADDS = lines([add(A), add(B)])
ONE = r"0{19}1\.json"


def _table(root: Path, data: bytes) -> HandMade:
    hand = HandMade(root)
    hand.start()
    hand.raw_version(1, data)
    return hand


READABLE = {
    "plain text": ADDS,
    "01 01 and gzip": scala_compressed(ADDS),
    "plain gzip": rust_gzip(ADDS),
    "01 02 and gzip": b"\x01\x02" + java_gzip(ADDS),
    "gzip with a file name, a comment and a time in its header": gzip.compress(ADDS, mtime=1_700_000_000),
    "gzip in several members": rust_gzip(lines([add(A)])) + rust_gzip(lines([add(B)])),
    "01 01 and gzip in several members": scala_compressed(lines([add(A)])) + java_gzip(lines([add(B)])),
    "gzip members that split a line": rust_gzip(ADDS[:40]) + rust_gzip(ADDS[40:]),
    "gzip with garbage after it": rust_gzip(ADDS) + b"\x00\x00 and more",
    "gzip with zeros after it": rust_gzip(ADDS) + bytes(512),
    "01 01 and gzip with garbage after it": scala_compressed(ADDS) + b"garbage",
    "lines that end in CR LF": ADDS.replace(b"\n", b"\r\n"),
    "no final newline": ADDS.removesuffix(b"\n"),
    "a byte order mark": b"\xef\xbb\xbf" + ADDS,
    "a byte order mark inside gzip": rust_gzip(b"\xef\xbb\xbf" + ADDS),
    "blank lines": b"\n" + ADDS.replace(b"\n", b"\n\n  \n"),
    "spaces around the JSON": b"  " + ADDS.replace(b"\n", b"  \n\t"),
    "escaped and raw characters outside ASCII": ADDS
    + b'{"commitInfo":{"text":"\\u00e9\xc3\xa9\xf0\x9f\x8e\x89\\ud83c\\udf89"}}\n',
    "a line separator inside a string": ADDS + '{"commitInfo":{"text":"one\u2028two\u0085three"}}\n'.encode(),
}

for _name, _data in READABLE.items():

    @CASES.readable(f"version file: {_name}")
    def _(root: Path, data: bytes = _data) -> Expected:
        return _table(root, data).expected(1, [A, B])


for _name, _data in {
    "empty": b"",
    "empty inside gzip": rust_gzip(b""),
    "empty inside 01 01 and gzip": scala_compressed(b""),
    "only a newline": b"\n",
}.items():

    @CASES.fatal(f"version file: {_name} is refused, naming the file", "3")
    def _(root: Path, data: bytes = _data) -> Fatal:
        _table(root, data).version(2, add(C))
        return Fatal(naming(ONE, "empty"))


_GZIP = rust_gzip(ADDS)

for _name, _data in {
    "01 01 and zlib": b"\x01\x01" + zlib.compress(ADDS),
    "01 01 and plain text": b"\x01\x01" + ADDS,
    "01 01 and nothing": b"\x01\x01",
    "truncated gzip": _GZIP[:-20],
    "gzip without its trailer": _GZIP[:-8],
    "01 01 and truncated gzip": scala_compressed(ADDS)[:-20],
    "gzip whose checksum is wrong": _GZIP[:-8] + bytes([_GZIP[-8] ^ 1]) + _GZIP[-7:],
    "gzip whose data are damaged": _GZIP[:20] + bytes([_GZIP[20] ^ 0x55]) + _GZIP[21:],
    "a second gzip member that is truncated": _GZIP + rust_gzip(ADDS)[:-10],
    "bytes that are not UTF-8": ADDS + b'{"commitInfo":{"text":"\xff\xfe"}}\n',
    "UTF-16 text": ADDS.decode().encode("utf-16"),
}.items():

    @CASES.fatal(f"version file: {_name} is refused, naming the file")
    def _(root: Path, data: bytes = _data) -> Fatal:
        _table(root, data)
        return Fatal(naming(ONE))


for _name, _data in {
    "a truncated JSON line": ADDS + b'{"add":{"path":"c.par',
    "a truncated JSON line with a newline": ADDS + b'{"add":{"path":"c.par\n' + lines([add(C)]),
    "an array line": ADDS + b'[{"add":{}}]\n',
    "a null line": ADDS + b"null\n",
    "a number line": ADDS + b"17\n",
    "a string line": ADDS + b'"add"\n',
    "two objects on a line": ADDS + b"{} {}\n",
    "a line nested without end": ADDS + b'{"commitInfo":' + b"[" * 200_000 + b"\n",
    "a line nested too deeply": ADDS + b'{"commitInfo":' + b"[" * 200_000 + b"]" * 200_000 + b"}\n",
    "an action that is no object": ADDS + b'{"add":"c.parquet"}\n',
}.items():

    @CASES.fatal(f"version file: {_name} is refused, naming file and line", "3")
    def _(root: Path, data: bytes = _data) -> Fatal:
        _table(root, data)
        return Fatal(naming(ONE, line(3)))


@CASES.readable("version file: damage below a state is not read", "5.4")
def _(root: Path) -> Expected:
    hand = _table(root, b"\x01\x01 damaged")
    hand.state(2, [hand.manifest([A])], meta=metadata("table-at-0"))
    hand.pointer(2)
    return hand.expected(2, [A])
