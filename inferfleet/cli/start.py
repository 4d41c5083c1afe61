"""How the installed command starts."""

from inferfleet.starting import collect_seldom


def main() -> None:
    """Entry point of the installed command."""
    collect_seldom()
    from inferfleet.cli.main import main as verbs

    verbs()
