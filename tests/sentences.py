"""What a text lacks that people read as a description."""

import re


def faults(text: str, *, most: int = 2) -> list[str]:
    """What keeps a text from being whole sentences, at most so many; code in backticks is one word."""
    plain = re.sub(r"`[^`]*`", "Code", text)
    rules = {
        "no full stop at its end": plain.endswith("."),
        "no capital at its start": plain[:1].isupper() or plain[:1].isdigit(),
        f"more than {most} sentences": len(re.findall(r"\.(?= |$)", plain)) <= most,
    }
    return [fault for fault, holds in rules.items() if not holds]
