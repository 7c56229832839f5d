"""The adjectives, adverbs, numbers, times and other small words of the grammar."""

from regard.data.worlds.sentences.lexicon import Adjective, Determiner, Numeral, expression, expressions, rows

# English | Korean | groups of nouns that have the quality
ADJECTIVE_TABLE = """
big         | 크다       | animal goods furniture place building vehicle openable
small       | 작다       | animal goods furniture place building vehicle openable
new         | 새롭다     | reading show machine vehicle explained law toy
good        | 좋다       | book novel movie play machine toy place explained song question
strange     | 이상하다   | story novel show place sound animal question letter
long        | 길다       | story poem novel movie play letter coat bridge report
short       | 짧다       | story poem novel movie play letter report
beautiful   | 아름답다   | place building plant drawn clothes landscape song town
pretty      | 예쁘다     | clothes headwear plant doll ring bag cup umbrella
kind        | 친절하다   | person name kinship
happy       | 행복하다   | person name kinship
sad         | 슬프다     | person name kinship song show
hungry      | 배고프다   | person name kinship animal
tired       | 피곤하다   | person name kinship
busy        | 바쁘다     | person name kinship
strong      | 강하다     | person name animal
weak        | 약하다     | person name animal
heavy       | 무겁다     | furniture held machine instrument
light       | 가볍다     | chair table held clothes
hot         | 뜨겁다     | cupped soup rice
cold        | 차갑다     | drink
fast        | 빠르다     | vehicle animal
slow        | 느리다     | vehicle
expensive   | 비싸다     | goods clothes vehicle machine
cheap       | 싸다       | goods clothes
clean       | 깨끗하다   | place building clothes indoors
dirty       | 더럽다     | clothes held indoors
easy        | 쉽다       | lesson book textbook novel solved question
difficult   | 어렵다     | lesson book textbook novel solved question
interesting | 재미있다   | book novel poem story newspaper magazine show lesson question
boring      | 지루하다   | book novel story magazine show
delicious   | 맛있다     | food drink
sweet       | 달다       | fruit sweet
spicy       | 맵다       | soup kimchi hamburger
quiet       | 조용하다   | place indoors
noisy       | 시끄럽다   | place
famous      | 유명하다   | job place novel poem show song
important   | 중요하다   | law explained kept solved lesson letter email report question
smart       | 똑똑하다   | person name kinship pet robot
wise        | 현명하다   | person name kinship
brave       | 용감하다   | person name
honest      | 정직하다   | person name
lazy        | 게으르다   | person name pet
young       | 젊다       | job
high        | 높다       | palace bridge mountain
wide        | 넓다       | place indoors river
deep        | 깊다       | river lake forest
dark        | 어둡다     | indoors forest
bright      | 밝다       | indoors sky lamp window
round       | 둥글다     | surface ball breakable
white       | 하얗다     | animal clothes plant building furniture
red         | 빨갛다     | fruit clothes vehicle plant
blue        | 파랗다     | clothes vehicle openable
yellow      | 노랗다     | plant clothes headwear
black       | 검다       | animal clothes vehicle headwear
sick        | 아프다     | person name kinship animal
healthy     | 건강하다   | person name kinship animal
rich        | 부유하다   | person name
poor        | 가난하다   | person name
lonely      | 외롭다     | person name
cute        | 귀엽다     | pet doll
fresh       | 신선하다   | fruit vegetable pure
safe        | 안전하다   | place vehicle town
dangerous   | 위험하다   | cutter forest mountain
useful      | 유용하다   | machine book dictionary textbook robot map
"""

# English | Korean
NUMERAL_TABLE = """
one    | 한
two    | 두
three  | 세
four   | 네
five   | 다섯
six    | 여섯
seven  | 일곱
eight  | 여덟
nine   | 아홉
ten    | 열
eleven | 열한
twelve | 열두
twenty | 스무
"""

ADJECTIVES = tuple(
    Adjective(english, korean, tuple(groups.split())) for english, korean, groups in rows(ADJECTIVE_TABLE, 3)
)
MOODS = tuple(
    adjective
    for adjective in ADJECTIVES
    if adjective.english in ("happy", "sad", "hungry", "tired", "busy", "lonely", "sick")
)
SIZES = ("big", "small")  # never said of what cannot be counted
ONLY_BEFORE_NOUNS = ("new",)  # 새롭다 at the end of a sentence says more than new
NUMERALS = tuple(Numeral(english, korean) for english, korean in rows(NUMERAL_TABLE, 2))
HOURS = NUMERALS[:12]
SEVERAL = NUMERALS[1:10]

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
