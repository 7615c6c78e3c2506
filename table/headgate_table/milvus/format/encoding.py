"""Converts bytes to a manifest and back, in any form. Only this module distinguishes the forms."""

from headgate_schemas.errors import InvalidInput
from headgate_schemas.milvus import EMPTY
from headgate_table.avro.container import MAGIC as CONTAINER_MAGIC
from headgate_table.errors import CorruptTable, UnsupportedTable
from headgate_table.milvus.format.container import decode_container, encode_container
from headgate_table.milvus.format.limits import MAX_ITEMS, MAX_MANIFEST_BYTES
from headgate_table.milvus.format.manifest import Manifest, ManifestForm
from headgate_table.milvus.format.raw import decode_raw, encode_raw


def decode_manifest(data: bytes, name: str) -> Manifest:
    """The manifest in the file; `name` is the file's name in errors.

    Raises `CorruptTable` for a file that is empty, truncated, damaged, too large or not a manifest, and
    `UnsupportedTable` for one of a newer release.
    """
    if len(data) > MAX_MANIFEST_BYTES:
        raise CorruptTable(f"{name} takes {len(data)} bytes; manifests of more than {MAX_MANIFEST_BYTES} are refused")
    if data.startswith(CONTAINER_MAGIC):
        return decode_container(data, name)
    return decode_raw(data, name)


def encode_manifest(manifest: Manifest, form: ManifestForm | None = None, *, sync: bytes = bytes(16)) -> bytes:
    """The manifest's bytes, in its own form unless another is named. `sync` is the marker of a container.

    Raises `UnsupportedTable` if the form would lose a value, and `InvalidInput` if the result is too large.
    """
    form = form or manifest.form
    lost = what_is_lost(manifest, form)
    if lost:
        raise UnsupportedTable(
            f"a manifest of the form {form.value} can't be written: it would lose {'; '.join(lost)}. "
            + (
                "Only a newer Headgate can write a successor"
                if manifest.unknown
                else "Name a form that holds it, such as container-6"
            )
        )
    if manifest.num_items > MAX_ITEMS:
        raise InvalidInput(
            f"the manifest would hold {manifest.num_items} records and texts; more than {MAX_ITEMS} are refused, since nobody "
            f"could read it safely. Compact the table with Milvus first"
        )
    data = encode_container(manifest, form, sync) if form.is_container else encode_raw(manifest, form)
    if len(data) > MAX_MANIFEST_BYTES:
        raise InvalidInput(
            f"the manifest would take {len(data)} bytes; more than {MAX_MANIFEST_BYTES} are refused, since nobody could "
            f"read it safely. Compact the table with Milvus first"
        )
    return data


def what_is_lost(manifest: Manifest, form: ManifestForm) -> list[str]:
    """The values that this form can't hold; empty if it can hold all."""
    lost = list(manifest.unknown)
    version = form.version
    files = [file for group in manifest.column_groups for file in group.files]
    if version >= 4 and any(file.metadata for file in files):
        lost.append("metadata of data files")
    if version < 4 and any(file.properties is not EMPTY and file.properties for file in files):
        lost.append("properties of data files")
    if version < 3 and any(stat.metadata for stat in manifest.stats.values()):
        lost.append("metadata of stats")
    if version < 2 and manifest.indexes:
        lost.append("indexes")
    if version < 6 and any(index.has_version_6_fields for index in manifest.indexes):
        lost.append("fields of indexes")
    if version < 5 and manifest.lob_files:
        lost.append("files of large values")
    return lost
