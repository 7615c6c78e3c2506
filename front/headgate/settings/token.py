"""The word that lets somebody in over HTTP, and the cookie that stands for it in a browser."""

import hashlib
import hmac
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, repr=False)
class Token:
    """Compared in a time that tells nothing of it, and never shown by accident."""

    text: str

    def is_(self, given: str) -> bool:
        return _same(self.text, given)

    @property
    def cookie(self) -> str:
        """What a browser keeps in its place. It opens this page, and nobody learns the token from it."""
        return hmac.new(self.text.encode(), b"headgate-page-cookie", hashlib.sha256).hexdigest()

    def is_cookie(self, given: str) -> bool:
        return _same(self.cookie, given)


def _same(expected: str, given: str) -> bool:
    """By digests, so that not even the length shows."""
    return hmac.compare_digest(
        hashlib.sha256(expected.encode()).digest(), hashlib.sha256(given.encode("utf-8", "surrogatepass")).digest()
    )
