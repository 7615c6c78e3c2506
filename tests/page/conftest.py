"""A page that doesn't take its time."""

import pytest


@pytest.fixture
def short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """It looks at everything again soon."""
    from headgate.page import following, sweeping

    monkeypatch.setattr(sweeping, "UNCHANGED_S", 0.3)
    monkeypatch.setattr(sweeping, "CHANGED_S", 0.1)
    monkeypatch.setattr(sweeping, "FAILED_S", 0.1)
    monkeypatch.setattr(following, "LONGEST_PAUSE_S", 0.3)
    monkeypatch.setattr(following, "FIRST_PAUSE_S", 0.1)
