"""Where in a file an expression is wrong, however YAML has it: in a line, quoted, folded or as a block."""

from pathlib import Path
from textwrap import indent

import pytest

from inferfleet.documents.loading.files import read
from inferfleet.fleet.selectors.devices import Selectors
from inferfleet.fleet.selectors.expressions import InvalidSelector


def _place(text: str, folder: Path) -> tuple[int, int] | None:
    (folder / "models.yaml").write_text(text)
    (source,), problems = read(folder / "models.yaml", folder, folder)
    assert problems == []
    where = source.positions()["spec.nodeSelector.cel"]
    expression = source.text.data["spec"]["nodeSelector"]["cel"]
    with pytest.raises(InvalidSelector) as invalid:
        Selectors().check(expression)
    return where.inside(expression, invalid.value.at)


@pytest.mark.parametrize(
    "written",
    [
        """cel: capacity["a b"] >= quantity("1")""",
        """cel: 'capacity["it''s"] >= quantity("1")'""",
        '''cel: "capacity[\\"a\\"] >= quantity(\\"1\\")"''',
        """cel: |\n  true &&\n\n    capacity["a"] >= quantity("1")""",
        """cel: >-\n  true &&\n  capacity["a"]\n    >= quantity("1")""",
        """cel:\n  true\n  && capacity["a"] >= quantity("1")""",
        """cel: |2-\n    capacity["a"] >= quantity("1") && true""",
        """cel: &same capacity["a"] >= quantity("1")""",
    ],
)
def test_a_problem_is_where_the_file_has_it(tmp_path: Path, written: str) -> None:
    text = f"spec:\n  nodeSelector:\n{indent(written, '    ')}\n"
    line, column = next(
        (number, one.index(">= quantity") + 1)
        for number, one in enumerate(text.split("\n"), 1)
        if ">= quantity" in one
    )
    assert _place(text, tmp_path) == (line, column)


def test_a_value_that_is_not_written_there_has_no_place(tmp_path: Path) -> None:
    text = 'x: &same capacity["a"] >= quantity("1")\nspec: {nodeSelector: {cel: *same}}\n'
    assert _place(text, tmp_path) is None
    escaped = 'spec: {nodeSelector: {cel: "capacity[\\"\\u0061\\"] >= quantity(\\"1\\")"}}\n'
    assert _place(escaped, tmp_path) is None
