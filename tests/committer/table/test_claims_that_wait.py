"""Claims of proposals that wait, while a clock is wrong: whoever's it is, no payload is swept that is still needed."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate_bus.claims import CLOCK_KEY
from headgate_committer.table import claim_sweeping
from headgate_schemas.messages.operations import Append, Committed, Receipt
from headgate_schemas.messages.proposals import Proposal
from support.ambient import FakeAmbient
from support.committing.claimed import claimed
from support.committing.rig import NO_LINGER, TABLE, Rig
from support.stores.memory import MemoryStore
from support.tables import add_file

ONE_BY_ONE = replace(NO_LINGER, group_proposals=1)
MONTH_H = 24 * 30


def rig_of(store_clock: FakeAmbient | None = None) -> Rig:
    """With a clock of its own for the store, where one is given."""
    rig = Rig()
    if store_clock is not None:
        rig.stores[TABLE] = MemoryStore(store_clock, uri=TABLE)
    rig.create_first()
    return rig


def large(rig: Rig, name: str) -> Proposal:
    """Made when it is sent, a month from now, so that the ids which are remembered don't matter here."""
    made_ms = rig.ambient.now_ms() + MONTH_H * 3_600_000
    return claimed(rig, rig.proposal(Append((add_file(name),)), created_ms=made_ms))


def decide(rig: Rig) -> dict[str, Receipt]:
    committer = rig.committer(limits=ONE_BY_ONE)
    rig.settle(committer, 200)
    committer.close()
    return rig.receipts()


def outcome(rig: Rig, proposal: Proposal) -> Receipt:
    return decide(rig)[proposal.id]


def test_one_append_by_a_clock_a_month_ahead_takes_no_claim_from_who_waits() -> None:
    """The bus's times come from that clock then; the store's are its own."""
    rig = rig_of(FakeAmbient())
    early = large(rig, "early")
    rig.ambient.advance(hours=MONTH_H)
    rig.append("by a clock that is ahead")
    rig.send(early)
    assert isinstance(outcome(rig, early), Committed)


def test_a_claim_whose_proposal_is_on_its_way_is_kept_though_the_bus_is_a_month_ahead() -> None:
    rig = rig_of(FakeAmbient())
    early = large(rig, "early")
    rig.ambient.advance(hours=MONTH_H)
    rig.append("by a clock that is ahead")
    decide(rig)
    rig.send(early)
    assert isinstance(outcome(rig, early), Committed)


def test_a_proposal_that_waits_keeps_its_claim_however_old_that_is() -> None:
    """Also by the store's clock: nobody decided anything for a month, or all clocks of a machine jumped."""
    rig = rig_of()
    early = large(rig, "early")
    rig.ambient.advance(hours=MONTH_H)
    rig.append("first")
    rig.send(early)
    assert isinstance(outcome(rig, early), Committed)


def test_claims_that_nobody_needs_go_all_the_same() -> None:
    rig = rig_of()
    never_sent = large(rig, "never sent")
    waits = large(rig, "waits")
    rig.ambient.advance(hours=MONTH_H)
    rig.append("first")
    rig.send(waits)
    assert isinstance(outcome(rig, waits), Committed)
    assert never_sent.claim is not None
    assert waits.claim is not None
    store = rig.stores[TABLE]
    assert (store.head(never_sent.claim.key), store.head(waits.claim.key) is None) == (None, False)


def test_no_claim_goes_while_not_all_that_waits_can_be_read(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(claim_sweeping, "MAX_PROPOSALS", 1)
    rig = rig_of()
    never_sent = large(rig, "never sent")
    rig.ambient.advance(hours=MONTH_H)
    for number in range(3):
        rig.append(f"f{number}")
    with caplog.at_level("WARNING"):
        rig.settle(rig.committer(limits=ONE_BY_ONE), 100)
    assert never_sent.claim is not None
    assert rig.stores[TABLE].head(never_sent.claim.key) is not None
    assert "claims are swept when they are decided" in caplog.text


def test_where_nothing_is_old_the_store_is_asked_for_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = rig_of()
    puts: list[str] = []
    store = rig.stores[TABLE]
    put = store.put

    def noted(key: str, data: bytes) -> None:
        puts.append(key)
        put(key, data)

    monkeypatch.setattr(store, "put", noted)
    young = large(rig, "young")
    rig.send(young)
    assert isinstance(outcome(rig, young), Committed)
    assert CLOCK_KEY not in puts


@settings(max_examples=60, deadline=None)
@given(
    st.booleans(),
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from([0, 1, MONTH_H]), st.booleans()), min_size=1, max_size=8),
)
def test_whatever_jumps_no_claim_of_a_proposal_is_lost(is_store_told: bool, steps: list[tuple[int, int, bool]]) -> None:
    """Claims are laid down, clocks of the bus jump, with the store's or alone, and proposals are sent and decided, in any order.

    Where the store's clock jumps by a month as well, what nobody has sent until the next decision comes too late.
    """
    rig = rig_of(None if is_store_told else FakeAmbient())
    laid_down: list[Proposal] = []
    grown_old = 0
    sent: list[Proposal] = []
    receipts: dict[str, Receipt] = {}
    for number, (kind, hours, is_deciding) in enumerate(steps):
        rig.ambient.advance(hours=hours)
        if is_store_told and hours == MONTH_H:
            grown_old = len(laid_down)
        match kind:
            case 0:
                laid_down.append(large(rig, f"large-{number}"))
            case 1 if laid_down:
                sent.append(laid_down.pop(0).model_copy(update={"created": rig.ambient.now_ms()}))
                grown_old = max(grown_old - 1, 0)
                rig.send(sent[-1])
            case _:
                rig.append(f"small-{number}")
        if is_deciding:
            receipts |= decide(rig)
            del laid_down[:grown_old]
            grown_old = 0
    receipts |= decide(rig)
    assert [receipts[each.id] for each in sent if not isinstance(receipts[each.id], Committed)] == []
