"""The site in headless Chromium: the live panel on a page of its own, windows that watch for errors."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from paper_figures.site import bandit

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The panel with its scripts, on a page of its own; the site has it in the site's colors."""
    folder = tmp_path_factory.mktemp("bandit")
    (folder / "_static").mkdir()
    for name, content in bandit.files().items():
        (folder / "_static" / name).write_bytes(content)
    _, _, raw = bandit.page({}).partition("{raw} html\n")
    page = folder / "bandit.html"
    page.write_text(f'<!doctype html>\n<meta charset="utf-8">\n{raw.rpartition("```")[0]}')
    return page


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    # (For one file: a second driver in this process, such as the site's, has to wait until it ends.)
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install '.[dev]'")
    if (path := next(filter(None, map(shutil.which, BROWSERS)), None)) is None:
        pytest.skip("no chromium on PATH: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=path)
        yield chromium
        chromium.close()


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Any]]:
    """``opened(folder, name, address, **options of the context)``: a page in a fresh window.

    None may leave an error on its console, or ask for anything outside its folder.
    """
    contexts, troubles = [], []

    def open_page(folder: Path, name: str, address: str = "", **options: Any) -> Any:
        contexts.append(browser.new_context(**{"viewport": {"width": 1300, "height": 900}, **options}))
        page = contexts[-1].new_page()
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", lambda request: request.url.startswith(("data:", folder.as_uri()))
                or troubles.append(f"asked for {request.url[:200]}"))
        page.goto((folder / f"{name}.html").as_uri() + address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert troubles == []


@pytest.fixture(scope="module")
def at_rest(browser: Any, page_file: Path) -> Any:
    """The page, for tests that only compute with its functions."""
    page = browser.new_page()
    page.goto(page_file.as_uri())
    return page
