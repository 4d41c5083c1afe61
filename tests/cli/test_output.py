"""Nothing that a verb prints does more in a terminal or a CI log than appear there."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from small_project import Project

from inferfleet.cli.output import print_json, visible
from inferfleet.cli.show.tables import print_table
from inferfleet.documents.problems import Problem, Where
from inferfleet.documents.wording import one_line

ROOT = Path(__file__).parents[2]
# C0, DEL, C1, bidirectional marks, overrides and isolates, separators of lines, the byte order mark,
# half of a surrogate pair (as in names of files that are not UTF-8), and a tag character.
HOSTILE = [
    *map(chr, [*range(0x20), *range(0x7F, 0xA0), 0x200E, 0x200F, *range(0x202A, 0x202F), 0x2028, 0x2029]),
    *map(chr, [*range(0x2066, 0x206A), 0xFEFF, 0xDC80, 0xE0041]),
]
COMMANDS = ["::set-output name=a::b", "  ::error::x", "a ##[error]x", "##vso[task.setvariable]x"]


@pytest.mark.parametrize("char", HOSTILE, ids=ascii)
def test_a_hostile_character_is_an_escape_in_messages_and_tables(
    char: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name = f"a{char}b"
    problem = str(Problem(f"{name} is wrong", name, name, Where(f"{name}.yaml", 1)))
    print_table(name, ("name",), [(name,)])
    print_json({name: name})
    assert problem.isprintable()
    assert set(capsys.readouterr().out.replace("\n", "")) <= set(map(chr, range(0x20, 0x7F)))


@pytest.mark.parametrize("command", COMMANDS)
def test_no_line_is_a_command_to_a_ci_system(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    print(str(Problem("wrong", "Fix it", where=Where(command, 1))))
    print_table(command, ("name",), [(command,)])
    print_json([command])
    for line in capsys.readouterr().out.splitlines():
        assert not re.search(r"^\s*::|##\[|##vso\[", line)


def test_ordinary_text_is_printed_as_it_is() -> None:
    for text in ("déjà vu: 80Gi → 2", "a::b", "# cluster", "日本語", r"C:\new", ""):
        assert one_line(text) == text


def test_yaml_with_escapes_is_the_same_yaml() -> None:
    value = {"a": "left\u202eright \u00a0\u200b\U000e0041 é"}
    text = yaml.safe_dump(value, allow_unicode=True, default_style='"')
    assert visible(text).replace("\n", "").isprintable()
    assert yaml.safe_load(visible(text)) == value


@pytest.mark.parametrize("verb", [["validate"], ["plan"], ["explain", "ml/qwen"], ["render"], ["classes"]])
def test_hostile_documents_and_file_names_print_nothing_hostile(project: Project, verb: list[str]) -> None:
    bad = "\x1b]0;x\x07\u202e\u2028"
    quoted = bad.encode("unicode_escape").decode().replace("\\x07", "\\a")
    project.edit("classes/l4.yaml", "L4, 2 per node", f'"{quoted}"')
    project.edit("stacks/prod/models.yaml", "{name: LOG, value: info}", f'{{name: LOG, value: "{quoted}"}}')
    ran = project.run(*verb)
    assert ran.code == 0, ran.err
    assert (ran.out + ran.err).replace("\n", "").isprintable()


def test_a_file_name_starts_no_line(project: Project) -> None:
    name = "a\n::set-output name=x::y.yaml"
    project.write(f"stacks/prod/{name}", "kind: [\n")
    ran = project.run("validate")
    assert ran.code == 1
    assert r"stacks/prod/a\n::set-output name=x::y.yaml:1: not valid YAML" in ran.err
    assert not re.search("^ *::", ran.err, re.MULTILINE)
    file = project.write("::error::x.yaml", "kind: [\n")
    assert project.run("validate", file.name).err.startswith(r"\x3a:error::x.yaml:1: ")


def test_a_stack_is_named_on_one_line(project: Project) -> None:
    project.write("stacks/b\n::error::x/a.yaml", "")
    assert not re.search("^[ │]*::", project.run("plan").err, re.MULTILINE)


@pytest.mark.parametrize("verb", [["validate"], ["plan"], ["explain", "ml/qwen"], ["render"]])
def test_a_verb_prints_what_the_encoding_lacks_as_escapes(project: Project, verb: list[str]) -> None:
    project.edit("stacks/prod/models.yaml", "{name: LOG, value: info}", '{name: LOG, value: "é"}')
    project.write("stacks/prod/é.yaml", "# é\n")
    code = "from inferfleet.cli.start import main; main()"
    env = {**os.environ, "PYTHONPATH": str(ROOT), "LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    ran = subprocess.run([sys.executable, "-c", code, *verb], env=env, capture_output=True, check=False)
    assert (ran.returncode, b"Traceback" in ran.stderr) == (0, False), ran.stderr


def test_verbs_print_only_by_the_one_way_out() -> None:
    # The last two are programs of pods, and no part of a verb.
    ways_out = {
        "inferfleet/cli/output.py",
        "inferfleet/cli/show/tables.py",
        "inferfleet/serving/adapter_loader.py",
        "inferfleet/serving/filling.py",
    }
    printing = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "inferfleet").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    }
    assert printing == ways_out


def test_a_text_of_several_lines_begins_no_command(project: Project) -> None:
    text = "ok\n::set-output name=a::b\n  ##vso[task.x]y"
    note = f"metadata: {{annotations: {{note: {json.dumps(text)}}}}}"
    project.edit("stacks/prod/models.yaml", "template: {", f"template: {{{note}, ")
    project.edit("classes/l4.yaml", "L4, 2 per node", json.dumps(text))
    for verb in (["render"], ["classes", "l4"], ["explain", "ml/qwen"], ["render", "--format", "json"]):
        ran = project.run(*verb)
        assert (ran.code, re.search(r"^\s*::|##\[|##vso\[", ran.out, re.MULTILINE)) == (0, None)
    rendered = [object_ for object_ in yaml.safe_load_all(project.run("render").out) if object_]
    notes = [
        object_["spec"]["template"]["metadata"].get("annotations", {}).get("note")
        for object_ in rendered
        if object_["kind"] == "Deployment"
    ]
    assert text in notes


@pytest.mark.parametrize(
    "words",
    [
        ["plan", "--jsn", "--json"],
        ["plan", "--json", "--stack"],
        ["explain", "--json"],
        ["classes", "--json", "--count", "many"],
        ["classes", "--json", "--provider", "nobody"],
        ["classes", "--json", "--min-memory", "much"],
        ["status", "--json", "--watch"],
        ["plan", "--json", "--write", "--locked"],
        ["plan", "--json", "--stack", "prod", "x.yaml"],
        ["valdate", "--json"],
    ],
)
def test_a_wrong_call_is_json_too(project: Project, words: list[str]) -> None:
    ran = project.run(*words)
    (problem,) = ran.json["problems"]
    assert (ran.code, ran.err, problem["nextStep"]) == (2, "", "See --help")


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("stacks/prod/placement.lock", "x"),
        ("stacks/prod/models.yaml", "kind: ["),
        ("stacks/Pulumi.prod.yaml", "config: 3"),
        ("stacks/Pulumi.prod.yaml", "config: {inferfleet:documents: /}"),
    ],
)
@pytest.mark.parametrize(
    "verb", ["validate", "plan", "explain ml/qwen", "classes", "status", "plan --locked"]
)
def test_an_early_failure_is_json_too(project: Project, verb: str, file: str, text: str) -> None:
    project.write(file, text)
    for words in (verb.split(), [*verb.split(), "--stack", "prd"]):
        ran = project.run(*words, "--json")
        assert (ran.code, ran.err, len(ran.json["problems"])) == (1, "", 1)


def test_a_very_long_list_of_problems_is_cut(project: Project) -> None:
    project.write("stacks/prod/more.yaml", "\n---\n".join(["a: b"] * 300))
    lines = project.run("validate").err.splitlines()
    assert (lines[-3], lines[-1], len(lines)) == ("and 400 more problems", "600 problems", 204)
    assert len(project.run("validate", "--json").json["problems"]) == 600
