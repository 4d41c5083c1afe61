"""Any number of processes runs end-to-end tests: what each takes of the machine is counted over all."""

import threading
from pathlib import Path

import pytest
from budget import INSTANCES, MEBIBYTES, part, parts


@pytest.mark.parametrize(
    ("instances", "mebibytes", "cores", "groups"),
    [
        (10 * INSTANCES, 10 * MEBIBYTES, 2, 4),
        (5 * INSTANCES - 1, 10 * MEBIBYTES, 64, 4),
        (10 * INSTANCES, 3 * MEBIBYTES - 1, 64, 2),
        (5, 10 * MEBIBYTES, 2, 1),
    ],
)
def test_what_is_scarcest_says_how_many_groups_run_at_once(
    instances: int, mebibytes: int, cores: int, groups: int
) -> None:
    assert parts(instances, mebibytes, cores) == groups


def test_at_most_so_many_groups_run_at_once_and_each_gets_its_turn(tmp_path: Path) -> None:
    running, most, done = 0, 0, 0
    counting = threading.Lock()
    both = threading.Barrier(2)

    def group() -> None:
        nonlocal running, most, done
        with part(2, tmp_path):
            with counting:
                running += 1
                most = max(most, running)
            both.wait(300)
            with counting:
                running -= 1
                done += 1

    groups = [threading.Thread(target=group) for _ in range(6)]
    for each in groups:
        each.start()
    for each in groups:
        each.join()
    assert (most, done, running) == (2, 6, 0)
