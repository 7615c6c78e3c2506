"""All random generators with fresh seeds, as `make attack MINUTES=n` asks for them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.attack.program import main  # found by the line above

if __name__ == "__main__":
    sys.exit(main())
