"""The words of both languages: what a word is, and the tables in `lexicon/*.tsv`, read when this module is imported.

Every word is one object, so words are compared by identity, which is quick. In the tables `-` is an empty cell.

- Nouns: the plural is given only if it is irregular; a noun without a counter is never counted. A group defines what
  can be done with a noun: everything in `food` can be eaten. `unique` nouns always take "the", `mass` nouns take no
  article and no plural, `at` and `in` are the prepositions of a place.
- Verbs: one row for each sense, because the objects of a verb decide its Korean translation. The past is given only if
  it is irregular. Traits: `state` has no progressive form; `unbidden` takes no "must", "can" or "want to"; `many` takes
  its objects in general (likes apples) and `the` takes the familiar one (cleans the room); `manner`, `effort`, `skill`
  and `joy` name the adverbs that it takes; `goal` goes to a place (`toward`: with 로); `stay` stays at a place (`near`:
  also at a piece of furniture, `home`: where people live, `settled`: 앉아 있다, not 앉고 있다); `outdoors` happens in
  the open; `given` has a receiver; `tool:x` is done with a noun of group x; when negated, `fails` takes 못하다 and
  `no:x` is replaced by the Korean verb x.
- Adjectives: the groups of nouns that can have the quality.
- Numerals: native Korean numbers in the form that precedes a counter.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

EMPTY_CELL = "-"
LOOSE = "~"  # before a label: the word is expressed only in part

Person = Literal["first", "second", "third"]


@dataclass(frozen=True, eq=False, slots=True)
class Noun:
    """A noun, a name or a pronoun; without a counter it never stands with a number."""

    english: str
    plural: str
    korean: str
    counter: str
    groups: tuple[str, ...]
    person: Person = "third"

    def is_in(self, group: str) -> bool:
        """Whether the noun belongs to the group, or is the noun that the group names."""
        return group in self.groups or group == self.english

    @property
    def is_living(self) -> bool:
        """Whether Korean marks its plural with 들."""
        return "person" in self.groups or "animal" in self.groups


@dataclass(frozen=True, eq=False, slots=True)
class Verb:
    """One sense of a verb: who does it, to what, and what else it may take."""

    english: str
    past: str
    korean: str
    subjects: tuple[str, ...]
    objects: tuple[str, ...]
    traits: tuple[str, ...]

    def has(self, trait: str) -> bool:
        """Whether the verb carries the trait."""
        return trait in self.traits


@dataclass(frozen=True, eq=False, slots=True)
class Adjective:
    """A quality, and the groups of nouns that have it."""

    english: str
    korean: str
    groups: tuple[str, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Determiner:
    """What stands before a noun; an empty side is not said in that language."""

    english: str
    korean: str


@dataclass(frozen=True, eq=False, slots=True)
class Numeral:
    """A native Korean number, as it stands before a counter."""

    english: str
    korean: str


@dataclass(frozen=True, eq=False, slots=True)
class Expression:
    """A fixed phrase; each of its words carries the label of what it expresses, shared by both languages.

    A label that begins with LOOSE says that the word, an article perhaps, is expressed only in part.
    """

    english: tuple[tuple[str, str], ...]
    korean: tuple[tuple[str, str], ...]


def read_table(name: str, columns: int) -> Iterator[list[str]]:
    """The rows of `lexicon/<name>.tsv` below its header; an empty cell is an empty string."""
    table = files("regard.worlds.sentences").joinpath("lexicon", f"{name}.tsv").read_text(encoding="utf-8")
    for number, line in enumerate(table.splitlines()[1:], start=2):
        cells = line.split("\t")
        if len(cells) != columns:
            raise ValueError(f"lexicon/{name}.tsv:{number} has {len(cells)} columns; expected {columns}: {line!r}")
        yield ["" if cell == EMPTY_CELL else cell for cell in cells]


def labelled(text: str) -> tuple[tuple[str, str], ...]:
    """The words of `every/1 morning/2` with their labels; a word without one has the label 1."""
    parts = (word.partition("/") for word in text.split())
    return tuple((word, label or "1") for word, _, label in parts)


def expression(english: str, korean: str) -> Expression:
    """A fixed phrase from the labelled texts of both languages."""
    return Expression(labelled(english), labelled(korean))


def expressions(table: str) -> tuple[Expression, ...]:
    """The fixed phrases of a table `English = Korean; English = Korean`."""
    return tuple(expression(*entry.split("=")) for entry in table.split(";"))


def regular_plural(noun: str) -> str:
    """The plural in -s, -es or -ies."""
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")


def members(*groups: str) -> tuple[Noun, ...]:
    """The nouns that belong to any of the groups, in the order of the table."""
    return tuple(noun for noun in NOUNS if any(noun.is_in(group) for group in groups))


# --- nouns ------------------------------------------------------------------------------------------------------------

NOUNS = tuple(
    Noun(english, plural or regular_plural(english), korean, counter, tuple(groups.split()))
    for english, plural, korean, counter, groups in read_table("nouns", 5)
)

I = Noun("I", "I", "나", "", ("pronoun",), "first")  # noqa: E741  (it is the word)
YOU = Noun("you", "you", "너", "", ("pronoun",), "second")
HE = Noun("he", "he", "그", "", ("pronoun",))
SHE = Noun("she", "she", "그녀", "", ("pronoun",))
WE = Noun("we", "we", "우리", "", ("pronoun", "many"), "first")
THEY = Noun("they", "they", "그들", "", ("pronoun", "many"))
PRONOUNS = (I, YOU, HE, SHE, WE, THEY)
THIS_ONE = Noun("this", "these", "이것", "", ("pointer",))
THAT_ONE = Noun("that", "those", "저것", "", ("pointer",))
WHO = Noun("who", "who", "누구", "", ("question",))
WHAT = Noun("what", "what", "무엇", "", ("question",))
# subject, object and possessive
CASES = {
    "I": ("I", "me", "my"),
    "you": ("you", "you", "your"),
    "he": ("he", "him", "his"),
    "she": ("she", "her", "her"),
    "we": ("we", "us", "our"),
    "they": ("they", "them", "their"),
}

# --- verbs ------------------------------------------------------------------------------------------------------------
VERBS = tuple(
    Verb(english, past, korean, tuple(subjects.split()), tuple(objects.split()), tuple(traits.split()))
    for english, past, korean, subjects, objects, traits in read_table("verbs", 6)
)

TRANSITIVE = tuple(verb for verb in VERBS if verb.objects and not verb.has("given"))
GIVING = tuple(verb for verb in VERBS if verb.has("given"))
GOING = tuple(verb for verb in VERBS if verb.has("goal"))
STAYING = tuple(verb for verb in VERBS if verb.has("stay"))
SPEAKING_OF_KINDS = tuple(verb for verb in VERBS if verb.has("many"))
CHANGE = next(verb for verb in VERBS if "force" in verb.subjects)
DEEDS = tuple(verb for verb in VERBS if not verb.has("state"))
MOVING = tuple(verb for verb in VERBS if not verb.objects and not verb.has("goal") and not verb.has("stay"))

RAIN = Verb("rain", "", "오다", (), (), ())
SNOW = Verb("snow", "", "오다", (), (), ())
WEATHER = {"rain": "비", "snow": "눈"}
SAY = Verb("say", "said", "말하다", (), (), ())
THINK = Verb("think", "thought", "생각하다", (), (), ())
BELIEVE = Verb("believe", "", "믿다", (), (), ())
REPORTING = (SAY, THINK, BELIEVE)

# --- adjectives and numerals ------------------------------------------------------------------------------------------
ADJECTIVES = tuple(
    Adjective(english, korean, tuple(groups.split())) for english, korean, groups in read_table("adjectives", 3)
)
MOODS = tuple(
    adjective
    for adjective in ADJECTIVES
    if adjective.english in ("happy", "sad", "hungry", "tired", "busy", "lonely", "sick")
)
SIZES = ("big", "small")  # never said of what cannot be counted
ONLY_BEFORE_NOUNS = ("new",)  # 새롭다 at the end of a sentence says more than new

NUMERALS = tuple(Numeral(english, korean) for english, korean in read_table("numerals", 2))
HOURS = NUMERALS[:12]
SEVERAL = NUMERALS[1:10]

# --- determiners ------------------------------------------------------------------------------------------------------
THE = Determiner("the", "")
THE_KNOWN = Determiner("the", "그")  # an object that was spoken of before
A = Determiner("a", "")
A_CERTAIN = Determiner("a", "한")  # a person who enters the story
THIS = Determiner("this", "이")
THAT = Determiner("that", "저")
BARE = Determiner("", "")

HOW_MANY = Numeral("how many", "몇")
CUP = Numeral("cup", "잔")
BOTTLE = Numeral("bottle", "병")

# --- adverbs, times and places ----------------------------------------------------------------------------------------
VERY = expression("very", "매우")
REALLY = expression("really", "정말")
TOO = expression("too", "너무")
DEGREES = (VERY, REALLY, TOO)
MANNERS = {
    "manner": expressions("quickly = 빨리; slowly = 천천히; quietly = 조용히; carefully = 조심스럽게; again = 다시"),
    "effort": expressions("hard = 열심히; diligently = 부지런히; again = 다시; alone = 혼자"),
    "skill": expressions("well = 잘; happily = 즐겁게; quietly = 조용히; alone = 혼자"),
    "joy": expressions("happily = 즐겁게; alone = 혼자; again = 다시"),
}
FREQUENCIES = expressions("always = 항상; often = 자주; sometimes = 가끔; usually = 보통")
ANY_TIME = expressions("""
    in the/~1 morning = 아침에; in the/~1 afternoon = 오후에; in the/~1 evening = 저녁에; at night = 밤에;
    on Monday = 월요일에; on Tuesday = 화요일에; on Wednesday = 수요일에; on Thursday = 목요일에;
    on Friday = 금요일에; on Saturday = 토요일에; on Sunday = 일요일에; in spring = 봄에; in summer = 여름에;
    in autumn = 가을에; in winter = 겨울에
