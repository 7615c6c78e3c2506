"""Makes a client of one Azure container from settings: the account and the credential. Sends nothing."""

import importlib
from collections.abc import Callable
from typing import Any

from azure.core.credentials import AccessToken, AzureNamedKeyCredential, AzureSasCredential
from azure.storage.blob import ContainerClient

from headgate_table.errors import StoreError
from headgate_table.store.settings import StoreSettings

CONNECT_TIMEOUT_S = 5
CONNECT_RETRIES = 1
READ_TIMEOUT_S = 30
_FAR_FUTURE = 4_102_444_800
"""The year 2100: when a bearer token ends is the caller's business, so we claim that it doesn't."""


class _BearerToken:
    """A credential that the user already holds."""

    def __init__(self, token: str) -> None:
        self._token = token

    def get_token(self, *scopes: str, **kwargs: Any) -> AccessToken:
        return AccessToken(self._token, _FAR_FUTURE)


def container_client(
    container: str,
    settings: StoreSettings,
    uri: str,
    account_url: str | None,
    *,
    retries: int,
    heard: Callable[[Any], None],
) -> ContainerClient:
    """`account_url` is the account in the address, if any. `uri` is for messages. `heard` gets every answer."""
    options: dict[str, Any] = {
        "retry_total": retries,
        # A failed connection is tried once more; callers that wait have their own attempts.
        "retry_connect": min(retries, CONNECT_RETRIES),
        # Pauses of 2, 4 and 8 s, each a second more or less. The client's own begin at 18 s.
        "initial_backoff": 0,
        "increment_base": 2,
        "random_jitter_range": 1,
        "connection_timeout": CONNECT_TIMEOUT_S,
        "read_timeout": READ_TIMEOUT_S,
        "raw_response_hook": heard,
    }
    try:
        if settings.azure_connection_string:
            client = ContainerClient.from_connection_string(settings.azure_connection_string, container, **options)
            _check_account(client, account_url, uri)
            return client
        url = settings.azure_account_url or account_url or _url_of(settings.azure_account_name, uri)
        client = ContainerClient(url, container, **options)
        _check_account(client, account_url, uri)
        return ContainerClient(url, container, credential=_credential(settings, client, uri), **options)
    except (ValueError, TypeError) as error:
        raise StoreError(f"{uri} can't be opened with these settings: {error}. Check the azure.* settings") from error


def _url_of(account_name: str | None, uri: str) -> str:
    if not account_name:
        raise StoreError(
            f"{uri} doesn't say which storage account: set azure.account-name, azure.account-url or "
            "azure.connection-string, or write abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/path"
        )
    return f"https://{account_name}.blob.core.windows.net"


def _check_account(client: ContainerClient, account_url: str | None, uri: str) -> None:
    if account_url is None:
        return
    named = account_url.removeprefix("https://").partition(".")[0]
    if client.account_name != named:
        raise StoreError(
            f"{uri} names the account {named!r}, the azure.* settings {client.account_name!r}: correct one"
        )


def _credential(settings: StoreSettings, client: ContainerClient, uri: str) -> Any:
    if settings.azure_account_key:
        name = settings.azure_account_name or client.account_name
        if not name:
            raise StoreError(f"{uri} is opened with azure.account-key: set azure.account-name as well")
        return AzureNamedKeyCredential(name, settings.azure_account_key)
    if settings.azure_sas_token:
        return AzureSasCredential(settings.azure_sas_token.removeprefix("?"))
    if settings.azure_bearer_token:
        return _BearerToken(settings.azure_bearer_token)
    try:
        identity: Any = importlib.import_module("azure.identity")
    except ModuleNotFoundError as error:
        raise StoreError(
            f"{uri} is opened without credentials: set azure.connection-string, azure.account-key, azure.sas-token or "
            "azure.bearer-token, or install azure-identity to log in as the Azure tools do"
        ) from error
    return identity.DefaultAzureCredential()
