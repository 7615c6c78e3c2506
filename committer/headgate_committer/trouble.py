"""What the log says of an error."""

import traceback

from headgate_schemas.errors import HeadgateError


def describe_error(error: BaseException) -> str:
    """Errors of ours explain themselves. Any other is a defect of ours, and where it arose is needed to mend it."""
    return str(error) if isinstance(error, HeadgateError) else "".join(traceback.format_exception(error)[-3:])
