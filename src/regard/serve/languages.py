"""What is known of languages: their names, their scripts, and the commonest words of those that share one."""

from typing import Final

# English names by code; a code that is not here is its own name.
_NAMES = """
    af=Afrikaans ar=Arabic bg=Bulgarian bn=Bengali ca=Catalan cs=Czech da=Danish de=German el=Greek en=English
    eo=Esperanto es=Spanish et=Estonian eu=Basque fa=Persian fi=Finnish fr=French ga=Irish gl=Galician he=Hebrew
    hi=Hindi hr=Croatian hu=Hungarian hy=Armenian id=Indonesian is=Icelandic it=Italian ja=Japanese ka=Georgian
    kk=Kazakh ko=Korean lt=Lithuanian lv=Latvian mk=Macedonian mr=Marathi ms=Malay nb=Norwegian ne=Nepali nl=Dutch
    no=Norwegian pl=Polish pt=Portuguese ro=Romanian ru=Russian sk=Slovak sl=Slovenian sq=Albanian sr=Serbian
    sv=Swedish sw=Swahili ta=Tamil te=Telugu th=Thai tl=Tagalog tr=Turkish uk=Ukrainian ur=Urdu vi=Vietnamese
    zh=Chinese
"""
NAMES: Final = dict(entry.split("=") for entry in _NAMES.split())

# Languages that are not written in Latin letters.
SCRIPTS: Final[dict[str, tuple[str, ...]]] = {
    "ko": ("hangul",),
    "ja": ("kana", "han"),
    "zh": ("han",),
    **dict.fromkeys(("ru", "uk", "bg", "mk", "sr", "kk"), ("cyrillic",)),
    **dict.fromkeys(("ar", "fa", "ur"), ("arabic",)),
    **dict.fromkeys(("hi", "mr", "ne"), ("devanagari",)),
    "el": ("greek",),
    "he": ("hebrew",),
    "hy": ("armenian",),
    "ka": ("georgian",),
    "bn": ("bengali",),
    "ta": ("tamil",),
    "te": ("telugu",),
    "th": ("thai",),
}

