"""Random histories of tables against a model of their rows, as `make oracle SEEDS=n FIRST=seed MINUTES=n JOBS=n` asks for them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.oracle.program import main  # found by the line above

if __name__ == "__main__":
    sys.exit(main())
