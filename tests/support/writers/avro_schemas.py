"""The Avro schemas that known writers put into their files, as Python values (docs/format.md, section 2)."""

from typing import Any

Schema = dict[str, Any]

NAMESPACE = "io.indextables.state"
JAR_NAMESPACE = "io.indextables.txlog"

_MAP = {"type": "map", "values": "string"}
_ARRAY = {"type": "array", "items": "string"}


def _required(name: str, kind: Any, doc: str, field_id: int) -> Schema:
    return {"name": name, "type": kind, "doc": doc, "field-id": field_id}


def _nullable(name: str, kind: Any, doc: str, field_id: int) -> Schema:
    return {"name": name, "type": ["null", kind], "doc": doc, "default": None, "field-id": field_id}


_FIELDS_18: list[Schema] = [
    _required("path", "string", "Relative path to the split file", 100),
    _required("partitionValues", _MAP, "Partition column values as string map", 101),
    _required("size", "long", "File size in bytes", 102),
    _required("modificationTime", "long", "File modification time (epoch milliseconds)", 103),
    _required("dataChange", "boolean", "Whether this file represents a data change", 104),
    _nullable("stats", "string", "JSON-encoded statistics", 110),
    _nullable("minValues", _MAP, "Minimum values per column for data skipping", 111),
    _nullable("maxValues", _MAP, "Maximum values per column for data skipping", 112),
    _nullable("numRecords", "long", "Number of records in the file", 113),
    _nullable("footerStartOffset", "long", "Byte offset where footer/metadata begins", 120),
    _nullable("footerEndOffset", "long", "Byte offset where footer/metadata ends", 121),
    {
        "name": "hasFooterOffsets",
        "type": "boolean",
        "doc": "Whether footer offsets are populated",
        "default": False,
        "field-id": 124,
    },
    _nullable("splitTags", _ARRAY, "Tags associated with this split", 132),
    _nullable("numMergeOps", "int", "Number of merge operations this split has been through", 134),
    _nullable("docMappingRef", "string", "Reference to doc mapping in schema registry", 135),
    _nullable("uncompressedSizeBytes", "long", "Uncompressed size of the split data", 136),
    _required("addedAtVersion", "long", "Transaction version when this file was added", 140),
    _required("addedAtTimestamp", "long", "Timestamp when this file was added (epoch milliseconds)", 141),
]

_COMPANION: list[Schema] = [
    _nullable("companionSourceFiles", _ARRAY, "Relative parquet file paths indexed into this companion split", 150),
    _nullable("companionDeltaVersion", "long", "Delta version this companion split was built from", 151),
    _nullable("companionFastFieldMode", "string", "Fast field mode: DISABLED, HYBRID, or PARQUET_ONLY", 152),
]


def _file_entry(fields: list[Schema], namespace: str = NAMESPACE) -> Schema:
    return {
        "type": "record",
        "name": "FileEntry",
        "namespace": namespace,
        "doc": "A file entry representing a split in the table state",
        "fields": fields,
    }


def file_entry_18() -> Schema:
    """What Scala 0.4.5 and 0.4.6 write."""
    return _file_entry([dict(field) for field in _FIELDS_18])


def file_entry_a() -> Schema:
    """What Scala 0.5.1 to 0.5.4 write: 21 fields."""
    return _file_entry([dict(field) for field in _FIELDS_18 + _COMPANION])


def file_entry_b() -> Schema:
    """What the Rust writer writes: 25 fields, no docs, defaults for the added-at pair."""
    by_name = {field["name"]: field for field in _FIELDS_18 + _COMPANION}
    extra = {
        "deleteOpstamp": ("long", 123),
        "docMappingJson": ("string", 133),
        "timeRangeStart": ("string", 137),
        "timeRangeEnd": ("string", 138),
    }
    order = [field["name"] for field in _FIELDS_18 + _COMPANION]
    order.insert(order.index("hasFooterOffsets") + 1, "deleteOpstamp")
    order.insert(order.index("docMappingRef"), "docMappingJson")
    after = order.index("uncompressedSizeBytes") + 1
    order[after:after] = ["timeRangeStart", "timeRangeEnd"]
    fields: list[Schema] = []
    for name in order:
        if name in extra:
            kind, field_id = extra[name]
            fields.append({"name": name, "type": ["null", kind], "default": None, "field-id": field_id})
            continue
        field = {key: value for key, value in by_name[name].items() if key != "doc"}
        if name in ("addedAtVersion", "addedAtTimestamp"):
            field["default"] = 0
        fields.append(field)
    schema = _file_entry(fields)
    del schema["doc"]
    return schema