# The commoner first: function words above all, which any sentence has.
COMMON_WORDS: Final = {
    "en": """the of and to in a is that it was for on are with as he be at this have from or had by not but what all
    were we when your can said there use an each which she do how their if will up other about out many then them these
    so some her would make like him into time has look two more write go see number no way could people my than first
    been who its now find long down day did get come made may part over new think know world child house good great
    hello hi yes please thank thanks morning""",
    "de": """der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus er
    hat dass sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur oder aber vor zur bis
    mehr durch man sein wurde sei hatte kann gegen vom können schon wenn habe seine mark ihre dann unter wir soll ich
    eines jahr zwei jahren diese dieser wieder keine ihr uns machen gehen schule kind haus sehr gut welt schreiben
    hallo guten morgen tag danke bitte ja nein""",
    "fr": """de la le et les des en un du une que est pour qui dans a par plus pas au sur ne se ce il sont avec son ses
    aux mais on comme ou si leur y dont elle deux ces cette même nous vous je tout fait être été bien sans sa peut
    autre après très aussi encore quand mon ma mes faire temps homme femme jour monde enfant maison école grand petit
    où notre votre était avait ont c'est l'homme qu'il d'une bonjour merci oui non salut""",
    "es": """de la que el en y a los del se las por un para con no una su al lo como más pero sus le ya o este sí
    porque esta entre cuando muy sin sobre también me hasta hay donde quien desde todo nos durante todos uno les ni
    contra otros ese eso ante ellos esto mí antes algunos qué unos yo otro otras otra él tanto mucho nada poco ella
    estar hacer niño casa escuela mundo año día hombre mujer bueno grande está son fue era tiene hola gracias buenos
    buenas""",
    "it": """di che è la il un a per in una mi sono ho non ma lo ha le si ti i con cosa se io come da ci no questo qui
    hai del bene tu sei al della nel più gli alla delle dei anche solo quando era tutto perché loro molto dove fare chi
    essere stato suo sua noi voi lui lei anni giorno casa scuola mondo bambino uomo donna grande buono sulla dalla
    nella degli questa quello ancora hanno può ciao buongiorno grazie""",
    "pt": """de a o que e do da em um para é com não uma os no se na por mais as dos como mas foi ao ele das tem à seu
    sua ou ser quando muito há nos já está eu também só pelo pela até isso ela entre era depois sem mesmo aos ter seus
    quem nas me esse eles estão você tinha foram essa num nem suas meu às minha têm numa casa escola mundo menino homem
    mulher dia ano bom grande fazer são olá obrigado""",
    "nl": """de van een het en in is dat op te zijn voor met die niet aan er om hij ook als dan maar bij nog uit naar
    door over ze zich of hebben worden wordt werd was heeft had kan moet zal meer geen wel deze dit tot wij we ik je
    jij u haar hun ons mijn veel twee jaar nu goed groot kind huis school wereld mens dag waar wat wie zo toen omdat
    hallo dank goedemorgen ja nee""",
    "sv": """och i att det som en på är av för med till den har de inte om ett han men var jag sig från vi så kan när
    år man ut eller efter hade upp vid hon där nu ska skulle mycket sin mot under över bara också sedan bli blir alla
    andra in två får nya finns någon här varit vara vad mitt din barn hus skola världen människa dag god stor gör säger
    hej tack ja nej""",
    "da": """og i at det er en til på som af for med den de der ikke et har han jeg om var fra men sig vi så kan når år
    ud eller efter havde op ved hun hvor nu skal ville meget sin mod under over kun også siden blive bliver alle andre
    ind to får nye nogen her været være hvad mit din barn hus skole verden menneske dag god stor gør siger hej tak ja
    nej""",
    "nb": """og i det er til på som en å for av at med den de ikke har et han jeg om var fra men seg vi så kan når år
    ut eller etter hadde opp ved hun hvor nå skal ville mye sin mot under over bare også siden bli blir alle andre inn
    to får nye noen her vært være hva mitt din barn hus skole verden menneske dag god stor gjør sier hei takk ja
    nei""",
    "fi": """ja on ei että se hän oli ovat mutta kun niin joka mitä tämä sen kuin jos myös minä sinä he me olen olla
    ollut vain nyt sitten hyvin kaikki jo vielä mukaan vuoden sekä voi tai ole siitä tämän siinä hänen jossa eivät
    kanssa ennen jälkeen talo koulu lapsi maailma päivä ihminen suuri hyvä tekee sanoo""",
    "pl": """i w nie na się z do to że jest jak o po co za od tak ale przez dla są był było jej jego już tylko czy ich
    ma być może tym ten ta te który która które gdy bardzo także jeszcze lub pod nad przed mnie ja ty my wy oni on ona
    kiedy gdzie dom szkoła dziecko świat dzień człowiek dobry wielki robi mówi roku przy""",
    "cs": """a se v na je že to s z do o i ve jako za by ale si po jsou k pro jeho být tak který která které jen když
    už od nebo jsem aby co jak její bylo byl byla může má tento této také pod před při nad mezi velmi kde dům škola
    dítě svět den člověk dobrý velký dělá říká roku jsme jste není""",
    "hu": """a az és hogy nem is egy ez volt van meg ha csak már de mint még el ki azt vagy sem lehet kell minden után
    aki nagyon most majd én te ő mi ti ők ezt olyan volna lesz fel le be itt ott mert amely között két év ház iskola
    gyerek világ nap ember jó nagy csinál mond""",
    "ro": """de și în a la cu pe nu o că este un din care se mai ca pentru sunt au fost dar să lui sau după ce prin fi
    era ei până când foarte am ai are asta acest această aceste cum eu tu el ea noi voi unde doi an casă școală copil
    lume zi om bun mare face spune între""",
    "tr": """ve bir bu da de için ile çok ne o daha gibi olarak en kadar sonra ama var ben sen biz siz onlar değil mi
    mı her ki olan oldu ya şey iki yıl ev okul çocuk dünya gün insan iyi büyük yapmak dedi nasıl neden olduğu olduğunu
    tarafından önce ise veya zaman içinde""",
    "id": """yang dan di itu dengan untuk tidak ini dari dalam akan pada juga saya ke karena tersebut bisa ada mereka
    lebih kata tahun sudah atau saat oleh menjadi orang ia telah adalah seperti sebagai bahwa dapat para harus namun
    kita dua satu masih hari hanya rumah sekolah anak dunia manusia baik besar""",
    "vi": """và của là có trong cho không được một với các người những đã này khi để từ đến về như ở ra tôi anh chị em
    nó họ chúng ta cũng sẽ rất nhiều năm ngày nhà trường trẻ thế giới con tốt lớn làm nói vào đó lại nên vì nếu""",
    "ru": """и в не на я что он с как это по но они мы все она так его за был от то же бы у вы из для есть если или её
    их мне уже когда нет до даже только ещё было были быть ты этот эта очень где кто дом школа ребёнок мир день человек
    хороший большой делает говорит год может чтобы""",
    "uk": """і в не на я що він з як це по але вони ми все вона так його за був від то ж би у ви із для є якщо або її
    їх мені вже коли ні до навіть тільки ще було були бути ти цей ця дуже де хто дім школа дитина світ день людина
    добрий великий робить каже рік може щоб також""",
    "bg": """и в не на аз че той с как това по но те ние всички тя така го за беше от то же би вие из са е ако или я им
    ми вече когато няма до дори само още било бъде ти този тази много къде кой къща училище дете свят ден човек добър
    голям прави казва година може да се ще""",
}


def plain_code(code: str) -> str:
    """A code in the one way of writing it in which codes are compared: "pt-br" of "pt_BR" or "PT-BR"."""
    return code.replace("_", "-").lower()


def base_code(code: str) -> str:
    """The language of a code with a region: "en" of "en-GB", "EN" or "en_US"."""
    return plain_code(code).split("-")[0]


def name_of(code: str) -> str:
    """The language's English name."""
    return NAMES.get(base_code(code), code)
