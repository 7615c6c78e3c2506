"""Milvus manifests as values and as bytes, in every version and form of known builds.

All code that reads or writes a manifest calls it. Bytes are bounded before they are decoded. Fields of newer releases
are kept or refused, and never dropped silently.

Begin with `manifest` and `encoding`; `paths` interprets stored paths. `limits` is short and apart because all decoders
share it.
"""
