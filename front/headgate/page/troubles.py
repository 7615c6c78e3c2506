"""The page's text for an error: Headgate's errors explain themselves, and an unexpected one is also named by its class."""

from headgate_schemas.errors import HeadgateError


def told(error: Exception) -> str:
    """The text; never empty, because an empty one would mean that all is well."""
    if isinstance(error, HeadgateError) and str(error):
        return str(error)
    return f"{type(error).__name__}: {error}"
