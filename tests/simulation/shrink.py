"""Makes the story of a failing seed minimal: faults are left out one by one, as long as the same law is broken."""

from collections.abc import Iterator

from tests.simulation.run import Result, simulate
from tests.simulation.story import Story


def shrunk(story: Story) -> tuple[Story, Result]:
    """Return the shortest story found that breaks the same law, and how it went."""
    result = simulate(story)
    law = result.wrong[0].law
    is_shorter = True
    while is_shorter:
        is_shorter = False
        for shorter in _shorter(story):
            found = simulate(shorter)
            if found.wrong and found.wrong[0].law == law:
                story, result, is_shorter = shorter, found, True
                break
    return story, result


def _shorter(story: Story) -> Iterator[Story]:
    """Yield stories with one fault less, then smaller fleets of which every fault still has its subject."""
    faults = story.faults
    for number in range(len(faults)):
        yield story._replace(faults=faults[:number] + faults[number + 1 :])
    named = " ".join(fault.where for fault in faults)
    if story.collectors > 1 and "c2" not in named:
        yield story._replace(collectors=1)
    if story.brokers > 1 and not any(fault.where.split()[0] == str(story.brokers) for fault in faults):
        yield story._replace(brokers=story.brokers - 1)
    if story.disks > 1 and f"/d{story.disks - 1}" not in named:
        yield story._replace(disks=story.disks - 1)
