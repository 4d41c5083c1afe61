"""A port outside that is taken is told of, and opened once it is free."""

import asyncio
import errno
import os
import socket
from pathlib import Path

from sandbox.network.load_balancers import Place
from sandbox.network.open_doors import OpenDoors, obstacle, told


def test_a_port_that_is_taken_is_told_of_until_it_is_free(tmp_path: Path) -> None:
    async def tried(place: Place, doors: OpenDoors) -> str:
        refused = await doors.lead({place: ()})
        assert told(tmp_path) == {place: refused.get(place, "")}
        return refused.get(place, "")

    async def both() -> list[str]:
        doors = OpenDoors(tmp_path)
        with socket.create_server(("127.0.0.1", 0)) as other:
            place = other.getsockname()
            while_taken = await tried(place, doors)
        said = [while_taken, await tried(place, doors), await tried(place, doors)]
        await doors.lead({})
        return [one.replace(str(place[1]), "PORT") for one in said]

    taken = (
        "Address already in use. Another program uses the port: end it "
        "(`ss -ltnp 'sport = :PORT'` names it), or set serving.gateway.port of the cluster."
    )
    assert asyncio.run(both()) == [taken, "", ""]
    assert told(tmp_path) == {}


def test_a_port_for_which_the_user_has_no_right_is_told_of_with_what_would_give_it() -> None:
    assert obstacle(OSError(errno.EACCES, os.strerror(errno.EACCES)), 80) == (
        "your user may not listen on ports below 1024. Set serving.gateway.port of the cluster to 8080 "
        "or run `sudo sysctl net.ipv4.ip_unprivileged_port_start=80`."
    )
