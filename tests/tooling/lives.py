"""How many modules and functions of ours take part in each life of docs/architecture.md, as `make lives` prints them."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.lives import LIVES, lived  # found by the line above


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--list", action="store_true", help="every function too, in the order of its first call, with its thread"
    )
    parser.add_argument("lives", nargs="*", choices=[[], *LIVES], help=f"which of {', '.join(LIVES)}; all without any")
    chosen = parser.parse_args()
    for name in chosen.lives or LIVES:
        trace = lived(name)
        sys.stdout.write(f"{name}: {len(trace.modules)} modules, {len(trace.functions)} functions\n")
        if chosen.list:
            sys.stdout.writelines(f"  {thread:<24} {function}\n" for function, thread in trace.first_calls.items())
    return 0


if __name__ == "__main__":
    sys.exit(main())
