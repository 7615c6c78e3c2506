"""The meaning of an S3 failure: whether a conditional write may have happened, and the message with the remedy."""

from dataclasses import dataclass
from typing import Any

from botocore import exceptions as boto
from botocore.parsers import ResponseParserError

from headgate_table.errors import ObjectMissing, StoreError

PERMISSIONS = {
    "read": "s3:GetObject",
    "look up": "s3:GetObject",
    "list": "s3:ListBucket",
    "write": "s3:PutObject",
    "create": "s3:PutObject",
    "delete": "s3:DeleteObject",
}
"""The permission that each of our verbs needs."""

RETRYABLE_CONFLICTS = {"ConditionalRequestConflict", "OperationAborted", "ExistingObjectIsDirectory"}
"""Refused before any effect. The last one is versitygw's, also without cause, beside a delete that empties a folder."""

_WRONG_REGION = {
    "PermanentRedirect",
    "AuthorizationHeaderMalformed",
    "IllegalLocationConstraintException",
    "TemporaryRedirect",
}
_WRONG_KEY = {"InvalidAccessKeyId", "SignatureDoesNotMatch"}
_EXPIRED = {"ExpiredToken", "ExpiredTokenException", "InvalidToken", "TokenRefreshRequired"}
_NO_CREDENTIALS = (
    boto.NoCredentialsError,
    boto.PartialCredentialsError,
    boto.CredentialRetrievalError,
    boto.TokenRetrievalError,
    boto.NoAuthTokenError,
)
_NOT_SENT = (boto.EndpointConnectionError, boto.ConnectTimeoutError, boto.ProxyConnectionError)

FAILURES = (boto.ClientError, boto.BotoCoreError, ResponseParserError)
"""All that a call of boto3 raises."""

READ_AGAIN = (
    boto.ResponseStreamingError,
    boto.IncompleteReadError,
    boto.ReadTimeoutError,
    boto.ConnectionClosedError,
)
"""A body that broke off half-way; boto3's own retries end where the body begins."""


@dataclass(frozen=True, slots=True)
class ObjectPlace:
    """The address of a store, for messages."""

    uri: str
    bucket: str
    endpoint: str
    region: str


def status_and_code(error: Any) -> tuple[int, str]:
    """The status always exists; with an empty body, the code is only the status as text."""
    response = error.response
    status = int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    return status, str(response.get("Error", {}).get("Code", ""))


def is_unknown(error: Exception) -> bool:
    """Whether a write with this failure may have happened, or may still happen."""
    if isinstance(error, boto.ClientError):
        status, code = status_and_code(error)
        # 501 is a refusal. A truncated 200 shows as code 500.
        return (status >= 500 and status != 501) or status < 300 or code == "RequestTimeout"
    if isinstance(error, _NOT_SENT):
        return False
    # TLS can also break while the answer is read.
    return isinstance(error, (boto.HTTPClientError, boto.SSLError, boto.IncompleteReadError, ResponseParserError))


def failure(error: Exception, doing: str, key: str, place: ObjectPlace) -> StoreError:
    """The error to raise: the failed action, the reason, and the remedy."""
    if isinstance(error, boto.ClientError):
        return _refusal(error, doing, key, place)
    what = _what(doing, key, place)
    if isinstance(error, _NO_CREDENTIALS):
        return StoreError(
            f"{what}: no usable credentials were found ({error}). Set s3.access-key and s3.secret-key, or s3.profile, "
            "or log in with the AWS tools"
        )
    if isinstance(error, _NOT_SENT):
        return StoreError(
            f"{what}: {place.endpoint} can't be reached ({error}). Check s3.endpoint and the network, and whether the "
            "server runs"
        )
    if isinstance(error, boto.SSLError):
        return StoreError(f"{what}: the secure connection to {place.endpoint} failed ({error}). Check its certificate")
    if isinstance(error, boto.ParamValidationError):
        return StoreError(f"{what}: the address is not valid for S3: {error}")
    return StoreError(f"{what}: {place.endpoint} didn't answer properly ({error}). Try again")


def _refusal(error: Any, doing: str, key: str, place: ObjectPlace) -> StoreError:
    status, code = status_and_code(error)
    what = _what(doing, key, place)
    if code == "NoSuchBucket":
        return StoreError(
            f"{what}: there is no bucket {place.bucket!r} at {place.endpoint}. Create it, or correct the address"
        )
    if status in (301, 307) or code in _WRONG_REGION:
        right = _right_region(error)
        advice = f"set s3.region to {right!r}" if right else "set s3.region to the bucket's region"
        return StoreError(f"{what}: bucket {place.bucket!r} is not in region {place.region!r} ({code}); {advice}")
    if code in _WRONG_KEY:
        return StoreError(
            f"{what}: {place.endpoint} doesn't accept the credentials ({code}). Check s3.access-key and s3.secret-key"
        )
    if code in _EXPIRED:
        return StoreError(
            f"{what}: the credentials have expired ({code}). Renew them, with s3.session-token if you set it"
        )
    if code == "RequestTimeTooSkewed":
        return StoreError(f"{what}: this machine's clock differs too much from the server's. Set the clock")
    if status in (401, 403):
        return StoreError(
            f"{what}: access to bucket {place.bucket!r} was denied ({code}). The credentials need "
            f"{PERMISSIONS.get(doing, 's3:*')} there (without s3:ListBucket a missing object looks like this, too)"
        )
    if status == 404:
        return ObjectMissing(f"{place.uri}/{key} doesn't exist", key)
    if status == 501 or code == "NotImplemented":
        return StoreError(
            f"{what}: {place.endpoint} doesn't support this kind of request ({code}). Tables need a store with "
            "conditional writes; `headgate doctor` tests yours"
        )
    if code == "ExistingObjectIsDirectory":
        return StoreError(f"{what}: a folder has that name on this server. Use another name")
    if status in (409, 429):
        return StoreError(
            f"{what}: {place.endpoint} kept refusing it as a conflict ({code}). Nothing was written; try again"
        )
    message = error.response.get("Error", {}).get("Message", "")
    return StoreError(f"{what}: {place.endpoint} answered {status} {code}: {message}")


def _what(doing: str, key: str, place: ObjectPlace) -> str:
    return f"could not {doing} {place.uri}/{key}" if key else f"could not {doing} {place.uri}"


def _right_region(error: Any) -> str:
    headers = error.response.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    return str(error.response.get("Error", {}).get("Region") or headers.get("x-amz-bucket-region") or "")
