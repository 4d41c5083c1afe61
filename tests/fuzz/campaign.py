"""Many inputs one after the other: `python tests/fuzz/campaign.py --count 100000 --seed 1`.

Prints progress and a summary. An input with a fault is written to a file, and `--replay FILE` runs it again.
"""

import argparse
import resource
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from cases import KINDS, Case, from_text, make
from outcomes import Outcome, outcome_of

MIB = 1024


@dataclass
class Campaign:
    """The outcomes of inputs so far, and the slowest of them."""

    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    slowest: tuple[float, str] = (0.0, "none")
    faults: list[tuple[Case, Outcome]] = field(default_factory=list)

    def add(self, case: Case, outcome: Outcome) -> None:
        """Count an outcome."""
        self.outcomes[(case.kind, outcome.name)] += 1
        self.slowest = max(self.slowest, (outcome.seconds, f"{case.kind} {case.number}"))
        if outcome.faults:
            self.faults.append((case, outcome))

    def summary(self) -> str:
        """Return how many inputs ended how, the slowest one, and the peak of memory."""
        names = sorted({name for _, name in self.outcomes})
        rows = [["kind", *names]]
        for kind in sorted({kind for kind, _ in self.outcomes}):
            rows.append([kind, *(str(self.outcomes[(kind, name)]) for name in names)])
        lines = ["  ".join(cell.rjust(12) for cell in row) for row in rows]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // MIB
        lines.append(f"slowest: {self.slowest[0]:.2f} s ({self.slowest[1]}); peak memory: {peak} MiB")
        lines.append(f"{self.outcomes.total()} inputs, {len(self.faults)} with a fault")
        return "\n".join(lines)


def run(seed: int, count: int, *, kinds: tuple[str, ...] = KINDS, start: int = 0, every: int = 0) -> Campaign:
    """Return the outcomes of so many inputs; with `every`, print progress after as many."""
    campaign = Campaign()
    begun = time.monotonic()
    for number in range(start, start + count):
        case = make(seed, number, kinds)
        campaign.add(case, outcome_of(case))
        done = number - start + 1
        if every and done % every == 0:
            speed = done / (time.monotonic() - begun)
            print(f"{done} of {count}, {speed:.0f} a second, {len(campaign.faults)} faults", flush=True)
    return campaign


def _replay(file: Path) -> int:
    case = from_text(file.read_text())
    outcome = outcome_of(case)
    print(f"inferfleet {' '.join(case.command)}: {outcome.name}, exit code {outcome.code}")
    for name, text in case.files.items():
        print(f"--- {name}\n{text!a}")
    print(f"--- output\n{outcome.out!a}\n--- standard error\n{outcome.err!a}")
    for fault in outcome.faults:
        print(f"fault: {fault}")
    return 1 if outcome.faults else 0


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=1_000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--start", type=int, default=0)
    options.add_argument("--kinds", default=",".join(KINDS))
    options.add_argument("--replay", type=Path)
    chosen = options.parse_args()
    if chosen.replay:
        return _replay(chosen.replay)
    kinds = tuple(chosen.kinds.split(","))
    campaign = run(chosen.seed, chosen.count, kinds=kinds, start=chosen.start, every=500)
    folder = Path(tempfile.gettempdir())
    for case, outcome in campaign.faults[:20]:
        file = folder / f"inferfleet-fuzz-{chosen.seed}-{case.number}.json"
        file.write_text(case.as_text())
        print(f"make fuzz REPLAY={file}: {outcome.faults[0][-700:]}")
    print(campaign.summary())
    return 1 if campaign.faults else 0


if __name__ == "__main__":
    sys.exit(main())
