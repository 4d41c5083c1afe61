"""What links of one chain do to each other's fields: seen from the differences that they make, leaf by leaf.

A link must not change what an earlier one changed, unless it says `override: true`. What it leaves as an
earlier link wrote it, and what only the document wrote, it may change. A plugin that holds pods to something
is asked what is wrong with them after the whole chain, because a link can break that with fields of its own.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain

from inferfleet.documents.pods.diff import compared, in_words, leaves
from inferfleet.documents.problems import Mistake
from inferfleet.plugins.calling import call, file_of
from inferfleet.plugins.contract import PluginCodeError, PodTemplate
from inferfleet.plugins.link import BoundLink, Differences, Link


def differences(before: PodTemplate, after: PodTemplate) -> Differences:
    """Return what a link changed in a template."""
    comparison = compared(before, after)
    return Differences(
        comparison.changes, tuple(leaves(change) for change in comparison.changes), comparison.renamed
    )


@dataclass
class WrittenFields:
    """The fields that links of a chain changed so far, with the last link and its value."""

    by_identity: dict[str, tuple[Link, object]] = field(default_factory=dict)

    def conflicts(self, differing: Differences) -> Iterator[str]:
        """Yield what changes of fields do to those that earlier links changed to another value."""
        for fields in differing.leaves:
            for identity, before, after in fields:
                link, value = self.by_identity.get(identity, (None, after))
                if link is not None and value != after:
                    yield _conflict(link, identity, before, after)
                    break  # an entry that is removed has many fields

    def add(self, link: Link, differing: Differences) -> None:
        """Remember what the link changed."""
        for identity, _, after in chain.from_iterable(differing.leaves):
            self.by_identity[identity] = (link, after)
        for old, new in differing.renamed:
            self._rename(old, new)

    def _rename(self, old: str, new: str) -> None:
        """Let what links wrote into an entry of a list be found under the identity that it has now."""
        for identity in [identity for identity in self.by_identity if identity.startswith(old)]:
            if (rest := identity.removeprefix(old))[:1] in ("", ".", "["):
                self.by_identity[new + rest] = self.by_identity.pop(identity)


def _conflict(link: Link, identity: str, before: object, after: object) -> str:
    does = "removes it" if after is None else f"changes it to {in_words(identity, after)}"
    place = f" ({link.where})" if link.where else ""
    return (
        f"{identity} was set to {in_words(identity, before)} by plugin {link.spec.name} of the "
        f"{link.origin} chain, {link.path}{place}, and this link {does}"
    )


def held(bound: BoundLink, template: PodTemplate) -> tuple[Mistake, ...]:
    """Return what the plugin of a link finds wrong with a template of its own. Raises PluginError."""
    function = bound.plugin.holds
    if function is None:
        return ()
    mistakes = call(lambda: function(template, bound.config), file=file_of(function))
    if not isinstance(mistakes, list | tuple) or not all(
        isinstance(mistake, Mistake) for mistake in mistakes
    ):
        raise PluginCodeError(f"its holds returns {type(mistakes).__name__}, but must return Mistakes")
    return tuple(mistakes)


def broken(holder: Link, mistake: Mistake) -> tuple[str, str]:
    """Return what to say of the link that broke what an earlier one holds pods to, and the next step."""
    what = (
        f"breaks what plugin {holder.spec.name} of the {holder.origin} chain, {holder.path}, holds pods to: "
        f"{mistake.what}"
    )
    return what, f"{mistake.next_step}, or name {holder.spec.name} behind this link too"