def file_entry_jar() -> Schema:
    """What jars 0.33.0 to 0.34.0 wrote: another namespace, size first, time ranges as longs."""
    fields = [{key: value for key, value in field.items() if key != "field-id"} for field in file_entry_b()["fields"]]
    names = [field["name"] for field in fields]
    size = fields.pop(names.index("size"))
    fields.insert(1, size)
    for field in fields:
        if field["name"] in ("timeRangeStart", "timeRangeEnd"):
            field["type"] = ["null", "long"]
        if field["name"] == "hasFooterOffsets":
            field["type"] = ["null", "boolean"]
            field["default"] = None
    schema = _file_entry(fields, JAR_NAMESPACE)
    del schema["doc"]
    return schema


def state_manifest() -> Schema:
    """The one record of a `_manifest.avro`; identical in every known writer."""
    bounds = {
        "type": "record",
        "name": "PartitionBoundsItem",
        "fields": [
            {"name": "min", "type": ["null", "string"], "default": None},
            {"name": "max", "type": ["null", "string"], "default": None},
        ],
    }
    info = {
        "type": "record",
        "name": "ManifestInfoItem",
        "fields": [
            {"name": "path", "type": "string"},
            {"name": "numEntries", "type": "long"},
            {"name": "minAddedAtVersion", "type": "long"},
            {"name": "maxAddedAtVersion", "type": "long"},
            {"name": "partitionBounds", "type": ["null", {"type": "map", "values": bounds}], "default": None},
            {"name": "tombstoneCount", "type": "long", "default": 0},
            {"name": "liveEntryCount", "type": "long", "default": -1},
        ],
    }
    return {
        "type": "record",
        "name": "StateManifest",
        "namespace": NAMESPACE,
        "doc": "The state manifest that describes the complete table state",
        "fields": [
            {"name": "formatVersion", "type": "int", "doc": "Version of the state file format"},
            {"name": "stateVersion", "type": "long", "doc": "Transaction version this state represents"},
            {
                "name": "createdAt",
                "type": "long",
                "doc": "Timestamp when this state was created (epoch milliseconds)",
            },
            {"name": "numFiles", "type": "long", "doc": "Total number of live files (after applying tombstones)"},
            {"name": "totalBytes", "type": "long", "doc": "Total size of all live files in bytes"},
            {
                "name": "manifests",
                "type": {"type": "array", "items": info},
                "doc": "List of manifest files containing file entries",
            },
            {
                "name": "tombstones",
                "type": {"type": "array", "items": "string"},
                "doc": "List of paths that have been removed (applied during read)",
                "default": [],
            },
            {
                "name": "schemaRegistry",
                "type": {"type": "map", "values": "string"},
                "doc": "Schema registry for doc mapping deduplication",
                "default": {},
            },
            {
                "name": "protocolVersion",
                "type": "int",
                "doc": "Protocol version (4 for Avro state format)",
                "default": 4,
            },
            {
                "name": "metadata",
                "type": ["null", "string"],
                "doc": "JSON-encoded MetadataAction for fast getMetadata()",
                "default": None,
            },
        ],
    }


def without_prose(schema: Any) -> Any:
    """A schema, or a part of it, without its descriptions, which readers don't look at."""
    if isinstance(schema, dict):
        return {key: without_prose(value) for key, value in schema.items() if key != "doc"}
    return [without_prose(item) for item in schema] if isinstance(schema, list) else schema
