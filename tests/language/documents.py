"""What a translated document shares with its English text, and whether it was written from today's.

    python tests/language/documents.py                  # which documents are missing, out of date or differ
    python tests/language/documents.py FILE...          # the same of these alone
    python tests/language/documents.py --sign FILE...   # they say what the English texts say today

`docs/zh` mirrors `docs`, and `README.zh.md` stands beside `README.md`. The first line of each names the English text
and the beginning of its SHA-256. `--sign` writes that line, and refuses where the English text has changed since and
the translation has not; `--same` before the files says that the change needs no other words in Chinese.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
#: What is translated.
SOURCES: Final = ("README.md", "docs/guide.md", "docs/remedies/*.md", "docs/rules/*.md")
FIRST: Final = re.compile(r"<!-- source: (\S+) ([0-9a-f]{12}) -->\n")
HAN: Final = "\u4e00-\u9fff"
#: Wrong in Chinese text, each with what is right.
STYLE: Final = (
    (rf"[{HAN}][,;:?!](?!\d)|[,;?!] ?[{HAN}]|[{HAN}]\.(?:\s|$)", "punctuation of full width in Chinese"),
    (rf"[{HAN}] ?\([^)]*[{HAN}]|\([^)]*[{HAN}][^)]*\)(?!\()", "brackets of full width in Chinese"),
    (rf"[{HAN}][A-Za-z0-9`]|[A-Za-z0-9`%][{HAN}]", "a space between Chinese and Latin"),
    (r"(?<![|*#\-]) [，。：；、（）]|[，。：；、（）] (?=[^\s|])", "no space beside punctuation of full width"),
    (r"！|你|您", "no exclamation mark and no address of the reader"),
    (r"(?<![\w.:/\-])[a-z]+(?:[ ,]+[a-z]+){4}", "nothing left in English"),
)


def sources() -> list[str]:
    """The English texts, by path."""
    return [path.relative_to(ROOT).as_posix() for pattern in SOURCES for path in sorted(ROOT.glob(pattern))]


def translation_of(source: str) -> str:
    """Path of the Chinese text of an English one."""
    return "README.zh.md" if source == "README.md" else source.replace("docs/", "docs/zh/", 1)


def source_of(translation: str) -> str:
    """Path of the English text of a Chinese one."""
    return "README.md" if translation == "README.zh.md" else translation.replace("docs/zh/", "docs/", 1)


def digest(source: str) -> str:
    """What the first line of a translation says of its English text."""
    return hashlib.sha256((ROOT / source).read_bytes()).hexdigest()[:12]


def code(text: str) -> tuple[str, list[str]]:
    """A document without its code blocks, and those without comments; output of the demo is in neither."""
    blocks = []
    text = re.sub(r"<!-- demo -->.*?<!-- end -->", "", text, flags=re.DOTALL)

    def taken(match: re.Match[str]) -> str:
        lines = [re.sub(r"(?:^|\s+)(?:#|//)\s.*$", "", line).strip() for line in match[0].splitlines()]
        blocks.append("\n".join(filter(None, lines)))
        return "\n"

    text = re.sub(r"^```.*?^```$", taken, text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"(?<=\n\n)(?:    .*\n|\n(?=    ))+", taken, text)
    return re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL), blocks


def targets(text: str, path: str) -> Counter[str]:
    """What a document links to, as paths of English texts."""
    found: Counter[str] = Counter()
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            found[target] += 1
        else:
            absolute = (ROOT / path).parent.joinpath(target.partition("#")[0]).resolve()
            found[source_of(absolute.relative_to(ROOT).as_posix())] += 1
    return found


def shape(text: str) -> dict[str, object]:
    """Numbers of headings, list items and rows of tables; what must be alike in both languages."""
    return {
        "headings": re.findall(r"^(#+) ", text, re.MULTILINE),
        "list items": len(re.findall(r"^ *(?:[*-]|\d+\.) ", text, re.MULTILINE)),
        "columns of tables": [row.count("|") for row in re.findall(r"^\|.*$", text, re.MULTILINE)],
    }


def difference(english: Counter[str], chinese: Counter[str]) -> str:
    """What one has and the other lacks, in words."""
    sides = (("lacks", english - chinese), ("adds", chinese - english))
    return "; ".join(f"{label}: {', '.join(sorted(side.elements()))}" for label, side in sides if side)


def faults(translation: str) -> Iterator[str]:
    """What is wrong with a translation, one sentence each."""
    source = source_of(translation)
    text = (ROOT / translation).read_text(encoding="utf-8")
    first = FIRST.match(text)
    if first is None or first[1] != source:
        yield f"the first line is not <!-- source: {source} {digest(source)} -->"
    elif first[2] != digest(source):
        yield f"{source} has changed since this was written: git diff {'-- ' + source}; then --sign it"
    english, english_code = code((ROOT / source).read_text(encoding="utf-8"))
    chinese, chinese_code = code(text)
    for number, (left, right) in enumerate(zip(english_code, chinese_code, strict=False), 1):
        if left != right:
            yield f"code block {number} differs beyond its comments"
    if len(english_code) != len(chinese_code):
        yield f"{len(chinese_code)} code blocks instead of {len(english_code)}"
    spans = [Counter(set(re.findall(r"`[^`]+`", re.sub(r"\s+", " ", each)))) for each in (english, chinese)]
    if spans[0] != spans[1]:
        yield f"inline code {difference(*spans)}"
    links = targets(english, source), targets(chinese, translation)
    if links[0] != links[1]:
        yield f"links {difference(*links)}"
    plain, prose = (re.sub(r"`[^`]+`|\]\([^)\s]+\)", "", each) for each in (english, chinese))
    numbers = [Counter(re.findall(r"(?<![A-Za-z_\d])\d+(?:[.,]\d+)*", each)) for each in (plain, prose)]
    if numbers[0] != numbers[1]:
        yield f"numbers {difference(*numbers)}"
    before, after = shape(english), shape(chinese)
    yield from (f"{name}: {after[name]} instead of {before[name]}" for name in before if before[name] != after[name])
    yield from _links_to_english(translation, chinese)
    yield from _style(chinese)


def _links_to_english(translation: str, text: str) -> Iterator[str]:
    """Links that are broken, or lead to English where there is Chinese."""
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        path = (ROOT / translation).parent.joinpath(target.partition("#")[0]).resolve()
        name = path.relative_to(ROOT).as_posix()
        chinese = translation_of(name)
        if name == source_of(translation):
            continue
        if name in sources() and (ROOT / chinese).exists():
            yield f"the link to {target} leads to English, and there is {chinese}"
        elif not path.exists() and source_of(name) not in sources():
            yield f"the link to {target} leads nowhere"


def _style(text: str) -> Iterator[str]:
    """Lines that break a rule of writing; titles in quotation marks may be English."""
    for line in text.splitlines():
        shown = re.sub(r"!?\[([^\]]*)\]\([^)\s]+\)", r"\1", line)
        shown = re.sub(r"“[ -~]+”", "“X”", re.sub(r"`[^`]+`", "`x`", shown).replace("**", ""))
        yield from (f"{right}: {line.strip()[:90]}" for wrong, right in STYLE if re.search(wrong, shown))
        if re.search(r"[a-z]+ [a-z]+ [a-z]+", shown) and not re.search(rf"[{HAN}]", shown):
            yield f"no Chinese in: {line.strip()[:90]}"


def sign(translation: str, *, same: bool) -> str:
    """Write the first line anew; returns why not, or nothing."""
    path, source = ROOT / translation, source_of(translation)
    text = path.read_text(encoding="utf-8")
    first = FIRST.match(text)
    body = FIRST.sub("", text, count=1)
    if first is not None and first[2] == digest(source):
        return ""
    kept = subprocess.run(["git", "show", f"HEAD:{translation}"], cwd=ROOT, capture_output=True, check=False)
    if not same and kept.returncode == 0 and FIRST.sub("", kept.stdout.decode(), count=1) == body:
        return f"{source} has changed and the translation has not; --same says that it need not"
    path.write_text(f"<!-- source: {source} {digest(source)} -->\n{body}", encoding="utf-8")
    return ""


def main(arguments: list[str]) -> int:
    """Report on documents, or sign them."""
    named = [Path(each).resolve().relative_to(ROOT).as_posix() for each in arguments if not each.startswith("--")]
    wrong = 0
    if "--sign" in arguments:
        for name in named:
            refused = sign(name, same="--same" in arguments)
            if refused:
                wrong += 1
                sys.stdout.write(f"{name}: {refused}\n")
    for name in named or [translation_of(source) for source in sources()]:
        found = list(faults(name)) if (ROOT / name).exists() else ["is not translated yet"]
        wrong += len(found)
        sys.stdout.writelines(f"{name}: {fault}\n" for fault in found)
    sys.stdout.write(f"{wrong} faults\n")
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
