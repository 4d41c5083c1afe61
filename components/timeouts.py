"""Await budgets as the engine takes them."""

import pulumi


def timeouts(seconds: int | None) -> pulumi.CustomTimeouts | None:
    """For creation and update alike; None leaves the provider's own."""
    return pulumi.CustomTimeouts(create=f"{seconds}s", update=f"{seconds}s") if seconds else None
