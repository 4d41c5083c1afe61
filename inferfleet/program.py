"""The Pulumi program of a project that `inferfleet new` makes: the Fleet of its stack, and its outputs.

The `__main__.py` of such a project calls `main`, and is nothing besides.
"""

import pulumi

from inferfleet.starting import collect_seldom


def main() -> None:
    """Register all that the documents of the stack say, and export the outputs of the stack.

    Raises RunError with every problem where the run must not go on.
    """
    collect_seldom()
    from inferfleet.components.fleet import Fleet

    for name, value in Fleet(pulumi.get_stack()).outputs.items():
        pulumi.export(name, value)
