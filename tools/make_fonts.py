"""Make data/fonts: Noto Sans, Regular and Bold, cut down to the signs that a brief may hold.

Needs Debian's packages fonts-noto-cjk and fonts-noto-core (SIL Open Font License 1.1) and fonttools of
requirements-dev.txt. The Chinese font holds the signs of GB 2312, the Latin, Greek and Cyrillic alphabets with the
usual signs, and every sign of our own texts and data; the others what it lacks, and Arabic and Hebrew for names.
Run `python tools/make_fonts.py` after new signs come into data/ (a test says which are missing).
"""

from collections.abc import Iterable
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

ROOT = Path(__file__).resolve().parents[1]
CHINESE = "/usr/share/fonts/opentype/noto/NotoSansCJK-{weight}.ttc"
OTHERS = "/usr/share/fonts/truetype/noto/{name}-{weight}.ttf"
FONTS = ROOT / "data" / "fonts"
SIMPLIFIED_CHINESE = 2  # which font of the collection
ALPHABETS = ((0x20, 0x17F), (0x370, 0x3FF), (0x400, 0x45F), (0x2010, 0x2044), (0x2070, 0x208E), (0x20A0, 0x20BF))
SIGNS = ((0x2100, 0x214F), (0x2150, 0x218F), (0x2190, 0x21FF), (0x2200, 0x22FF), (0x2460, 0x24FF), (0x2500, 0x26FF))
OTHER_SIGNS = {
    "NotoSans": ((0x180, 0x24F), (0x1E00, 0x1EFF), (0x2000, 0x209F)),
    "NotoSansArabic": ((0x600, 0x6FF), (0x750, 0x77F)),
    "NotoSansHebrew": ((0x590, 0x5FF),),
}
WIDE = ((0x3000, 0x303F), (0xFF01, 0xFFE6), (0xFFFD, 0xFFFD))
FEATURES = ["kern", "liga", "locl", "ccmp", "mark", "mkmk", "init", "medi", "fina", "isol", "rlig", "calt"]
NAMES_AND_LICENCE = [0, 1, 2, 4, 5, 6, 13, 14, 16, 17]


def gb2312() -> set[int]:
    """The 7,445 signs of GB 2312: two bytes from 0xA1 to 0xFE each."""
    pairs = (bytes((high, low)) for high in range(0xA1, 0xF8) for low in range(0xA1, 0xFF))
    return {ord(sign) for pair in pairs if (sign := pair.decode("gb2312", errors="ignore"))}


def ours() -> set[int]:
    """Every sign in our texts and tables."""
    files = [path for ending in ("yaml", "csv") for path in (ROOT / "data").rglob(f"*.{ending}")]
    return {ord(sign) for path in files for sign in path.read_text(encoding="utf-8")}


def within(ranges: Iterable[tuple[int, int]]) -> set[int]:
    return {sign for first, last in ranges for sign in range(first, last + 1)}


def cut(font: TTFont, wanted: set[int], target: Path) -> set[int]:
    """Save the font with the wanted signs only; which of them it has."""
    options = subset.Options(layout_features=FEATURES, hinting=False)
    options.name_IDs = NAMES_AND_LICENCE
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=wanted)
    cutter.subset(font)
    font.save(target)
    return set(font.getBestCmap())


def make(weight: str) -> set[int]:
    """All fonts of one weight; the signs that they hold together."""
    wanted = gb2312() | ours() | within((*ALPHABETS, *SIGNS, *WIDE))
    chinese = TTFont(CHINESE.format(weight=weight), fontNumber=SIMPLIFIED_CHINESE)
    held = cut(chinese, wanted, FONTS / f"NotoSansSC-{weight}.otf")
    for name, ranges in OTHER_SIGNS.items():
        font = TTFont(OTHERS.format(name=name, weight=weight))
        held |= cut(font, (within(ranges) | wanted) - held, FONTS / f"{name}-{weight}.ttf")
    return held


def list_signs(held: set[int]) -> None:
    """Write which signs the fonts hold, as ranges of their numbers, so that nobody needs fonttools to know."""
    firsts = sorted(code for code in held if code - 1 not in held)
    lasts = sorted(code for code in held if code + 1 not in held)
    words = [f"{first:x}" if first == last else f"{first:x}-{last:x}" for first, last in zip(firsts, lasts)]
    (FONTS / "signs.txt").write_text("\n".join(words) + "\n", encoding="utf-8")


if __name__ == "__main__":
    list_signs(make("Regular") & make("Bold"))
