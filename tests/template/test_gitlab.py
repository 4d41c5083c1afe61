"""The pipeline for GitLab: who has the token, what it writes, and that both systems tell the same."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
import yaml
from workflows import BASH, Clone, allow_plugin

ME, OTHER = {"id": 5}, {"id": 6}
MARK = "<!-- inferfleet digest -->"
DIGEST = f"{MARK}\n## What changes\n\nCommit `abcdef012345` compared with `222222222222`: new & more"
TITLE = "Stack local is not what its documents say"


def pipeline(clone: Clone) -> dict[str, Any]:
    jobs: dict[str, Any] = yaml.safe_load((clone.root / ".gitlab-ci.yml").read_text())
    return jobs


def script(clone: Clone, job: str, **more: str) -> Any:
    """The script of a job, after what the job that it extends runs before."""
    jobs = pipeline(clone)
    before = jobs.get(jobs[job].get("extends"), {}).get("before_script", [])
    (tell,) = before or [""]
    text = "\n".join([tell, *jobs[job]["script"]]).replace("/tmp/", f"{clone.root.parent}/")
    return clone.run(*BASH, text, **more)


class GitLab:
    """A stand-in of GitLab's API: it has notes and issues, and keeps what it was asked to change."""

    def __init__(self, notes: list[dict[str, Any]], issues: list[dict[str, Any]]) -> None:
        self.changes: list[tuple[str, str, dict[str, str]]] = []
        gitlab = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                size = int(self.headers.get("Content-Length") or 0)
                fields = dict(parse_qsl(self.rfile.read(size).decode()))
                assert self.headers["PRIVATE-TOKEN"] == "secret"
                path, _, query = self.path.partition("?")
                page = int(dict(parse_qsl(query)).get("page", "1"))
                if self.command != "GET":
                    gitlab.changes.append((self.command, path, fields))
                listed = notes if path.endswith("/notes") else issues
                told = ME if path == "/user" else listed[100 * (page - 1) : 100 * page]
                self.send_response(200)
                self.end_headers()
                self.wfile.write(json.dumps(told).encode())

            do_GET = do_POST = do_PUT = answer  # noqa: N815

            def log_message(self, *_: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()
        self.environment = {
            "CI_API_V4_URL": f"http://127.0.0.1:{self.server.server_port}",
            "GITLAB_TOKEN": "secret",
            "CI_PROJECT_ID": "3",
            "CI_MERGE_REQUEST_IID": "7",
            "INFERFLEET_STACK": "local",
            "CI_COMMIT_SHA": f"abcdef012345{'6' * 28}",
            "CI_PIPELINE_URL": "https://example.com/pipeline",
            "no_proxy": "127.0.0.1",
        }

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


NOTES = [
    {"id": 1, "author": OTHER, "body": f"{MARK}\nMerge this."},
    *({"id": number, "author": OTHER, "body": "a"} for number in range(2, 140)),
    {"id": 140, "author": ME, "body": f"{MARK}\nold"},
]
ISSUES = [{"iid": 1, "author": OTHER, "title": TITLE}, {"iid": 2, "author": ME, "title": TITLE}]


@pytest.fixture
def gitlab() -> Iterator[GitLab]:
    made = GitLab(NOTES, ISSUES)
    yield made
    made.close()


@pytest.fixture
def empty() -> Iterator[GitLab]:
    made = GitLab(NOTES[:1], ISSUES[:1])
    yield made
    made.close()


def digest(clone: Clone, **more: str) -> Any:
    same = {"CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "3", "CI_MERGE_REQUEST_PROJECT_ID": "3"}
    python = clone.root.parent / "bin/python"
    # Its environment is that of these tests, in which pip writes down what it was asked to install.
    python.write_text(
        f'#!/bin/sh\nif [ "$1" = -I ]; then exec {clone.run("which", "python3").stdout.strip()} "$@"; fi\n'
        f'pwd > "$ASKED.python"\nmkdir -p "$3/bin" && cp {clone.root.parent}/bin/pip "$3/bin/pip"\n'
    )
    python.chmod(0o755)
    return script(clone, "digest", **({"CI_MERGE_REQUEST_DIFF_BASE_SHA": "origin/main"} | same | more))


def test_gitlab_has_the_same_digest_and_its_own_list_of_problems(clone: Clone) -> None:
    clone.edit("stacks/local/models.yaml", "replicas: 1", "replicas: -1")
    assert digest(clone).returncode == 1
    assert (clone.root / "digest/digest.md").read_text().startswith(f"{MARK}\n")
    (problem,) = (
        problem
        for problem in json.loads((clone.root / "digest/problems.json").read_text())
        if problem["severity"] == "critical"
    )
    assert problem["location"] == {"path": "stacks/local/models.yaml", "lines": {"begin": 5}}


def test_the_job_that_runs_code_of_the_merge_request_refuses_a_token(clone: Clone) -> None:
    done = digest(clone, GITLAB_TOKEN="secret")
    assert (done.returncode, clone.asked) == (1, [])
    assert done.stdout == (
        "GITLAB_TOKEN is given to this job, which runs code of the merge request: "
        "set the variable's environment scope to comment\n"
    )


@pytest.mark.parametrize(("source", "installed"), [("3", "evil\n"), ("4", "")])
def test_packages_of_a_fork_are_not_run(clone: Clone, source: str, installed: str) -> None:
    own = (clone.root / "requirements.txt").read_text()
    clone.write("requirements.txt", "evil\n")
    digest(clone, CI_MERGE_REQUEST_SOURCE_PROJECT_ID=source)
    assert Path(clone.environment["ASKED"]).read_text() == (installed or own)
    folder = Path(Path(f"{clone.environment['ASKED']}.folder").read_text().strip())
    assert (folder == clone.root) == (source == "3")
    assert Path(f"{clone.environment['ASKED']}.python").read_text() != f"{clone.root}\n"


def test_plugins_of_a_fork_are_not_run(clone: Clone) -> None:
    ran = allow_plugin(clone)
    digest(clone, CI_MERGE_REQUEST_SOURCE_PROJECT_ID="4")
    assert not ran.exists()
    digest(clone)
    assert ran.exists()


def test_the_digest_is_one_note_of_the_tokens_own_account(clone: Clone, gitlab: GitLab) -> None:
    """A stranger's note with the same mark comes before it, and it is on the second page."""
    clone.write("digest/digest.md", DIGEST)
    done = script(clone, "note", **gitlab.environment)
    assert done.returncode == 0, done.stderr
    notes = "/projects/3/merge_requests/7/notes"
    assert gitlab.changes == [("PUT", f"{notes}/140", {"body": DIGEST})]


def test_the_first_digest_is_a_new_note(clone: Clone, empty: GitLab) -> None:
    clone.write("digest/digest.md", DIGEST)
    assert script(clone, "note", **empty.environment).returncode == 0
    assert empty.changes == [("POST", "/projects/3/merge_requests/7/notes", {"body": DIGEST})]


@pytest.mark.parametrize("text", [None, "", DIGEST.replace("abcdef", "000000")])
def test_a_digest_that_is_missing_or_of_another_commit_is_replaced(
    clone: Clone, gitlab: GitLab, text: str | None
) -> None:
    if text is not None:
        clone.write("digest/digest.md", text)
    assert script(clone, "note", **gitlab.environment).returncode == 0
    ((_, path, fields),) = gitlab.changes
    assert (path, fields["body"]) == (
        "/projects/3/merge_requests/7/notes/140",
        f"{MARK}\nNo digest of `abcdef012345`: the job that makes it failed, and "
        "[its pipeline](https://example.com/pipeline) says why.\n",
    )


def test_outputs_and_programs_that_a_branch_committed_are_none(clone: Clone) -> None:
    clone.write("digest/digest.md", f"{MARK}\nMerge this.\n")
    clone.write(".venv/bin/pip", f"#!/bin/sh\ntouch {clone.root.parent}/ran\n")
    (clone.root / ".venv/bin/pip").chmod(0o755)
    failed = '#!/bin/sh\n[ "$1" = digest ] || exit 0\nexit 1\n'
    (clone.root.parent / "bin/inferfleet").write_text(failed)
    (clone.root.parent / "bin/inferfleet").chmod(0o755)
    assert digest(clone).returncode == 1
    assert [(clone.root / "digest").exists(), (clone.root.parent / "ran").exists()] == [False, False]


def test_without_a_token_nothing_is_asked(clone: Clone) -> None:
    clone.write("digest/digest.md", MARK)
    done = script(clone, "note")
    assert (done.returncode, done.stdout) == (
        0,
        "no digest is written: there is no variable GITLAB_TOKEN whose environment scope is comment\n",
    )


@pytest.mark.parametrize(
    ("code", "change"),
    [("0", {"state_event": "close"}), ("1", {"title": TITLE, "description": "ended with exit code 1"})],
)
def test_one_issue_tells_what_differs_and_is_closed_when_nothing_does(
    clone: Clone, gitlab: GitLab, code: str, change: dict[str, str]
) -> None:
    clone.write("code", f"{code}\n")
    clone.write("told.txt", "Resources:\n    ~ 1 to update\n")
    done = script(clone, "drift issue", **gitlab.environment)
    assert done.returncode == 0, done.stderr
    ((method, path, fields),) = gitlab.changes
    assert (method, path, set(fields)) == ("PUT", "/projects/3/issues/2", set(change))
    assert all(change[name] in fields[name] for name in change)


def test_the_first_difference_opens_an_issue(clone: Clone, empty: GitLab) -> None:
    clone.write("code", "1\n")
    clone.write("told.txt", "")
    assert script(clone, "drift issue", **empty.environment).returncode == 0
    assert [(method, path) for method, path, _ in empty.changes] == [("POST", "/projects/3/issues")]


def test_a_preview_is_folded_into_a_note_with_its_counts(clone: Clone, empty: GitLab) -> None:
    clone.write("code", "0\n")
    clone.write("told.txt", "<east>\nResources:\n    ~ 1 to update\n")
    done = script(clone, "preview note", **empty.environment)
    assert done.returncode == 0, done.stderr
    ((_, _, fields),) = empty.changes
    assert fields["body"] == (
        "<!-- inferfleet preview -->\n`pulumi preview` of stack `local` ended without an error.\n"
        "\n<pre>\n    ~ 1 to update\n</pre>\n"
        "\n<details><summary>All of it</summary>\n\n<pre>\n&lt;east&gt;\nResources:\n    ~ 1 to update\n"
        "\n</pre>\n</details>\n"
    )


def test_jobs_with_the_token_have_no_checkout_and_others_no_token(clone: Clone) -> None:
    jobs = pipeline(clone)
    environments = {
        name: (job.get("environment") or jobs.get(job.get("extends"), {}).get("environment", {})).get("name")
        for name, job in jobs.items()
        if "script" in job
    }
    assert environments == {
        "digest": None,
        "note": "comment",
        "preview": "preview",
        "preview note": "comment",
        "up": "production",
        "drift": "drift",
        "drift issue": "comment",
    }
    assert jobs[".tell"]["variables"] == {"GIT_STRATEGY": "none"}
    assert [name for name, job in jobs.items() if "id_tokens" in job] == [".credentials"]
