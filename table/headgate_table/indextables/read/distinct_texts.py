"""Whether all texts of a column differ, and whether two columns hold the same; in these cases much faster than hash
tables.
"""

import sys

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_WORD = 8
_MIX = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
_FEW_WORDS = 3
"""Paths end in an id and a suffix; the last 24 bytes nearly always tell them apart."""
_MANY_WORDS = 32
_SLOTS = 4
"""For each fingerprint, at least."""
_COUNTED = 1 << 20
"""Fingerprints up to which slots are counted; the counts of more would take too much memory."""
_SLICE = 1 << 16
"""Texts compared at a time, for the memory that they take."""


def all_distinct(texts: pa.ChunkedArray) -> bool:
    """Whether no text (or null) occurs twice.

    Equal texts have equal fingerprints, so distinct fingerprints prove distinct texts; anything else is counted.
    """
    if sys.byteorder == "little" and texts.null_count == 0 and pa.types.is_string(texts.type) and len(texts):
        lengths = pc.min_max(pc.binary_length(texts)).as_py()
        if lengths["min"] >= _WORD:
            for bound in (_FEW_WORDS, _MANY_WORDS):
                words = min(bound, -(-lengths["max"] // _WORD))
                if _differ(np.concatenate([_fingerprints(chunk, words) for chunk in texts.chunks if len(chunk)])):
                    return True
    return int(pc.count_distinct(texts, mode="all").as_py()) == len(texts)


def same_texts(left: pa.LargeStringArray, right: pa.LargeStringArray) -> bool:
    """Whether both hold the same texts, each once. True is certain; False may also mean that the check would take too
    long.
    """
    if len(left) != len(right) or left.null_count or right.null_count or sys.byteorder != "little":
        return False
    if not len(left):
        return True
    lengths = [pc.min_max(pc.binary_length(texts)).as_py() for texts in (left, right)]
    if min(found["min"] for found in lengths) < _WORD:
        return False
    words = -(-max(found["max"] for found in lengths) // _WORD)
    for bound in (_FEW_WORDS, _MANY_WORDS):
        prints = _fingerprints(left, min(bound, words))
        order = np.argsort(prints)
        prints = prints[order]
        if (prints[1:] == prints[:-1]).any():
            continue
        other_prints = _fingerprints(right, min(bound, words))
        other_order = np.argsort(other_prints)
        # Fingerprints pair the texts; only the texts themselves prove that the pairs are equal.
        return np.array_equal(prints, other_prints[other_order]) and all(
            left.take(pa.array(order[start : start + _SLICE])).equals(
                right.take(pa.array(other_order[start : start + _SLICE]))
            )
            for start in range(0, len(order), _SLICE)
        )
    return False


def _differ(prints: npt.NDArray[np.uint64]) -> bool:
    if len(prints) <= _COUNTED:
        # Only texts that share a slot can be equal, which few do: sorting all takes three times as long.
        bits = (_SLOTS * len(prints)).bit_length()
        slots = (prints >> np.uint64(64 - bits)).astype(np.intp)
        prints = prints[np.bincount(slots)[slots] > 1]
    prints.sort()
    return not bool((prints[1:] == prints[:-1]).any())


def _fingerprints(chunk: pa.StringArray | pa.LargeStringArray, words: int) -> npt.NDArray[np.uint64]:
    """A number for each text, made of its length and of so many words of eight bytes from its end, and nothing else."""
    _, offsets_buffer, data = chunk.buffers()
    width = np.dtype(np.int64 if pa.types.is_large_string(chunk.type) else np.int32)
    offsets = np.frombuffer(offsets_buffer, width, len(chunk) + 1, chunk.offset * width.itemsize).astype(np.int64)
    starts, ends = offsets[:-1], offsets[1:]
    at_every_byte = np.ndarray((data.size - _WORD + 1,), np.uint64, data, 0, (1,))
    prints = (ends - starts).astype(np.uint64)
    for word in range(1, words + 1):
        # The first word of a text may overlap the one after it; if a text has no more words, its first one repeats.
        prints ^= at_every_byte[np.maximum(starts, ends - _WORD * word)]
        prints *= _MIX
        prints ^= prints >> _SHIFT
    return prints
