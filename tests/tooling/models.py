"""Tests that draw their cases, with other seeds and more cases, as `make models ONLY=… FIRST=seed CASES=n` asks for them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.models.program import main  # found by the line above

if __name__ == "__main__":
    sys.exit(main())
