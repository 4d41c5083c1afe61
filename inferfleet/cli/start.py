"""Entry point of the installed command."""

from inferfleet.starting import collect_seldom


def main() -> None:
    """Run the command `inferfleet`."""
    collect_seldom()
    from inferfleet.cli.main import main as verbs
    from inferfleet.cli.output import accept_every_character

    accept_every_character()
    verbs()
