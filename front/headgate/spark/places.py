"""The address of a table in Spark's own file systems."""

import re
from typing import TYPE_CHECKING, Any

from headgate_schemas.errors import InvalidInput
from headgate_table.store.addresses import table_address
from headgate_table.store.settings import StoreSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_S3_SCHEME = re.compile(r"(s3[an])://", re.IGNORECASE)
_ACCOUNT_HOST = re.compile(r"(?:https?://)?([^./:]+)\.")
_ACCOUNT_IN_TEXT = re.compile(r"(?:^|;)AccountName=([^;]+)", re.IGNORECASE)


def spark_root(spark: "SparkSession", uri: str, store: StoreSettings) -> str:
    """`file:///…`, `s3a://…`, `abfss://…`. Nothing in it is escaped: Hadoop takes names unchanged."""
    address = table_address(uri)
    scheme, separator, rest = address.partition("://")
    if not separator:
        return f"file://{address}"
    if scheme == "s3":
        given = _S3_SCHEME.match(uri)
        return f"{given[1].lower() if given else _s3_scheme(spark)}://{rest}"
    if scheme == "az":
        container, _, prefix = rest.partition("/")
        return f"abfss://{container}@{_azure_account(uri, store)}.dfs.core.windows.net/{prefix}".rstrip("/")
    return address


def _s3_scheme(spark: "SparkSession") -> str:
    """Hadoop's own file system is s3a; some distributions have another one for s3."""
    classic: Any = spark
    if hasattr(classic, "_jsparkSession"):
        own = classic._jsparkSession.sessionState().newHadoopConf().get("fs.s3.impl")
    else:
        own = spark.conf.get("spark.hadoop.fs.s3.impl", None)
    return "s3" if own else "s3a"


def _azure_account(uri: str, store: StoreSettings) -> str:
    named = _ACCOUNT_IN_TEXT.search(store.azure_connection_string or "")
    host = _ACCOUNT_HOST.match(store.azure_account_url or "")
    account = store.azure_account_name or (named[1] if named else None) or (host[1] if host else None)
    if account is None:
        raise InvalidInput(
            f"{uri} doesn't say which storage account it is in, as Spark needs to know: set azure.account-name, or write "
            f"abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/path"
        )
    return account
