"""What of a page in Chinese is English, beside names."""

from __future__ import annotations

import re

from stepscope.model.trace import Trace
from stepscope.reports.build import build_report

#: What is read, or said by a screen reader, outside of code and of what tables hold: texts, attributes, the title.
TEXTS = """(() => {
  const aside = 'code, pre, kbd, script, style, noscript, del, ins, .table td, .table th, .grid td, .grid th, .frames,'
    + ' textarea, .legend dt, .numbers th, aside, .shares, .whatif-part span';
  const found = [document.title];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode())
    if (!node.parentElement.closest(aside)) found.push(node.nodeValue);
  for (const name of ['aria-label', 'title', 'placeholder', 'aria-valuetext'])
    for (const one of document.querySelectorAll(`[${name}]`))
      if (!one.closest(aside)) found.push(one.getAttribute(name));
  return [...new Set(found.map((text) => text.trim()).filter(Boolean))];
})()"""
#: Two words of English after each other; what has other signs in it is a name.
ENGLISH = re.compile(r"(?<![\w.:/\-`=])[A-Za-z]?[a-z]{2,}(?: [A-Za-z]?[a-z]{2,})+(?![\w.:/_(=-])")
#: Names that are no name of the recording.
NAMES = ("Tensor Core", "stepscope view", "stepscope query", "call stacks", "Nsight Systems", "msprof op")


def english(texts: list[str], names: list[str]) -> list[str]:
    """The texts that say something in English beside names."""
    found = []
    for text in texts:
        rest = text
        for name in names:
            rest = rest.replace(name, "·")
        if "::" not in rest and ENGLISH.search(rest):
            found.append(text)
    return found


def names_of(trace: Trace) -> list[str]:
    """Names of tables, of columns, and of what was recorded; the longest first."""
    found = {*NAMES}
    for name, table in build_report(trace).tables.items():
        found |= {one.removesuffix("_ns").replace("_", " ") for one in (name, *table.schema.names)}
        for column in table.schema.columns:
            if column.type == "string":
                found |= {str(one).replace("_", " ") for one in table.column(column.name) if one}
                found |= {str(one) for one in table.column(column.name) if one}
    return sorted((one for one in found if " " in one), key=len, reverse=True)
