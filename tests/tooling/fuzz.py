"""Mutated input, as `make fuzz KIND=… FILES=n SEED=n` asks for it. Prints what came of it; 1 for any problem."""

import argparse
import resource
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.drawn import message_fuzz
from support.milvus import fuzz as manifest_fuzz

ROUND = 10_000
KINDS = {"manifests": (manifest_fuzz.run, 200_000), "messages": (message_fuzz.run, 100_000)}
"""By what is mutated, and how much of it by default."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=KINDS, default="manifests", help="what is mutated (default: %(default)s)")
    parser.add_argument("--files", type=int, help="how many of them (default: 200,000 manifests, 100,000 messages)")
    parser.add_argument("--seed", type=int, default=1, help="of the first round of 10,000 (default: %(default)s)")
    asked = parser.parse_args()
    run, usual = KINDS[asked.kind]
    wanted = usual if asked.files is None else asked.files
    done, seed, problems = 0, asked.seed, 0
    while done < wanted:
        count = min(ROUND, wanted - done)
        tally = run(count, seed)
        done += count
        outcomes = ", ".join(f"{name}: {number}" for name, number in tally.outcomes.most_common())
        print(
            f"seed {seed}: {count} {asked.kind}; {outcomes}; slowest {tally.slowest_s * 1000:.0f} ms, "
            f"most {tally.most_bytes} bytes",
            flush=True,
        )
        for problem in tally.problems[:10]:
            print(f"  {problem[:2000]}")
        problems += len(tally.problems)
        seed += 1
    whole_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(f"{done} {asked.kind}, {problems} problems; the process took {whole_mib} MiB at most")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
