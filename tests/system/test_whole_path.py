"""The whole path, over processes: producers, a bus, a committer, a store, and receipts back to the producers."""

import headgate
from support.logs.raw_log import LOG, RawLog
from support.torture.stage.scenes import kafka_and_s3, one_machine
from support.torture.stage.stage import Stage, a_file, all_end_well, stage_on, stopped

PATIENCE_S = 60.0
STEPS = 60


def live_by_json(log: RawLog) -> set[str]:
    """The paths that the version files leave, read without our code."""
    live: set[str] = set()
    for version in log.versions():
        actions = log.actions(version)
        live -= {action["remove"]["path"] for action in actions if "remove" in action}
        live |= {action["add"]["path"] for action in actions if "add" in action}
    return live


def test_a_proposal_comes_back_as_a_receipt_of_the_version_that_holds_it(kafka_stage: Stage) -> None:
    kafka_stage.committer()
    receipt = kafka_stage.producer().append([a_file("first")]).wait(PATIENCE_S)
    assert isinstance(receipt, headgate.Committed)
    [add] = [action["add"] for action in kafka_stage.raw_log().actions(receipt.version) if "add" in action]
    assert (add["path"], add["partitionValues"]) == ("part=a/first.parquet", {"part": "a"})
    assert "part=a/first.parquet" in kafka_stage.opened().snapshot(receipt.version).paths()


def test_a_rejected_proposal_leaves_no_action(kafka_stage: Stage) -> None:
    kafka_stage.committer()
    receipt = kafka_stage.producer().delete(paths=["part=a/never.parquet"]).wait(PATIENCE_S)
    assert isinstance(receipt, headgate.Rejected)
    assert receipt.code is headgate.RejectCode.NOT_LIVE
    log = kafka_stage.raw_log()
    assert not [
        version
        for version in log.versions()
        if b'"remove":{"path":"part=a/never.parquet"' in log.raw(f"{version:020d}.json")
    ]


def test_many_producers_get_what_they_asked_for(kafka_stage: Stage) -> None:
    committer = kafka_stage.committer()
    all_end_well(*(kafka_stage.proposing(f"producer-{each}", steps=STEPS) for each in range(4)))
    stopped(committer)
    assert kafka_stage.problems() == []
    assert live_by_json(kafka_stage.raw_log()) == set(kafka_stage.opened().snapshot().paths())


def test_the_way_leads_through_tls_and_sasl() -> None:
    with kafka_and_s3(secured=True) as scene, stage_on(scene) as stage:
        assert "security_protocol=SASL_SSL" in scene.bus
        committer = stage.committer()
        all_end_well(stage.proposing("producer", steps=STEPS))
        stopped(committer)
        assert stage.problems() == []
        # What is logged never holds the password.
        password = scene.bus.partition("sasl_plain_password=")[2].partition("&")[0]
        assert len(password) > 8
        assert password not in committer.said()


def test_several_processes_share_a_bus_on_one_machine() -> None:
    with one_machine() as scene, stage_on(scene) as stage:
        committer = stage.committer()
        all_end_well(*(stage.proposing(f"producer-{each}", steps=STEPS) for each in range(4)))
        stopped(committer)
        assert stage.problems() == []
        assert live_by_json(stage.raw_log()) == set(stage.opened().snapshot().paths())
        assert (scene.root_folder / "events" / LOG).is_dir()
