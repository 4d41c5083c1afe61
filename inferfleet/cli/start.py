"""The installed command."""

from inferfleet.starting import collect_seldom


def main() -> None:
    """Entry point."""
    collect_seldom()
    from inferfleet.cli.main import main as verbs

    verbs()
