"""The verbs of the grammar, one row for each sense: what a verb takes decides how Korean says it.

Traits: `state` is never in progress, `unbidden` is no duty, no ability and no wish; `many` speaks of its
objects in general (likes apples), `the` of the one that everybody knows (cleans the room); `manner`, `effort`,
`skill` and `joy` name the adverbs that it takes; `goal` goes somewhere (`toward`: with 로), `stay` rests
somewhere (`near`: at a piece of furniture too, `home`: where one lives, `settled`: 앉아 있다, not 앉고 있다);
`outdoors` is done in the open; `given` has a receiver; `tool:x` is done with a thing of group x; negated,
`fails` asks for 못하다 and `no:x` for the Korean verb x.
"""

from regard.data.worlds.sentences.lexicon import Verb, rows

# English | past when irregular | Korean | subjects | objects | traits
TABLE = """
eat          | ate        | 먹다       | person        | food                 | manner
eat          | ate        | 먹다       | animal        | fruit carrot potato  | manner
drink        | drank      | 마시다     | person        | drink                | manner
drink        | drank      | 마시다     | animal        | pure                 | manner
read         | read       | 읽다       | person        | reading              | manner
write        | wrote      | 쓰다       | person        | writing              | manner tool:pen
draw         | drew       | 그리다     | person        | drawn                | manner tool:pen
watch        | -          | 보다       | person        | show                 | -
see          | saw        | 보다       | person animal | animal               | state fails
buy          | bought     | 사다       | person        | goods clothes        | -
sell         | sold       | 팔다       | person        | food goods           | many
find         | found      | 찾다       | person        | held pet             | state fails
lose         | lost       | 잃어버리다 | person        | held                 | unbidden
make         | made       | 만들다     | person        | made dish candy      | -
open         | -          | 열다       | person robot  | openable             | manner
close        | -          | 닫다       | person robot  | openable             | manner
break        | broke      | 깨뜨리다   | person        | breakable            | unbidden
fix          | -          | 고치다     | person robot  | machine              | manner
wash         | -          | 씻다       | person        | fruit vegetable      | manner
clean        | -          | 청소하다   | person robot  | indoors              | manner the
bake         | -          | 굽다       | person        | baked                | -
cook         | -          | 요리하다   | person        | cooked               | manner
cut          | cut        | 자르다     | person        | vegetable fruit      | manner tool:cutter
plant        | -          | 심다       | person        | plant                | manner outdoors
build        | built      | 짓다       | person        | building             | outdoors
throw        | threw      | 던지다     | person        | ball                 | outdoors
kick         | -          | 차다       | person        | ball                 | outdoors
catch        | caught     | 잡다       | predator      | prey                 | -
chase        | -          | 쫓다       | person predator | prey               | outdoors
raise        | -          | 기르다     | person        | pet                  | -
play         | -          | 치다       | person        | instrument           | skill the
sing         | sang       | 부르다     | person        | song                 | skill
drive        | drove      | 운전하다   | person        | driven               | manner outdoors
ride         | rode       | 타다       | person        | ridden public        | outdoors
wear         | wore       | 입다       | person        | clothes              | -
wear         | wore       | 쓰다       | person        | headwear             | -
carry        | -          | 나르다     | person robot  | held furniture       | manner
pick up      | -          | 줍다       | person robot  | held                 | -
hide         | hid        | 숨기다     | person        | held                 | -
borrow       | -          | 빌리다     | person        | held                 | -
use          | -          | 사용하다   | person        | machine              | -
choose       | chose      | 고르다     | person        | goods clothes        | -
turn on      | -          | 켜다       | person robot  | electric             | -
turn off     | -          | 끄다       | person robot  | electric             | -
look at      | -          | 바라보다   | person animal | sky landscape        | the
help         | -          | 돕다       | person robot  | person name          | -
meet         | met        | 만나다     | person        | person name          | -
call         | -          | 부르다     | person        | person name kinship  | -
invite       | -          | 초대하다   | person        | person name          | -
wait for     | -          | 기다리다   | person        | person public        | -
take care of | took       | 돌보다     | person robot  | pet kinship          | -
protect      | -          | 보호하다   | person robot  | nature animal        | -
visit        | -          | 방문하다   | person        | building town        | the
listen to    | -          | 듣다       | person        | sound                | -
learn        | -          | 배우다     | person        | lesson               | effort
study        | -          | 공부하다   | person        | lesson               | effort
know         | knew       | 알다       | person        | fact                 | state no:모르다
understand   | understood | 이해하다   | person        | understood           | state fails
remember     | -          | 기억하다   | person        | song story kept      | state fails
forget       | forgot     | 잊다       | person        | kept fact            | state unbidden
keep         | kept       | 지키다     | person        | kept                 | -
solve        | -          | 풀다       | person        | solved               | -
explain      | -          | 설명하다   | person        | explained            | -
like         | -          | 좋아하다   | person        | food drink animal lesson show plant | state many unbidden
hate         | -          | 싫어하다   | person        | vegetable animal     | state many unbidden
love         | -          | 사랑하다   | person        | nature name kinship  | state
miss         | -          | 그리워하다 | person        | name kinship         | state unbidden
obey         | -          | 따르다     | person robot  | law                  | many
change       | -          | 바꾸다     | force         | future               | -
change       | -          | 바꾸다     | person        | changed              | -
give         | gave       | 주다       | person        | goods held           | given
send         | sent       | 보내다     | person        | sent                 | given
show         | -          | 보여주다   | person        | sent drawn           | given
lend         | lent       | 빌려주다   | person        | held                 | given
teach        | taught     | 가르치다   | person        | lesson               | given
go           | went       | 가다       | person        | -                    | goal
come         | came       | 오다       | person        | -                    | goal
return       | -          | 돌아오다   | person        | -                    | goal toward
sleep        | slept      | 자다       | person animal | -                    | -
run          | ran        | 달리다     | person animal | -                    | manner
walk         | -          | 걷다       | person animal | -                    | manner
swim         | swam       | 수영하다   | person        | -                    | joy outdoors
dance        | -          | 춤추다     | person        | -                    | joy
cry          | -          | 울다       | person        | -                    | unbidden
laugh        | -          | 웃다       | person        | -                    | -
work         | -          | 일하다     | person robot  | -                    | effort
rest         | -          | 쉬다       | person animal | -                    | -
play         | -          | 놀다       | person animal | -                    | -
jump         | -          | 뛰다       | person animal | -                    | -
fight        | fought     | 싸우다     | person animal | -                    | -
exercise     | -          | 운동하다   | person        | -                    | effort
sit          | sat        | 앉다       | person        | -                    | stay near settled manner
live         | -          | 살다       | person        | -                    | stay home state
hide         | hid        | 숨다       | person animal | -                    | stay near settled
"""


def read_verbs(table: str) -> tuple[Verb, ...]:
    """The verbs of the table."""
    return tuple(
        Verb(english, past, korean, tuple(subjects.split()), tuple(objects.split()), tuple(traits.split()))
        for english, past, korean, subjects, objects, traits in rows(table, 6)
    )


VERBS = read_verbs(TABLE)
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
