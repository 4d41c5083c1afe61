"""The driver of new pools whose recipe names none."""

import pytest

from inferfleet.cloud.gke.facts.machines import chosen, machine


@pytest.mark.parametrize(
    ("machine_type", "accelerator", "driver"),
    [
        ("g2-standard-8", "nvidia-l4", "LATEST"),
        ("a4-highgpu-8g", "nvidia-b200", "LATEST"),
        ("n1-standard-8", "nvidia-tesla-t4", "LATEST"),
        ("n1-standard-8", "nvidia-tesla-v100", "DEFAULT"),
        ("a4x-highgpu-4g", "nvidia-gb200", "DEFAULT"),
    ],
)
def test_images_of_today_run_in_the_driver_that_is_chosen(
    machine_type: str, accelerator: str, driver: str
) -> None:
    facts = machine(machine_type)
    assert facts
    assert chosen(facts, accelerator) == driver
