"""Retries with growing pauses, slept through `Ambient`. The caller decides which errors are retried."""

import tenacity

from headgate_schemas.ambient import Ambient


def trying_again(
    ambient: Ambient,
    on: type[BaseException] | tuple[type[BaseException], ...],
    *,
    attempts: int,
    first_pause_s: float,
    longest_pause_s: float,
) -> tenacity.Retrying:
    """Use as `for attempt in trying_again(...): with attempt: ...`. The last failure is raised as it is."""

    def pause(state: tenacity.RetryCallState) -> float:
        doubled = first_pause_s * 2.0 ** min(state.attempt_number - 1, 30)
        return min(doubled, longest_pause_s) * (0.5 + ambient.jitter() / 2)

    return tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(on),
        stop=tenacity.stop_after_attempt(attempts),
        wait=pause,
        sleep=ambient.sleep,
        reraise=True,
    )
