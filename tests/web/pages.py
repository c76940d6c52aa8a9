"""Opening pages of a served recording in the browser of the tests."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import browser

ROOT = Path(__file__).resolve().parents[2]
READY = (
    "!!document.querySelector('.shell main :is(h1, .timeline, canvas)') "
    "&& !document.querySelector('progress, [aria-busy=true]')"
)
#: Text that is wider than what it stands in, and can't be scrolled to.
CLIPPED = """[...document.querySelectorAll('main *, nav *')].filter(e => e.childElementCount === 0
    && e.textContent.trim() && e.checkVisibility() && !e.closest('svg, .hidden, .scroll, textarea, .skip')
    && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.textContent.slice(0, 60))"""

#: Boxes of tables that must be scrolled sideways, and by how much.
SIDEWAYS = """[...document.querySelectorAll('main .scroll:has(table)')].filter(e => e.checkVisibility()
    && e.scrollWidth > e.clientWidth + 1).map(e => [e.getAttribute('aria-label'), e.scrollWidth - e.clientWidth])"""


def opened(chromium: browser.Browser, address: str, place: str = "", scheme: str = "light") -> browser.Page:
    """A page in a window of 1280 by 800."""
    page = chromium.page(address + place, 1280, scheme, 800)
    page.eventually(READY, 30)  # the first one waits for the report
    return page


def go(page: browser.Page, place: str) -> None:
    """Follow a link to another place of the same page, such as `#/kernels`."""
    page.run(f"location.hash = {place!r}")
    page.eventually(f"document.querySelector('.shell > nav [aria-current=page]')?.hash === {place.split('?')[0]!r}")
    page.eventually(READY)


def listed(page: browser.Page) -> list[str]:
    """Places of all pages in the navigation."""
    found: list[str] = page.run("[...document.querySelectorAll('.shell > nav li a')].map(link => link.hash)")
    return found


def axe() -> Path | None:
    """Axe-core, as `AXE_FOR_TESTS` names it, or as `npm ci` in `page` installs it."""
    named = os.environ.get("AXE_FOR_TESTS")
    path = Path(named) if named else ROOT / "page" / "node_modules" / "axe-core" / "axe.min.js"
    return path if path.is_file() else None


def sized(page: browser.Page, height: int) -> None:
    """Make the window of a page so high."""
    page.send("Emulation.setDeviceMetricsOverride", width=1280, height=height, deviceScaleFactor=1, mobile=False)


def coloured(page: browser.Page, scheme: str) -> None:
    """Let a page be seen as where the system is light, or dark; colours change at once."""
    wanted = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
    page.send("Emulation.setEmulatedMedia", features=[{"name": name, "value": one} for name, one in wanted.items()])
    page.eventually(f"document.documentElement.dataset.theme === {scheme!r}")


def violations(page: browser.Page, *rules: str) -> list[Any]:
    """What axe has to complain about, of these rules or of all: the rule, and an element."""
    options = f"{{resultTypes: ['violations'], ...({list(rules)}.length ? {{runOnly: {list(rules)}}} : {{}})}}"
    found: list[dict[str, Any]] = page.run(f"axe.run({options}).then(result => result.violations)")
    return [(one["id"], [node["html"][:200] for node in one["nodes"]][:3]) for one in found]
