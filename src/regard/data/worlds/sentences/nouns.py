"""The nouns, names and pronouns of the grammar.

A group says what may be done with a thing: whatever is in `food` can be eaten. `unique` things are always called "the",
`mass` takes no article and no plural, `at` and `in` are the prepositions of a place.
"""

from regard.data.worlds.sentences.lexicon import Noun, rows

# singular | plural when irregular | Korean | counter (none: never with a number) | groups
TABLE = """
boy          | -           | 소년     | 명   | person
girl         | -           | 소녀     | 명   | person
student      | -           | 학생     | 명   | person job
teacher      | -           | 선생님   | 명   | person job
doctor       | -           | 의사     | 명   | person job
nurse        | -           | 간호사   | 명   | person job
child        | children    | 아이     | 명   | person
man          | men         | 남자     | 명   | person
woman        | women       | 여자     | 명   | person
farmer       | -           | 농부     | 명   | person job
singer       | -           | 가수     | 명   | person job
writer       | -           | 작가     | 명   | person job
driver       | -           | 운전사   | 명   | person job
chef         | -           | 요리사   | 명   | person job
friend       | -           | 친구     | 명   | person kin
neighbor     | -           | 이웃     | 명   | person kin
soldier      | -           | 군인     | 명   | person job
painter      | -           | 화가     | 명   | person job
scientist    | -           | 과학자   | 명   | person job
engineer     | -           | 기술자   | 명   | person job
actor        | -           | 배우     | 명   | person job
king         | -           | 왕       | 명   | person
queen        | -           | 여왕     | 명   | person
prince       | -           | 왕자     | 명   | person
princess     | princesses  | 공주     | 명   | person
mother       | -           | 어머니   | -    | kinship
father       | -           | 아버지   | -    | kinship
grandmother  | -           | 할머니   | -    | kinship
grandfather  | -           | 할아버지 | -    | kinship
uncle        | -           | 삼촌     | -    | kinship
aunt         | -           | 이모     | -    | kinship
son          | -           | 아들     | -    | kinship
daughter     | -           | 딸       | -    | kinship
lawyer       | -           | 변호사   | 명   | person job
reporter     | -           | 기자     | 명   | person job
pilot        | -           | 조종사   | 명   | person job
guest        | -           | 손님     | 명   | person
hunter       | -           | 사냥꾼   | 명   | person job
firefighter  | -           | 소방관   | 명   | person job
tourist      | -           | 관광객   | 명   | person
cat          | -           | 고양이   | 마리 | animal pet predator owned
dog          | -           | 개       | 마리 | animal pet predator owned
puppy        | -           | 강아지   | 마리 | animal pet owned
rabbit       | -           | 토끼     | 마리 | animal pet prey owned
horse        | -           | 말       | 마리 | animal ridden owned
cow          | -           | 소       | 마리 | animal owned
pig          | -           | 돼지     | 마리 | animal owned
bird         | -           | 새       | 마리 | animal pet prey owned
tiger        | -           | 호랑이   | 마리 | animal predator
lion         | -           | 사자     | 마리 | animal predator
bear         | -           | 곰       | 마리 | animal predator
monkey       | -           | 원숭이   | 마리 | animal
fox          | -           | 여우     | 마리 | animal predator
wolf         | wolves      | 늑대     | 마리 | animal predator
elephant     | -           | 코끼리   | 마리 | animal
mouse        | mice        | 쥐       | 마리 | animal prey
goat         | -           | 염소     | 마리 | animal owned
duck         | -           | 오리     | 마리 | animal prey owned
frog         | -           | 개구리   | 마리 | animal prey
turtle       | -           | 거북이   | 마리 | animal pet owned
squirrel     | -           | 다람쥐   | 마리 | animal prey
robot        | -           | 로봇     | 대   | robot
apple        | -           | 사과     | 개   | food fruit goods
egg          | -           | 달걀     | 개   | food goods cooked
potato       | potatoes    | 감자     | 개   | food vegetable goods cooked
tomato       | tomatoes    | 토마토   | 개   | food fruit vegetable goods
banana       | -           | 바나나   | 개   | food fruit goods
orange       | -           | 오렌지   | 개   | food fruit goods
sandwich     | sandwiches  | 샌드위치 | 개   | food goods dish
cookie       | -           | 쿠키     | 개   | food goods sweet baked
cake         | -           | 케이크   | 개   | food goods sweet baked
carrot       | -           | 당근     | 개   | food vegetable goods
peach        | peaches     | 복숭아   | 개   | food fruit goods
strawberry   | -           | 딸기     | 개   | food fruit goods
onion        | -           | 양파     | 개   | food vegetable goods
hamburger    | -           | 햄버거   | 개   | food goods dish
candy        | -           | 사탕     | 개   | food goods sweet
bread        | -           | 빵       | -    | food goods baked mass
rice         | -           | 밥       | -    | food dish mass
meat         | -           | 고기     | -    | food cooked goods mass
soup         | -           | 수프     | -    | food dish mass
cheese       | -           | 치즈     | -    | food goods mass
salad        | -           | 샐러드   | -    | food dish mass
kimchi       | -           | 김치     | -    | food goods dish mass
fish         | -           | 생선     | -    | food cooked goods mass
honey        | -           | 꿀       | -    | food sweet goods mass
chocolate    | -           | 초콜릿   | -    | food sweet goods mass
water        | -           | 물       | -    | drink pure bottled mass
milk         | -           | 우유     | -    | drink pure bottled goods mass
coffee       | -           | 커피     | -    | drink cupped goods mass
tea          | -           | 차       | -    | drink cupped goods mass
juice        | -           | 주스     | -    | drink bottled goods mass
book         | -           | 책       | 권   | reading writing goods held
letter       | -           | 편지     | 통   | reading writing sent
newspaper    | -           | 신문     | 부   | reading goods held
poem         | -           | 시       | 편   | reading writing
novel        | -           | 소설     | 권   | reading writing goods
magazine     | -           | 잡지     | 권   | reading goods held
report       | -           | 보고서   | -    | reading writing
textbook     | -           | 교과서   | 권   | reading goods held
email        | -           | 이메일   | 통   | reading writing sent
dictionary   | -           | 사전     | 권   | reading goods held
movie        | -           | 영화     | 편   | show
play         | -           | 연극     | 편   | show
picture      | -           | 그림     | 장   | drawn goods sent
photo        | -           | 사진     | 장   | sent
map          | -           | 지도     | 장   | drawn goods
shirt        | -           | 셔츠     | 벌   | clothes goods
coat         | -           | 외투     | 벌   | clothes goods
sweater      | -           | 스웨터   | 벌   | clothes goods
jacket       | -           | 재킷     | 벌   | clothes goods
hat          | -           | 모자     | 개   | headwear goods
car          | -           | 자동차   | 대   | vehicle driven machine
bus          | buses       | 버스     | 대   | vehicle driven public
truck        | -           | 트럭     | 대   | vehicle driven machine
bicycle      | -           | 자전거   | 대   | vehicle ridden machine goods
train        | -           | 기차     | -    | vehicle public
taxi         | taxis       | 택시     | 대   | vehicle public driven
ship         | -           | 배       | 척   | vehicle public
airplane     | -           | 비행기   | 대   | vehicle public
computer     | -           | 컴퓨터   | 대   | machine goods electric
camera       | -           | 카메라   | 대   | machine goods held
television   | -           | 텔레비전 | 대   | machine goods electric
radio        | radios      | 라디오   | 대   | machine goods electric
lamp         | -           | 램프     | 개   | electric goods
clock        | -           | 시계     | 개   | machine goods held
piano        | pianos      | 피아노   | 대   | instrument goods
guitar       | -           | 기타     | 대   | instrument goods
chair        | -           | 의자     | 개   | made goods furniture
table        | -           | 탁자     | 개   | made goods furniture surface
desk         | -           | 책상     | 개   | made goods furniture surface
bed          | -           | 침대     | 개   | made goods furniture surface
bag          | -           | 가방     | 개   | held goods openable
box          | boxes       | 상자     | 개   | held made openable
ball         | -           | 공       | 개   | ball goods held
cup          | -           | 컵       | 개   | breakable goods held
bottle       | -           | 병       | 개   | breakable openable held
window       | -           | 창문     | 개   | breakable openable
mirror       | -           | 거울     | 개   | breakable goods
door         | -           | 문       | 개   | openable
umbrella     | -           | 우산     | 개   | held goods
key          | -           | 열쇠     | 개   | held
knife        | knives      | 칼       | 자루 | cutter goods
spoon        | -           | 숟가락   | 개   | held goods
pencil       | -           | 연필     | 자루 | pen goods held
pen          | -           | 펜       | 자루 | pen goods held
ring         | -           | 반지     | 개   | goods held
doll         | -           | 인형     | 개   | made goods held
toy          | -           | 장난감   | 개   | made goods held
basket       | -           | 바구니   | 개   | made goods held
blanket      | -           | 담요     | 장   | goods held
ticket       | -           | 표       | 장   | goods held
gift         | -           | 선물     | 개   | goods held sent
flower       | -           | 꽃       | 송이 | plant goods held
rose         | -           | 장미     | 송이 | plant goods held
tree         | -           | 나무     | 그루 | plant cut
school       | -           | 학교     | -    | place building at
library      | -           | 도서관   | -    | place building at
hospital     | -           | 병원     | -    | place building at
market       | -           | 시장     | -    | place at
store        | -           | 가게     | -    | place building at
station      | -           | 역       | -    | place at
restaurant   | -           | 식당     | -    | place building at
office       | -           | 사무실   | -    | place indoors at
museum       | -           | 박물관   | -    | place building at
theater      | -           | 극장     | -    | place building at
airport      | -           | 공항     | -    | place at
hotel        | -           | 호텔     | -    | place building at home
factory      | -           | 공장     | -    | place building at
farm         | -           | 농장     | -    | place at outdoors
bakery       | -           | 빵집     | -    | place at
zoo          | zoos        | 동물원   | -    | place at outdoors
bank         | -           | 은행     | -    | place at
park         | -           | 공원     | -    | place in outdoors
house        | -           | 집       | 채   | place building in home
room         | -           | 방       | -    | place indoors in
kitchen      | -           | 부엌     | -    | place indoors in
garden       | -           | 정원     | -    | place in outdoors
classroom    | -           | 교실     | -    | place indoors in
city         | -           | 도시     | -    | place in home
village      | -           | 마을     | -    | place in outdoors home
forest       | -           | 숲       | -    | place in outdoors home
palace       | -           | 궁전     | -    | place building in home
playground   | -           | 운동장   | -    | place in
river        | -           | 강       | -    | landscape
mountain     | -           | 산       | -    | landscape
lake         | -           | 호수     | -    | landscape
bridge       | -           | 다리     | -    | building
Seoul        | -           | 서울     | -    | town in
Busan        | -           | 부산     | -    | town in
Korea        | -           | 한국     | -    | town in
Japan        | -           | 일본     | -    | town in
Paris        | -           | 파리     | -    | town in
truth        | -           | 진실     | -    | fact unique
answer       | -           | 답       | -    | fact unique
secret       | -           | 비밀     | -    | kept
promise      | -           | 약속     | -    | kept
problem      | -           | 문제     | -    | solved
question     | -           | 질문     | -    | understood
story        | -           | 이야기   | -    | reading writing understood
song         | -           | 노래     | -    | song sound
plan         | -           | 계획     | -    | changed explained
rule         | -           | 규칙     | -    | law explained
order        | -           | 명령     | -    | law
law          | -           | 법       | -    | law
world        | -           | 세상     | -    | future unique
future       | -           | 미래     | -    | future unique
history      | -           | 역사     | -    | future lesson mass
culture      | -           | 문화     | -    | future mass
nature       | -           | 자연     | -    | nature mass
earth        | -           | 지구     | -    | nature unique
science      | -           | 과학     | -    | lesson force mass
math         | -           | 수학     | -    | lesson mass
art          | -           | 미술     | -    | lesson mass
English      | -           | 영어     | -    | lesson mass
Korean       | -           | 한국어   | -    | lesson mass
music        | -           | 음악     | -    | lesson sound force mass
news         | -           | 소식     | -    | sound fact unique
technology   | -           | 기술     | -    | force mass
AI           | -           | AI       | -    | force mass
education    | -           | 교육     | -    | force mass
love         | -           | 사랑     | -    | force mass
sun          | -           | 해       | -    | sky unique
moon         | -           | 달       | -    | sky unique
Minsu        | -           | 민수     | -    | name
Minji        | -           | 민지     | -    | name
Yuna         | -           | 유나     | -    | name
Junho        | -           | 준호     | -    | name
Sujin        | -           | 수진     | -    | name
Jimin        | -           | 지민     | -    | name
Hyunwoo      | -           | 현우     | -    | name
Anna         | -           | 안나     | -    | name
Tom          | -           | 톰       | -    | name
Paul         | -           | 폴       | -    | name
Emma         | -           | 에마     | -    | name
David        | -           | 데이비드 | -    | name
"""


def regular_plural(noun: str) -> str:
    """The plural in -s, -es or -ies."""
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")


def read_nouns(table: str) -> tuple[Noun, ...]:
    """The nouns of the table."""
    return tuple(
        Noun(english, plural or regular_plural(english), korean, counter, tuple(groups.split()))
        for english, plural, korean, counter, groups in rows(table, 5)
    )


def members(*groups: str) -> tuple[Noun, ...]:
    """The nouns that belong to any of the groups, in the order of the table."""
    return tuple(noun for noun in NOUNS if any(noun.is_in(group) for group in groups))


NOUNS = read_nouns(TABLE)
BY_ENGLISH = {noun.english: noun for noun in NOUNS}

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

# subject, object and owner
CASES = {
    "I": ("I", "me", "my"),
    "you": ("you", "you", "your"),
    "he": ("he", "him", "his"),
    "she": ("she", "her", "her"),
    "we": ("we", "us", "our"),
    "they": ("they", "them", "their"),
}
