"""The attributes that every message carries in its headers, as CloudEvents 1.0 in Kafka's binary mode."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote

PROPOSAL: Final = "headgate.proposal.v1"
RECEIPT: Final = "headgate.receipt.v1"
COMMIT: Final = "headgate.commit.v1"
DEAD_LETTER: Final = "headgate.dead-letter.v1"

_IN_REFERENCES = "/:?#[]@!$&'()*+,;=%"


def attributes(*, kind: str, event_id: str, source: str, subject: str, time_ms: int) -> dict[str, str]:
    """`subject` is what the message is about: a proposal's id where there is one, else the table.

    `source` becomes a URI reference, as CloudEvents wants it: what can't stand in one is percent-encoded.
    """
    moment = datetime.fromtimestamp(time_ms // 1000, UTC).replace(microsecond=time_ms % 1000 * 1000)
    return {
        "ce_specversion": "1.0",
        "ce_id": event_id,
        "ce_type": kind,
        "ce_source": quote(source, safe=_IN_REFERENCES),
        "ce_subject": subject,
        "ce_time": moment.isoformat(timespec="milliseconds"),
        "content-type": "application/json",
    }


def kind_of(headers: Mapping[str, str]) -> str:
    """The message's kind, or "" where it says none."""
    return headers.get("ce_type", "")


def subject_of(headers: Mapping[str, str]) -> str:
    return headers.get("ce_subject", "")
