"""Asking a process how it is, as a monitoring system does."""

import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class Answer:
    """`status` is 0 where nobody answers."""

    status: int
    text: str
    kind: str = ""


class Asking:
    """A process that tells how it is at this address."""

    def __init__(self, url: str) -> None:
        self.url = url

    def status(self, path: str) -> int:
        return self.get(path).status

    def reasons(self, part: str = "committer") -> dict[str, str]:
        """Why it is not ready, by code; nothing where it is. A process that doesn't answer has the reason `gone`."""
        answer = self.get("/readyz", "application/json")
        if not answer.status:
            return {"gone": answer.text}
        told: dict[str, Any] = json.loads(answer.text)
        return {reason["code"]: reason["reason"] for reason in told["parts"][part]["reasons"]}

    def words(self) -> str:
        return self.get("/readyz").text

    def metrics(self) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
        return {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(self.get("/metrics").text)
            for sample in family.samples
        }

    def metric(self, name: str, **labels: str) -> float:
        return self.metrics().get((name, frozenset(labels.items())), 0.0)

    def get(self, path: str, accept: str = "*/*", method: str = "GET") -> Answer:
        request = urllib.request.Request(self.url + path, headers={"Accept": accept}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                return Answer(answer.status, answer.read().decode(), answer.headers["content-type"])
        except urllib.error.HTTPError as error:
            return Answer(error.code, error.read().decode())
        except OSError as error:
            return Answer(0, str(error))
