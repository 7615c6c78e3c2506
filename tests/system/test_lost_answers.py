"""A store whose answers can't be trusted to come: what was written counts, once, whatever the committer was told."""

from urllib.parse import urlsplit

import pytest

import headgate
from support.servers.proxy import proxy_before
from support.servers.versitygw import S3Server
from support.torture.stage.stage import Stage, a_file, all_end_well, stopped
from support.torture.stage.unreliable_store import HAND, unreliable_store

PATIENCE_S = 120.0


def port_of(server: S3Server) -> int:
    port = urlsplit(server.endpoint).port
    assert port is not None
    return port


@pytest.mark.parametrize("seed", [1, 2])
def test_every_proposal_is_committed_once_whatever_the_store_answers(
    kafka_stage: Stage, versitygw: S3Server, seed: int
) -> None:
    with unreliable_store(port_of(versitygw), seed) as (store, endpoint):
        committer = kafka_stage.committer(environment={"HEADGATE_STORE_S3_ENDPOINT": endpoint})
        store.is_bad = True
        all_end_well(*(kafka_stage.proposing(f"producer-{each}", steps=60, seed=seed) for each in range(2)))
        store.is_bad = False
        stopped(committer)
    assert set(store.done) == set(HAND), store.done
    assert kafka_stage.problems() == []


def test_a_version_whose_answer_was_lost_is_the_version_of_its_receipt(kafka_stage: Stage, versitygw: S3Server) -> None:
    """Cut on the wire: the first answer to the write of version 1 never comes, and the version is there."""
    lost: list[bytes] = []

    def is_first_write_of_version_1(request: bytes) -> bool:
        if not lost and request.startswith(b"PUT ") and b"/00000000000000000001.json" in request.partition(b"\r\n")[0]:
            lost.append(request)
            return True
        return False

    with proxy_before(port_of(versitygw)) as proxy:
        endpoint = f"http://127.0.0.1:{proxy.port}"
        committer = kafka_stage.committer(environment={"HEADGATE_STORE_S3_ENDPOINT": endpoint})
        proxy.lose_answer = is_first_write_of_version_1
        receipt = kafka_stage.producer().append([a_file("a")]).wait(PATIENCE_S)
        stopped(committer)
    assert proxy.lost == 1
    assert receipt == headgate.Committed(1, receipt.proposal_id)
    assert kafka_stage.raw_log().versions() == [0, 1]
    assert kafka_stage.problems() == []
