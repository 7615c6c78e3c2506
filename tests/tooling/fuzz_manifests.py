"""Mutated Milvus manifests, as `make fuzz FILES=n SEED=n` asks for them. Prints what came of them; 1 for any problem."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.milvus.fuzz import run  # found by the line above

ROUND = 10_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=200_000, help="how many mutated files (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the first round of 10,000 (default: %(default)s)")
    asked = parser.parse_args()
    done, seed, problems = 0, asked.seed, 0
    while done < asked.files:
        count = min(ROUND, asked.files - done)
        tally = run(count, seed)
        done += count
        outcomes = ", ".join(f"{name}: {number}" for name, number in tally.outcomes.most_common())
        print(
            f"seed {seed}: {count} files; {outcomes}; slowest {tally.slowest_s * 1000:.0f} ms, most {tally.most_bytes} bytes"
        )
        for problem in tally.problems[:10]:
            print(f"  {problem[:2000]}")
        problems += len(tally.problems)
        seed += 1
    print(f"{done} files, {problems} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
