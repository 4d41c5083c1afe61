"""Processes of a sandbox are those whose program was started from inside its folder."""

import subprocess
from pathlib import Path

from sandbox.processes import end_processes, processes_in


def test_a_program_of_the_folder_is_ended_and_one_that_names_a_file_there_is_not(tmp_path: Path) -> None:
    link = tmp_path / "bin" / "etcd"
    link.parent.mkdir()
    link.symlink_to("/bin/cat")
    log = tmp_path / "log"
    log.touch()
    with (
        subprocess.Popen([str(link)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as inside,
        subprocess.Popen(["/usr/bin/tail", "-f", str(log)], stdout=subprocess.DEVNULL) as reader,
    ):
        assert inside.stdin is not None
        assert inside.stdout is not None
        # For a moment after its start a process has no command line.
        inside.stdin.write(b"\n")
        inside.stdin.flush()
        inside.stdout.readline()
        assert [(process.pid, process.program) for process in processes_in(tmp_path)] == [(inside.pid, link)]
        assert end_processes(tmp_path) == 1
        assert inside.wait() != 0
        assert reader.poll() is None
        reader.terminate()
