"""Two addresses of one table: it is served under one of them, and what is sent to the other is never decided as well."""

from collections import defaultdict
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate_committer.served_addresses import ServedAddresses
from headgate_committer.tables import NotServed
from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.messages.operations import Append, Committed, Duplicate, RejectCode
from headgate_schemas.messages.proposals import Proposal
from headgate_table.store.addresses import table_address
from headgate_table.store.open import StoreSettings, open_store
from support.committing.rig import TABLE, Rig
from support.stores.memory import MemoryStore
from support.tables import add_file, opened

OTHER = "memory://same-table"
AZURE = StoreSettings(azure_account_name="acc", azure_account_key="a2V5")


class Elsewhere(MemoryStore):
    """The same objects, as seen through another address that doesn't show where it leads."""

    def __init__(self, store: MemoryStore, uri: str) -> None:
        super().__init__(uri=uri)
        self._held, self._folders, self._lock = store._held, store._folders, store._lock


def test_what_is_sent_to_another_address_of_an_open_table_is_set_aside() -> None:
    rig = Rig()
    committer = rig.committer(stores={OTHER: rig.stores[TABLE]})
    rig.settle(committer)
    first = rig.append("a")
    rig.settle(committer)
    second = rig.append("b", table=OTHER)
    third = rig.append("c")
    rig.settle(committer)
    receipts = rig.receipts()
    assert isinstance(receipts[first], Committed)
    assert isinstance(receipts[third], Committed)
    assert second not in receipts or not isinstance(receipts[second], Committed)
    (letter,) = rig.dead_letters()
    assert letter.code == RejectCode.UNKNOWN_TABLE.value
    assert TABLE in letter.reason
    assert OTHER in letter.reason
    assert opened(rig.stores[TABLE]).snapshot().paths() == [add_file("a").path, add_file("c").path]


def test_the_first_address_stays_the_one_also_when_the_table_was_closed_meanwhile() -> None:
    served = ServedAddresses()
    served.check_place("az://c/t", "https://acc/c/t")
    served.check_place("az://c/t", "https://acc/c/t")
    with pytest.raises(NotServed, match=r"abfss://c@acc.* is another address of az://c/t.*send proposals to az://c/t"):
        served.check_place("abfss://c@acc.dfs.core.windows.net/t", "https://acc/c/t")


def test_a_second_table_with_the_same_id_waits_and_both_addresses_are_named() -> None:
    rig = Rig()
    committer = rig.committer(stores={OTHER: Elsewhere(rig.stores[TABLE], OTHER)})
    rig.settle(committer)
    rig.append("a")
    rig.settle(committer)
    held = rig.append("b", table=OTHER)
    for _ in range(5):
        committer.step(0.0)
    assert held not in rig.receipts()
    assert opened(rig.stores[TABLE]).snapshot().paths() == [add_file("a").path]
    (trouble,) = [text for uri, text in committer.refused.items() if uri == OTHER]
    assert TABLE in trouble
    assert OTHER in trouble


def test_nobody_is_told_what_a_committer_that_opens_the_other_address_first_would_contradict() -> None:
    """Break: call the other address unknown for good."""
    rig = Rig()
    first = rig.committer("first", stores={OTHER: rig.stores[TABLE]})
    rig.settle(first)
    rig.append("a")
    rig.settle(first)
    rig.receipts()
    proposal = rig.proposal(Append((add_file("b"),)), table=OTHER)
    rig.send(proposal)
    rig.settle(first)
    assert rig.receipts() == {}
    first.close()
    second = rig.committer("second", stores={OTHER: rig.stores[TABLE]})
    rig.send(proposal)
    rig.settle(second)
    assert rig.receipts() == {proposal.id: Committed(2, proposal.id)}


@pytest.mark.parametrize(
    "spellings",
    [
        ("az://c/t", "azure://c/t/", "abfss://c@acc.dfs.core.windows.net/t", "wasbs://c@ACC.blob.core.windows.net/t"),
        ("az://C/t", "abfss://C@acc.dfs.core.windows.net/t"),
    ],
)
def test_all_spellings_of_an_azure_table_are_one_place(spellings: tuple[str, ...]) -> None:
    places = {open_store(table_address(uri), AZURE, SystemAmbient()).place for uri in spellings}
    assert len(places) == 1


