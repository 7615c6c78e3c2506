"""The attributes in the headers of every message, as CloudEvents 1.0 in Kafka's binary mode."""

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
    """`subject` is the proposal's id if there is one, else the table.

    `source` becomes a URI reference, as CloudEvents requires: other characters are percent-encoded.
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
    """The message's kind, or "" without one."""
    return headers.get("ce_type", "")


def subject_of(headers: Mapping[str, str]) -> str:
    return headers.get("ce_subject", "")
