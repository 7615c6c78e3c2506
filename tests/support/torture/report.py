"""What a run tells in the end: faults by kind, what was proposed, and the verdict."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from support.torture.faults import Fault
from support.torture.outcome import Outcome

SHOWN = 30


def report(outcome: Outcome, repeat: str) -> RenderableType:
    faults = Table("fault", "times", "slowest recovery", box=None, pad_edge=False)
    for fault, count in outcome.blows.most_common():
        slowest = outcome.slowest_recovery_s.get(fault)
        faults.add_row(fault.value, str(count), "" if slowest is None else f"{slowest:.1f} s")
    for fault in Fault:
        if fault in outcome.possible and not outcome.blows[fault]:
            faults.add_row(fault.value, "0", style="red")
        elif fault not in outcome.possible:
            faults.add_row(fault.value, "not on this scene", style="dim")
    faults.add_row("together", str(sum(outcome.blows.values())), style="bold")
    for what, count in outcome.ended_by_themselves.most_common():
        faults.add_row(f"ended by itself: {what}", str(count), style="dim")
    for deed, count in sorted(outcome.deeds.items()):
        faults.add_row(deed, str(count), style="dim")
    facts = (
        f"{outcome.took_s:.0f} s; {outcome.proposals} proposals ({outcome.accepted} accepted, {outcome.rejected} rejected), "
        f"{outcome.repeated} sent again; {outcome.versions} versions"
    )
    if not outcome.violations:
        return Group(faults, Text(facts), Text("every promise was kept", style="green"))
    lines = [Text(line, style="red") for line in outcome.violations[:SHOWN]]
    if len(outcome.violations) > SHOWN:
        lines.append(Text(f"… and {len(outcome.violations) - SHOWN} more"))
    return Group(faults, Text(facts), Text(f"{len(outcome.violations)} promises were broken:"), *lines, Text(repeat))
