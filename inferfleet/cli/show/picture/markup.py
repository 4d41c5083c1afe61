"""HTML as values: an element escapes whatever is in it, unless that is an element."""

from collections.abc import Iterable
from html import escape

from inferfleet.documents.wording import one_line

# https://html.spec.whatwg.org/multipage/syntax.html#void-elements, looked up on 2026-11-24.
_VOID = frozenset({"input", "meta"})


class Html(str):
    """Text that is HTML. Only this module makes it of other texts."""

    __slots__ = ()


Child = Html | str | int | None | Iterable["Html | str | int | None"]


def element(tag: str, *children: Child, **attributes: str | bool | None) -> Html:
    """Return an element. An attribute that is None or False is left out; `_` in its name is `-`, and one at
    the end is dropped (`class_`).
    """
    written = "".join(
        f" {name.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{_text(value)}"')
        for name, value in attributes.items()
        if value is not None and value is not False
    )
    return Html(f"<{tag}{written}>" if tag in _VOID else f"<{tag}{written}>{joined(*children)}</{tag}>")


def joined(*children: Child) -> Html:
    """Return what is in an element: texts escaped, elements as they are, None as nothing."""
    return Html("".join(_children(children)))


def verbatim(text: str) -> Html:
    """Return the text of a file of ours as it is: a style or a script, in which nothing is escaped."""
    return Html(text)


def _children(children: Iterable[Child]) -> Iterable[str]:
    for child in children:
        if child is None:
            continue
        if isinstance(child, Html):
            yield str(child)
        elif isinstance(child, str | int):
            yield _text(str(child))
        else:
            yield from _children(child)


def _text(text: object) -> str:
    return escape(one_line(str(text)), quote=True)
