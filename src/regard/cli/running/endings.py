"""Which languages text files are in, by the endings of their names."""

import re
from pathlib import Path

# Two letters: those of ISO 639-1.
_TWO_LETTERS = """
    aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en
    eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka
    kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl
    nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw
    ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
"""
# Three letters: ISO 639-3 knows thousands, so that only what files are called otherwise is left out.
_NOT_CODES = """
    bpe csv dev doc hyp log low new old out raw ref sgm snt spm src tgt tok trg tsv txt xml
"""
CODES, NOT_CODES = frozenset(_TWO_LETTERS.split()), frozenset(_NOT_CODES.split())
PACKING = (".gz", ".txt")
_SHAPE = re.compile(r"(?P<code>[a-z]{2,3})([-_][A-Za-z]{2,4})?")


def languages_by_ending(source: Path, target: Path) -> tuple[str, ...]:
    """The codes in which the two names end, as in train.en and train.ko; none unless there are two."""
    codes = (_code(source), _code(target))
    return codes if all(codes) and codes[0] != codes[1] else ()


def _code(path: Path) -> str:
    while path.suffix.lower() in PACKING:
        path = path.with_suffix("")
    ending = path.suffix.removeprefix(".")
    match = _SHAPE.fullmatch(ending)
    if match is None:
        return ""
    code = match["code"]
    is_known = code in CODES if len(code) == 2 else code not in NOT_CODES
    return ending if is_known else ""
