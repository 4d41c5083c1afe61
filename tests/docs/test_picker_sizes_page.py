"""The page on the cost of pickers: its table is the rule's."""

import re
from pathlib import Path

from inferfleet.fleet.picker_size import size_for

PAGE = Path(__file__).parents[2] / "docs/guides/picker-sizes.md"
ROW = re.compile(r"^\| ([0-9 to]+|more) \| (\w+) \| (\w+) \|$", re.MULTILINE)


def test_the_table_has_the_size_of_every_number_of_endpoints() -> None:
    said: dict[int, tuple[str, ...]] = {}
    for endpoints, *amounts in ROW.findall(PAGE.read_text()):
        named = [int(number) for number in re.findall("[0-9]+", endpoints)] or [65, 500]
        said |= dict.fromkeys(range(named[0], named[-1] + 1), tuple(amounts))
    assert said == {
        endpoints: tuple(size_for(endpoints, interval=0.15)["requests"].values())
        for endpoints in range(1, 501)
    }
