"""Milvus manifests as values and as bytes, in every version and form that builds have written.

All that reads or writes a manifest calls it. Bytes are bounded before they are decoded. Fields of newer releases are
kept or refused, and never dropped silently.

Begin with `manifest` and `encoding`; `paths` says what a stored path means. `limits` is short and apart because all
decoders share it.
"""
