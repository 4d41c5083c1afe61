"""The file that a picker reads, and the tables of what it may hold."""

import pytest

from inferfleet.manifests.picker.config import config_text
from inferfleet.profiles.pickers.tables import PickerTable, picker_table


@pytest.mark.parametrize("text", ["y", "N", "1e3", "0o17", "+12E3"])
def test_texts_stay_texts_for_the_picker(text: str) -> None:
    """It would read them as a boolean or a number, and exit; others stand as they always did."""
    assert config_text({"name": text, "type": "yes-scorer"}) == f"name: '{text}'\ntype: yes-scorer\n"


@pytest.mark.parametrize("name", ["gie-1.5", "scheduler-0.7", "router-0.10"])
def test_a_table_refers_to_types_and_gates_that_it_has(name: str) -> None:
    table: PickerTable = picker_table(name)
    types = {
        *table.defaults.policies,
        *table.defaults.parsers,
        *table.companions,
        *table.companions.values(),
        *table.producers.values(),
        table.defaults.detector,
        table.defaults.source,
        table.defaults.extractor,
        table.data.never_without,
        *(row.instead for row in table.plugins.values()),
        *(row.never_with for row in table.plugins.values()),
    }
    gates = {table.data.opened_by, table.data.closed_by}
    assert (types - {""} - table.plugins.keys(), gates - {""} - {*table.gates}) == (set(), set())
    made = {key for row in table.plugins.values() for key in row.makes}
    assert {key for row in table.plugins.values() for key in row.reads} <= made
