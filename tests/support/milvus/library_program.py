"""Run as a process: loads the published library, and answers a list of requests, as JSON on its standard input, through
the library's C interface. Imports nothing of ours.

The library exports none of those functions, so each is found in its symbol table and called by its address.
"""

import ctypes
import json
import os
import struct
import sys
import time
from collections.abc import Callable
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_int64, c_size_t, c_uint8, c_uint32, c_uint64
from typing import Any

_RETRIES = 1


class Result(Structure):
    _fields_ = [("code", c_int), ("message", c_char_p)]


class Property(Structure):
    _fields_ = [("key", c_char_p), ("value", c_char_p)]


class Properties(Structure):
    _fields_ = [("items", POINTER(Property)), ("count", c_size_t)]


class File(Structure):
    _fields_ = [
        ("path", c_char_p),
        ("start", c_int64),
        ("end", c_int64),
        ("metadata", POINTER(c_uint8)),
        ("metadata_size", c_uint64),
    ]


class Group(Structure):
    _fields_ = [
        ("columns", POINTER(c_char_p)),
        ("num_columns", c_uint32),
        ("format", c_char_p),
        ("files", POINTER(File)),
        ("num_files", c_uint32),
    ]


class Groups(Structure):
    _fields_ = [("groups", POINTER(Group)), ("count", c_uint32)]


class DeltaLogs(Structure):
    _fields_ = [("paths", POINTER(c_char_p)), ("entries", POINTER(c_uint32)), ("count", c_uint32)]


class Stats(Structure):
    _fields_ = [
        ("keys", POINTER(c_char_p)),
        ("files", POINTER(POINTER(c_char_p))),
        ("file_counts", POINTER(c_uint32)),
        ("count", c_uint32),
    ]


class Manifest(Structure):
    _fields_ = [("groups", Groups), ("delta_logs", DeltaLogs), ("stats", Stats)]


class LibraryError(Exception):
    """The library refused; the message is its own."""


