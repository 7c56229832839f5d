"""Words whose full stop is part of the word: facts about languages, kept apart from the rules that use them."""

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# A name follows. As they are written: "gen." ends a sentence in which "Gen." would not.
BEFORE_NAMES: Final = _words(
    """
    Mr Mrs Ms Mx Dr Prof Rev Hon St Gen Col Capt Lt Sgt Cmdr Sen Rep Gov Pres Messrs Fr Hr Hrn Frl M MM Mme Mlle
    Sr Sra Srta Dña Ing Avv Sig Dott
    """
)

# A number follows, or else they are words like any other: "No. 5", "she said no."
BEFORE_NUMBERS: Final = _words(
    """
    no nos nr fig figs eq eqs sec secs ch chap vol vols p pp art abb bd tel ext ca approx jan feb mar apr jun jul
    aug sep sept oct nov dec
    """
)

# The thing meant follows.
ALWAYS_CONTINUED: Final = _words("e.g i.e cf viz vs al z.b d.h u.a bzw vgl ggf evtl inkl p.ex")

# They stand in the middle of a sentence or at its end; what follows decides, as it does for "U.S." and "J."
SOMETIMES_LAST: Final = _words("etc usw inc ltd co corp bros dept est jr sr ph.d")

# Words that hardly ever have a capital letter except at the beginning of a sentence.
FIRST_WORDS: Final = _words(
    """
    The A An This That These Those There Here It He She They We You I His Her Its Their Our My Your In On At By
    For From With After Before When While Where If Although But And Or So Then However What Who Why How No Not As
    Der Die Das Ein Eine Er Sie Es Wir Ich Le La Les Un Une Il Elle Nous Vous El Los Una
    """
)
