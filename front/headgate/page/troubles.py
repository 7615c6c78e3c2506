"""What the page says of an error: ours explain themselves, and one that should not happen is called by its kind, too."""

from headgate_schemas.errors import HeadgateError


def told(error: Exception) -> str:
    """Never empty: no words would mean that all is well."""
    if isinstance(error, HeadgateError) and str(error):
        return str(error)
    return f"{type(error).__name__}: {error}"
