"""The meaning of an Azure failure: whether a conditional write may have happened, and the message with the remedy."""

import re
from dataclasses import dataclass

import requests.exceptions
from azure.core import exceptions as azure

from headgate_table.errors import ObjectMissing, StoreError

READ_AGAIN = (azure.IncompleteReadError, azure.ServiceResponseError)
"""A body that broke off half-way."""

RETRYABLE_CONFLICTS = {"OperationTimedOut", "PendingCopyOperation"}
"""409 answers that say nothing about the blob's existence."""

CONTAINER_UNUSABLE = {"ContainerNotFound", "ContainerBeingDeleted", "ContainerDisabled"}
"""404 and 409 answers that say nothing about the blob, but about all of them."""

_SIGNATURE = re.compile(r"(?<=[?&]sig=)[^&\s'\"]+", re.IGNORECASE)
"""Of a SAS token, in an address that an error tells of."""

_WRONG_KEY = {"AuthenticationFailed", "InvalidAuthenticationInfo", "NoAuthenticationInformation"}


@dataclass(frozen=True, slots=True)
class BlobPlace:
    """The address of a store, for messages."""

    uri: str
    container: str
    endpoint: str


def code_of(error: azure.AzureError) -> str:
    """The service's own code, such as BlobAlreadyExists; empty if there is none."""
    code = getattr(error, "error_code", None)
    return str(getattr(code, "value", code) or "")


def is_unknown(error: azure.AzureError) -> bool:
    """Whether a write with this failure may have happened, or may still happen."""
    if isinstance(error, azure.ServiceRequestError):
        # "Not sent", except that TLS can also break while the answer is read.
        return isinstance(error.inner_exception, requests.exceptions.SSLError)
    if isinstance(error, azure.HttpResponseError) and error.status_code is not None:
        return error.status_code >= 500 and error.status_code != 501
    return isinstance(error, (azure.ServiceResponseError, azure.HttpResponseError, azure.IncompleteReadError))


def failure(error: azure.AzureError, doing: str, key: str, place: BlobPlace) -> StoreError:
    """The error to raise: the failed action, the reason, and the remedy."""
    said = _SIGNATURE.sub("…", str(error.message or ""))
    if isinstance(error, azure.HttpResponseError) and error.status_code is not None:
        return refusal(error.status_code, code_of(error), said, doing, key, place)
    what = _what(doing, key, place)
    if isinstance(error, azure.ServiceRequestError):
        return StoreError(
            f"{what}: {place.endpoint} can't be reached ({said}). Check the account's name and the network"
        )
    if isinstance(error, azure.ClientAuthenticationError):
        return StoreError(f"{what}: no usable credentials were found ({said}). Set azure.connection-string")
    return StoreError(f"{what}: {place.endpoint} didn't answer properly ({said}). Try again")


def refusal(status: int, code: str, message: str, doing: str, key: str, place: BlobPlace) -> StoreError:
    """The error for an answer of the service, alone or one of a batch."""
    what = _what(doing, key, place)
    if code in CONTAINER_UNUSABLE:
        return StoreError(
            f"{what}: container {place.container!r} at {place.endpoint} can't be used ({code}). Create it, or "
            "correct the address"
        )
    if code in _WRONG_KEY:
        return StoreError(
            f"{what}: {place.endpoint} doesn't accept the credentials ({code}). Check azure.account-name and "
            "azure.account-key, or azure.sas-token and its end, or azure.connection-string"
        )
    if status in (401, 403):
        return StoreError(
            f"{what}: access to container {place.container!r} was denied ({code}). The credentials need the role "
            "Storage Blob Data Contributor there, and the account's network rules must let this machine in"
        )
    if status == 404:
        return ObjectMissing(f"{place.uri}/{key} doesn't exist", key)
    if status == 412 and "Lease" in code:
        return StoreError(f"{what}: somebody holds a lease on it ({code}). Break the lease")
    if code == "BlobImmutableDueToPolicy":
        return StoreError(f"{what}: an immutability policy protects it ({code}). Wait for its end, or keep the object")
    first_line = message.partition("\n")[0]
    return StoreError(f"{what}: {place.endpoint} answered {status} {code}: {first_line}")


def _what(doing: str, key: str, place: BlobPlace) -> str:
    return f"could not {doing} {place.uri}/{key}" if key else f"could not {doing} {place.uri}"