class Library:
    def __init__(self, path: str, lzma: str) -> None:
        ctypes.CDLL(lzma, mode=ctypes.RTLD_GLOBAL)
        self._loaded = ctypes.CDLL(path, mode=os.RTLD_LOCAL | os.RTLD_NOW)
        addresses = _addresses(path, "loon_")
        base = _base_address(path)

        def function(name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
            return ctypes.CFUNCTYPE(result, *arguments)(base + addresses[f"loon_{name}"])

        handle, text, long = c_size_t, c_char_p, c_int64
        self._create = function(
            "properties_create", Result, POINTER(text), POINTER(text), c_size_t, POINTER(Properties)
        )
        self._begin = function("transaction_begin", Result, text, POINTER(Properties), long, c_uint32, POINTER(handle))
        self._destroy = function("transaction_destroy", None, handle)
        self._manifest = function("transaction_get_manifest", Result, handle, POINTER(POINTER(Manifest)))
        self._free_manifest = function("manifest_destroy", None, POINTER(Manifest))
        self._read_version = function("transaction_get_read_version", Result, handle, POINTER(long))
        self._add_group = function("transaction_add_column_group", Result, handle, POINTER(Group))
        self._append = function("transaction_append_files", Result, handle, POINTER(Groups))
        self._add_delta_log = function("transaction_add_delta_log", Result, handle, text, long)
        self._update_stat = function("transaction_update_stat", Result, handle, text, POINTER(text), c_size_t)
        self._commit = function("transaction_commit", Result, handle, POINTER(long))

    def read(self, root: str, base: str, version: int) -> dict[str, Any]:
        transaction = self.begin(root, base, version)
        try:
            found = c_int64()
            _check(self._read_version(transaction, byref(found)))
            manifest = POINTER(Manifest)()
            _check(self._manifest(transaction, byref(manifest)))
            try:
                return {"version": found.value, **_values(manifest.contents)}
            finally:
                self._free_manifest(manifest)
        finally:
            self._destroy(transaction)

    def time_read(self, root: str, base: str, version: int, times: int) -> list[float]:
        """Seconds for opening a version and having its C structures, which is as far as any caller goes."""
        taken = []
        for _ in range(times):
            before = time.perf_counter()
            transaction = self.begin(root, base, version)
            manifest = POINTER(Manifest)()
            _check(self._manifest(transaction, byref(manifest)))
            taken.append(time.perf_counter() - before)
            self._free_manifest(manifest)
            self._destroy(transaction)
        return taken

    def commit(self, root: str, base: str, version: int, updates: dict[str, Any]) -> dict[str, Any]:
        transaction, taken = self.begin(root, base, version), 0.0
        try:
            kept = self.stage(transaction, updates)
            committed = c_int64()
            before = time.perf_counter()
            _check(self._commit(transaction, byref(committed)))
            taken = time.perf_counter() - before
            del kept
            return {"version": committed.value, "seconds": taken}
        finally:
            self._destroy(transaction)

    def begin(self, root: str, base: str, version: int) -> Any:
        transaction = c_size_t()
        _check(self._begin(base.encode(), byref(self._properties(root)), version, _RETRIES, byref(transaction)))
        return transaction

    def stage(self, transaction: Any, updates: dict[str, Any]) -> list[Any]:
        """Returns what must stay alive until the commit."""
        kept: list[Any] = []
        for group in updates.get("groups", ()):
            (made,) = _groups([group], kept)
            _check(self._add_group(transaction, byref(made)))
        for append in updates.get("appends", ()):
            array = _groups(append, kept)
            _check(self._append(transaction, byref(Groups(array, len(append)))))
        for path, entries in updates.get("deltas", ()):
            _check(self._add_delta_log(transaction, path.encode(), entries))
        for key, files in updates.get("stats", {}).items():
            texts = _texts(files)
            kept.append(texts)
            _check(self._update_stat(transaction, key.encode(), texts, len(files)))
        return kept

    def _properties(self, root: str) -> Properties:
        properties = Properties()
        keys, values = _texts(["fs.storage_type", "fs.root_path"]), _texts(["local", root])
        _check(self._create(keys, values, 2, byref(properties)))
        return properties


def _groups(groups: list[dict[str, Any]], kept: list[Any]) -> Any:
    made = (Group * len(groups))()
    for place, group in enumerate(groups):
        files = (File * max(len(group["files"]), 1))()
        for index, (path, start, end, metadata) in enumerate(group["files"]):
            data = bytes.fromhex(metadata)
            buffer = (c_uint8 * max(len(data), 1)).from_buffer_copy(data or b"\x00")
            kept.append(buffer)
            files[index] = File(path.encode(), start, end, buffer if data else None, len(data))
        columns = _texts(group["columns"])
        kept += [files, columns]
        made[place] = Group(columns, len(group["columns"]), group["format"].encode(), files, len(group["files"]))
    kept.append(made)
    return made


def _texts(texts: list[str]) -> Any:
    return (c_char_p * max(len(texts), 1))(*(text.encode() for text in texts))


def _values(manifest: Manifest) -> dict[str, Any]:
    groups, logs, stats = manifest.groups, manifest.delta_logs, manifest.stats
    return {
        "groups": [
            {
                "columns": [group.columns[place].decode() for place in range(group.num_columns)],
                "format": group.format.decode(),
                "files": [
                    [file.path.decode(), file.start, file.end, bytes(file.metadata[: file.metadata_size]).hex()]
                    for file in group.files[: group.num_files]
                ],
            }
            for group in groups.groups[: groups.count]
        ],
        "deltas": [[logs.paths[place].decode(), logs.entries[place]] for place in range(logs.count)],
        "stats": {
            stats.keys[place].decode(): [path.decode() for path in stats.files[place][: stats.file_counts[place]]]
            for place in range(stats.count)
        },
    }


def _check(result: Result) -> None:
    if result.code != 0:
        raise LibraryError((result.message or b"no message").decode("utf-8", "replace"))


def _base_address(path: str) -> int:
    real = os.path.realpath(path)
    with open("/proc/self/maps") as maps:
        return min(int(line.split("-")[0], 16) for line in maps if line.rstrip("\n").endswith(real))


def _addresses(path: str, prefix: str) -> dict[str, int]:
    """The functions in an ELF file's symbol table whose names begin so."""
    with open(path, "rb") as file:
        data = file.read()
    (sections_at,) = struct.unpack_from("<Q", data, 0x28)
    section_size, count = struct.unpack_from("<HH", data, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, sections_at + place * section_size) for place in range(count)]
    found = {}
    for section in sections:
        if section[1] != 2:
            continue
        names = sections[section[6]][4]
        for name_at, _, _, _, value, _ in struct.iter_unpack("<IBBHQQ", data[section[4] : section[4] + section[5]]):
            start = names + name_at
            if data.startswith(prefix.encode(), start):
                found[data[start : data.index(b"\0", start)].decode()] = value
    return found


def _answer(library: Library, request: dict[str, Any]) -> dict[str, Any]:
    place = (request["root"], request["base"], request.get("version", -1))
    try:
        match request["do"]:
            case "read":
                return library.read(*place)
            case "commit":
                return library.commit(*place, request["updates"])
            case "time_read":
                return {"seconds": library.time_read(*place, request["times"])}
            case other:
                raise SystemExit(f"unknown request {other!r}")
    except LibraryError as error:
        return {"error": str(error)}


def main() -> None:
    answers_to = os.dup(1)
    os.dup2(2, 1)  # whatever the library prints is no answer
    library = Library(sys.argv[1], sys.argv[2])
    answers = [_answer(library, request) for request in json.load(sys.stdin)]
    with os.fdopen(answers_to, "w") as out:
        json.dump(answers, out)
    os._exit(0)  # its threads don't end by themselves


if __name__ == "__main__":
    main()
