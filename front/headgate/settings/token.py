"""The token that gives access over HTTP, and the cookie that replaces it in a browser."""

import hashlib
import hmac
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, repr=False)
class Token:
    """A token. Its comparison takes constant time, and its text is never shown by accident."""

    text: str

    def is_(self, given: str) -> bool:
        return _same(self.text, given)

    @property
    def cookie(self) -> str:
        """The cookie in a browser. It opens this page, and the token can't be derived from it."""
        return hmac.new(self.text.encode(), b"headgate-page-cookie", hashlib.sha256).hexdigest()

    def is_cookie(self, given: str) -> bool:
        return _same(self.cookie, given)


def _same(expected: str, given: str) -> bool:
    """Compared by digests, so that not even the length leaks."""
    return hmac.compare_digest(
        hashlib.sha256(expected.encode()).digest(), hashlib.sha256(given.encode("utf-8", "surrogatepass")).digest()
    )
