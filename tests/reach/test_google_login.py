"""Asking Google where the packages for that are an extra."""

import sys

import pytest

from inferfleet.reach.google_login import GoogleLogin, preload
from inferfleet.reach.refusals import CloudError


def test_without_google_auth_a_question_to_google_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("google.auth", "google.auth.exceptions", "google.auth.transport.requests"):
        monkeypatch.setitem(sys.modules, name, None)
    preload()
    with pytest.raises(CloudError) as raised:
        GoogleLogin().get("https://container.googleapis.com/v1", of="the Container API", seconds=1)
    assert (raised.value.what, raised.value.next_step) == (
        "the Container API is asked with the package google-auth, which is missing",
        "Install it where inferfleet is: pip install 'inferfleet[gke]'",
    )
