"""Sessions of boto3 that read the descriptions of services only once: reading them takes a tenth of a second for every
store.
"""

from typing import Any

import boto3
import botocore.loaders
import botocore.session

from headgate_table.store.settings import StoreSettings


class _ReadOnce(botocore.loaders.JSONFileLoader):  # type: ignore[misc]  # botocore has no types
    """The files of a botocore release; sessions read them and never change them."""

    def __init__(self) -> None:
        self._read: dict[str, Any] = {}

    def load_file(self, file_path: str) -> Any:
        if file_path not in self._read:
            self._read[file_path] = super().load_file(file_path)
        return self._read[file_path]


_DESCRIPTIONS = _ReadOnce()


def new_session(settings: StoreSettings) -> Any:
    """A session with the settings' credentials, profile and region; boto3 finds the rest by itself."""
    session = botocore.session.get_session()

    def loader() -> Any:
        made = botocore.loaders.create_loader(session.get_config_variable("data_path"))
        made.file_loader = _DESCRIPTIONS
        return made

    session.lazy_register_component("data_loader", loader)
    return boto3.session.Session(
        aws_access_key_id=settings.s3_access_key,
        aws_secret_access_key=settings.s3_secret_key,
        aws_session_token=settings.s3_session_token,
        profile_name=settings.s3_profile,
        region_name=settings.s3_region,
        botocore_session=session,
    )