def test_all_spellings_of_an_s3_table_and_none_of_another_are_one_place() -> None:
    settings = StoreSettings(s3_region="eu-west-1", s3_access_key="k", s3_secret_key="s")
    places = [
        open_store(table_address(uri), settings, SystemAmbient()).place
        for uri in ("s3://b/t", "s3a://b/t/", "s3n://b/t", "s3://b/t2", "s3://b2/t")
    ]
    assert places[0] == places[1] == places[2]
    assert len(set(places)) == 3


HIDDEN = "memory://same-table-that-nobody-recognises"
ADDRESSES = (TABLE, OTHER, HIDDEN)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.sampled_from(ADDRESSES)),
        st.tuples(st.just("again"), st.sampled_from(ADDRESSES)),
        st.just(("step", "")),
        st.just(("restart", "")),
    ),
    min_size=2,
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_by_whatever_addresses_proposals_come_one_of_them_serves_and_no_answer_is_contradicted(
    steps: list[tuple[str, str]],
) -> None:
    """The model is a list of answers: by whom, for which address, and what."""
    rig = Rig()
    rig.create_first()
    rig.receipts()
    elsewhere = {OTHER: rig.stores[TABLE], HIDDEN: Elsewhere(rig.stores[TABLE], HIDDEN)}
    committer, lives = rig.committer("life-0", stores=elsewhere), 0
    sent: dict[str, tuple[str, Proposal]] = {}
    answers: dict[str, set[str]] = defaultdict(set)
    served: dict[int, set[str]] = defaultdict(set)
    for kind, address in [*steps, ("step", "")]:
        match kind:
            case "append":
                name = f"f{len(sent)}"
                proposal = rig.proposal(Append((add_file(name),)), table=address)
                sent[proposal.id] = name, proposal
                rig.send(proposal)
            case "again" if sent:
                rig.send(sent[sorted(sent)[0]][1])
            case "restart":
                committer.close()
                lives += 1
                committer = rig.committer(f"life-{lives}", stores=elsewhere)
            case _:
                for _ in range(6):
                    committer.step(0.0)
        for identity, receipt in rig.receipts().items():
            is_in = isinstance(receipt, Committed | Duplicate)
            answers[identity].add("committed" if is_in else str(receipt))
            if isinstance(receipt, Committed):
                served[lives].add(sent[identity][1].table)
    committer.close()
    assert all(len(each) == 1 for each in answers.values()), f"answers that contradict each other: {dict(answers)}"
    assert all(len(each) == 1 for each in served.values()), f"served at once: {dict(served)}"
    told = sorted(add_file(sent[each][0]).path for each, said in answers.items() if said == {"committed"})
    assert sorted(opened(rig.stores[TABLE]).snapshot().paths()) == told


SCHEMES = st.sampled_from(
    (
        "az://{0}/{1}",
        "azure://{0}/{1}/",
        "abfss://{0}@acc.dfs.core.windows.net/{1}",
        "abfs://{0}@acc.dfs.core.windows.net/{1}",
        "wasbs://{0}@ACC.blob.core.windows.net/{1}",
    )
)
TABLES = st.tuples(st.sampled_from(("c", "d")), st.sampled_from(("t", "t/u", "T", "t%20u")))


@settings(max_examples=60, deadline=None)
@given(SCHEMES, TABLES, SCHEMES, TABLES)
def test_two_addresses_are_one_place_where_container_and_path_are_one(
    scheme: str, table: tuple[str, str], other_scheme: str, other: tuple[str, str]
) -> None:
    first, second = (
        open_store(table_address(spelled.format(*named)), AZURE, SystemAmbient())
        for spelled, named in ((scheme, table), (other_scheme, other))
    )
    with closing(first), closing(second):
        assert (first.place == second.place) == (table == other)
