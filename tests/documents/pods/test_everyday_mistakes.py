"""Everyday mistakes in pod templates are said once, in the right place, with a next step."""

import pytest
from everyday import EVERYDAY, Everyday

from inferfleet.documents.pods.template import template_mistakes
from inferfleet.documents.wording import path_of


@pytest.mark.parametrize("mistake", EVERYDAY, ids=lambda mistake: mistake.path)
def test_an_everyday_mistake_is_said_once_in_its_place(mistake: Everyday) -> None:
    assert [
        (path_of(said.field_path), said.what, said.next_step) for said in template_mistakes(mistake.template)
    ] == [(mistake.path, mistake.what, mistake.next_step)]
