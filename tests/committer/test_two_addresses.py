"""Two addresses of one table: it is served under one of them, and what is sent to the other is never decided as well."""

import pytest

from headgate_committer.served_addresses import ServedAddresses
from headgate_committer.tables import NotServed
from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.messages.operations import Append, Committed, RejectCode
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
