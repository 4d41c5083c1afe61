"""Parts that all sections are made of: headings, tables, marks of what changes, phases."""

from collections.abc import Iterable, Sequence

from inferfleet.cli.show.picture.markup import Child, Html, element

_NUMBERS = frozenset({"replicas", "GPUs", "nodes paid for", "GPUs held", "weight", "share", "pods ready"})


def section(name: str, *children: Child) -> Html:
    """Return a section with its heading, to which the contents lead."""
    key = name.lower()
    return element("section", element("h2", name, id=key, tabindex="-1"), *children, aria_labelledby=key)


def table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[Child]]) -> Html:
    """Return a table whose first column heads its rows. Rows can be searched for."""
    numbers = [column in _NUMBERS for column in columns]
    head = element("tr", (element("th", column, scope="col", class_=_class(column)) for column in columns))
    body = (
        element(
            "tr",
            (
                element("td", cell, class_="number" if number else None)
                if place
                else element("th", cell, scope="row")
                for place, (cell, number) in enumerate(zip(row, numbers, strict=True))
            ),
            data_find=True,
        )
        for row in rows
    )
    made = element("table", element("caption", caption), element("thead", head), element("tbody", body))
    # Wide tables scroll by themselves, which the keyboard must be able to do.
    return element("div", made, class_="wide", tabindex="0", role="region", aria_label=caption)


def _class(column: str) -> str | None:
    return "number" if column in _NUMBERS else None


def marks(changes: Iterable[str]) -> Html | None:
    """Return what changes against the base, None for nothing."""
    lines = tuple(changes)
    if not lines:
        return None
    return element("ul", (element("li", element("b", "changes: "), line) for line in lines), class_="marks")


def phase(name: str) -> Html | None:
    """Return the phase of something, None where nobody asked."""
    if not name:
        return None
    return element(
        "span",
        "✓ " if name == "Ready" else "! ",
        name,
        class_="phase good" if name == "Ready" else "phase bad",
    )