""")
TIMES = {
    "present": expressions("""
        every/1 day/1 = 매일; every/1 morning/2 = 매일/1 아침/2; every/1 evening/2 = 매일/1 저녁/2;
        every/1 week/1 = 매주; every/1 Sunday/1 = 일요일마다; these days = 요즘
    """),
    "past": expressions(
        "yesterday = 어제; last week = 지난주에; last year = 작년에; last night = 어젯밤에; today = 오늘"
    ),
    "future": expressions(
        "tomorrow = 내일; next/1 week/2 = 다음/1 주에/2; next year = 내년에; soon = 곧; today = 오늘"
    ),
    "now": expressions("now = 지금"),
    "state": expressions("these days = 요즘"),
}
CLOCK = tuple(expression(f"at {hour.english}/2 o'clock", f"{hour.korean}/2 시에") for hour in HOURS)
DURATIONS = tuple(expression(f"for {number.english}/2 hours/3", f"{number.korean}/2 시간/3 동안") for number in SEVERAL)

WHERE = expression("where", "어디에서")
WHERE_TO = expression("where", "어디에")
WHEN = expression("when", "언제")
WHY = expression("why", "왜")
RELATIONS = expressions("on = 위에; under = 아래에; behind = 뒤에; beside = 옆에; in front of = 앞에")
