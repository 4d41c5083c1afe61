"""The page of `inferfleet report` in Chromium: accessible in both themes, and nothing is asked for.

The driver is spoken to as https://www.w3.org/TR/webdriver2/ says, looked up on 2026-11-24.
"""

import base64
import json
import os
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pictured import pictured

from inferfleet.cli.verbs.report_page import page

pytestmark = pytest.mark.browser
HERE = Path(__file__).parent
SLASH, ESCAPE = "/", "\ue00c"


class Browser:
    """One session of a driver."""

    def __init__(self, address: str) -> None:
        flags = ["--headless=new", "--window-size=1280,1000", *(["--no-sandbox"] if os.getuid() == 0 else [])]
        wanted = {"capabilities": {"alwaysMatch": {"goog:chromeOptions": {"args": flags}}}}
        self._address = f"{address}/session"
        self._address = f"{self._address}/{self._asked('', wanted)['sessionId']}"

    def _asked(self, path: str, body: dict[str, Any] | None = None, method: str = "POST") -> Any:
        request = urllib.request.Request(
            self._address + path,
            json.dumps(body or {}).encode() if method == "POST" else None,
            {"Content-Type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)["value"]

    def open(self, file: Path, theme: str, media: str = "screen") -> None:
        """Open a file for somebody whose system has this theme."""
        features = [{"name": "prefers-color-scheme", "value": theme}]
        command = {"media": media, "features": features}
        self._asked("/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": command})
        self._asked("/url", {"url": file.as_uri()})

    def narrow(self, width: int) -> None:
        """Have a window of this width, of its own for 0."""
        size = {"width": width, "height": 0, "deviceScaleFactor": 0, "mobile": False}
        command = {"cmd": "Emulation.setDeviceMetricsOverride", "params": size}
        self._asked("/goog/cdp/execute", command)

    def run(self, script: str, *values: object) -> Any:
        return self._asked("/execute/sync", {"script": script, "args": values})

    def accessible(self, axe: str) -> list[dict[str, Any]]:
        """Return what axe-core finds: rules with the first of the elements that break them."""
        self.run(axe)
        script = "const done = arguments[0]; axe.run().then(done, (error) => done(String(error)))"
        found = self._asked("/execute/async", {"script": script, "args": []})
        return [{"rule": each["id"], "first": each["nodes"][0]["html"]} for each in found["violations"]]

    def press(self, key: str) -> None:
        keys = [{"type": kind, "value": key} for kind in ("keyDown", "keyUp")]
        self._asked("/actions", {"actions": [{"type": "key", "id": "keys", "actions": keys}]})

    def shot(self, name: str) -> None:
        """Write a screenshot into the folder that asked for them."""
        if folder := os.environ.get("INFERFLEET_SHOTS"):
            (Path(folder) / f"{name}.png").write_bytes(
                base64.b64decode(self._asked("/screenshot", method="GET"))
            )

    def close(self) -> None:
        self._asked("", method="DELETE")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = shutil.which("chromedriver")
    assert program, "chromedriver is not installed: apt-get install chromium chromium-driver"
    with subprocess.Popen([program, "--port=0"], stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout
        started = next(line for line in driver.stdout if "started successfully on port" in line)
        port = started.strip().rstrip(".").rpartition(" ")[2]
        made = Browser(f"http://127.0.0.1:{port}")
        try:
            yield made
        finally:
            made.close()
            driver.terminate()


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """axe-core in the version and with the hash of package-lock.json."""
    folder = tmp_path_factory.mktemp("axe")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, folder)
    subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder, check=True)
    return (folder / "node_modules/axe-core/axe.min.js").read_text()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Pages of fleets by their number of clusters."""
    folder = tmp_path_factory.mktemp("pages")
    made = {clusters: folder / f"{clusters}.html" for clusters in (3, 300)}
    for clusters, file in made.items():
        file.write_text(page(pictured(clusters, live=clusters == 3)))
    return made


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("clusters", [3, 300])
def test_a_page_is_accessible_folded_and_unfolded_and_asks_nobody(
    browser: Browser, axe: str, files: dict[int, Path], clusters: int, theme: str
) -> None:
    browser.open(files[clusters], theme)
    browser.shot(f"{clusters}-{theme}")
    assert browser.accessible(axe) == []
    browser.run("document.getElementById('clusters').scrollIntoView()")
    browser.shot(f"{clusters}-{theme}-clusters")
    browser.run("document.getElementById('fold').click(); document.getElementById('models').scrollIntoView()")
    browser.shot(f"{clusters}-{theme}-models")
    assert browser.accessible(axe) == []
    assert browser.run("return performance.getEntriesByType('resource').length") == 0


def test_a_narrow_page_is_not_wider_than_its_window(browser: Browser, files: dict[int, Path]) -> None:
    browser.open(files[3], "light")
    wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    browser.narrow(320)
    assert browser.run("return innerWidth") == 320
    assert browser.run(wide) <= 0
    browser.shot("3-narrow")
    browser.narrow(0)


def test_the_slash_searches_and_escape_shows_all_again(browser: Browser, files: dict[int, Path]) -> None:
    browser.open(files[300], "light")
    visible = "return [...document.querySelectorAll('.cluster')].filter((part) => part.offsetParent).length"
    assert browser.run(visible) == 300
    browser.press(SLASH)
    assert browser.run("return document.activeElement.id") == "search"
    for key in "c007":
        browser.press(key)
    assert browser.run(visible) == 1
    browser.shot("300-found")
    browser.press(ESCAPE)
    assert browser.run(visible) == 300


def test_the_theme_can_be_chosen(browser: Browser, files: dict[int, Path]) -> None:
    browser.open(files[3], "light")
    ground = "return getComputedStyle(document.body).backgroundColor"
    before = browser.run(ground)
    browser.run("document.getElementById('theme').click()")
    chosen = browser.run(ground)
    browser.open(files[3], "dark")
    assert (before, chosen) == ("rgb(255, 255, 255)", browser.run(ground))


def test_what_is_folded_is_printed(browser: Browser, files: dict[int, Path]) -> None:
    browser.open(files[300], "dark", media="print")
    shown = "return [...document.querySelectorAll('.pool')].filter((part) => part.checkVisibility()).length"
    assert browser.run("dispatchEvent(new Event('beforeprint')); " + shown) == 300
    assert browser.run("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    browser.shot("300-print")


def test_hostile_texts_do_not_act(browser: Browser, tmp_path: Path) -> None:
    made = pictured(3)
    act = "document.title='hacked'"
    text = f'</script></style><script>{act}</script><img src=x onerror="{act}">'
    models = tuple(replace(model, name=text, elsewhere=text, missing=text) for model in made.models)
    told = tuple(replace(problem, what=text, file=text) for problem in made.problems)
    (tmp_path / "hostile.html").write_text(page(replace(made, models=models, problems=told)))
    browser.open(tmp_path / "hostile.html", "light")
    assert browser.run("return document.title") == "Fleet prod"
    assert (
        browser.run("return document.querySelectorAll('img, script:not(body > script:last-child)').length")
        == 0
    )
    # The policy itself: what would get into the page all the same does not act.
    browser.run(
        "const made = document.createElement('script'); made.text = arguments[0]; document.body.append(made)",
        "document.title='hacked'",
    )
    assert browser.run("return document.title") == "Fleet prod"
