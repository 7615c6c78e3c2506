"""What known readers and writers call the parts of a log: keys of actions and of the pointer, in their order where it counts.

Nothing of Headgate's own code: judges and generators of foreign tables share it (docs/format.md, sections 3 and 13).
"""

PROTOCOL_KEYS = {"minReaderVersion", "minWriterVersion", "readerFeatures", "writerFeatures"}
METADATA_KEYS = {
    "id",
    "name",
    "description",
    "format",
    "schemaString",
    "partitionColumns",
    "configuration",
    "createdTime",
}
ADD_KEYS = {
    "path",
    "partitionValues",
    "size",
    "modificationTime",
    "dataChange",
    "stats",
    "tags",
    "minValues",
    "maxValues",
    "numRecords",
    "footerStartOffset",
    "footerEndOffset",
    "hotcacheStartOffset",
    "hotcacheLength",
    "hasFooterOffsets",
    "timeRangeStart",
    "timeRangeEnd",
    "splitTags",
    "deleteOpstamp",
    "numMergeOps",
    "docMappingJson",
    "docMappingRef",
    "uncompressedSizeBytes",
    "companionSourceFiles",
    "companionDeltaVersion",
    "companionFastFieldMode",
}
REMOVE_KEYS = {
    "path",
    "deletionTimestamp",
    "dataChange",
    "extendedFileMetadata",
    "partitionValues",
    "size",
    "tags",
}
SKIP_KEYS = {
    "path",
    "skipTimestamp",
    "reason",
    "operation",
    "partitionValues",
    "size",
    "retryAfter",
    "skipCount",
}
POINTER_KEYS = [
    "version",
    "size",
    "sizeInBytes",
    "numFiles",
    "createdTime",
    "parts",
    "checkpointId",
    "format",
    "stateDir",
]
