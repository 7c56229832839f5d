"""The everyday translators that come with regard: quality on a test set and by length, and 100 outputs to read.

    .venv/bin/python benchmarks/everyday.py                           # the outputs of 100 sentences of our own
    .venv/bin/python benchmarks/everyday.py --tatoeba data/tatoeba    # and BLEU and chrF on enfr.test, both directions
    .venv/bin/python benchmarks/everyday.py --tatoeba data/tatoeba --split val --without-marks    # as some people type

Everything printed is a JSON line. docs/pretrained.md judges the outputs.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import regard
from regard.data.text_lines import read_lines

GENERATIONS = ("en-fr", "en-fr-rnn-attention", "en-fr-rnn")
ENGLISH = """Where is the train station?
I would like a cup of coffee, please.
What time does the museum close?
My sister lives in a small town near the sea.
It is raining, so we are staying at home.
Can you help me carry this box?
She has a black cat and a white dog.
I forgot my keys at the office.
We are going to the beach tomorrow.
How much does this book cost?
He is taller than his father.
I have never been to Japan.
The little red house is very old.
Do not forget to close the window.
They were late because of the traffic.
I am learning French.
Could you speak more slowly?
The doctor told him to stop smoking.
If I had more time, I would read more books.
There is a good restaurant around the corner.
My phone is broken.
Who is the woman next to the door?
The children are playing in the garden.
I think you are right.
He gave her a beautiful green dress for her birthday.
Why did you not call me last night?
The dog is tired because it ran all day.
The car is dirty because it was in the forest.
We need two tickets for Saturday evening.
I would rather stay here than go out.
Attention is all you need.
The printer does not work anymore.
My grandmother, who is ninety years old, still works in her garden every morning.
When I was young, I used to walk to school with my best friend, even when it was snowing.
The blockchain startup raised a lot of money.
Can I pay by credit card?
My sister is a nurse in a big hospital.
I lost my keys on the bus this morning.
What time does the supermarket close on Sundays?
He has been learning Spanish for two years.
The baby is sleeping, so please be quiet.
I don't think she will come to the party.
There is a green bottle on the kitchen table.
How many brothers do you have?
We missed the last train and had to take a taxi.
Please don't tell anyone about this.
The new teacher is very friendly and patient.
It was so cold that the lake froze.
Would you like some sugar in your coffee?
My parents have lived in this city since 1998.
I forgot to buy eggs and butter.
The blue dress suits you better than the red one.
Who left the door open?
She closed the window because it was noisy outside.
If it snows tomorrow, the school will be closed.
The film that we saw last night was boring.
Turn left at the second traffic light.
I have a headache and a sore throat.
Nobody knows why he quit his job.
The bread is fresh because it was baked this morning.
Our neighbors are going to sell their old car.
You should call the police immediately.
This soup is too salty for me.
Machine learning models need a lot of data.
The bridge was destroyed by the flood three weeks ago.""".splitlines()
FRENCH = """Où est la gare ?
Je voudrais une baguette et deux croissants.
Il fait très froid aujourd'hui.
Ma voiture est en panne.
Est-ce que tu peux m'aider demain matin ?
Nous avons mangé au restaurant hier soir.
Je ne sais pas où elle habite.
Ils ont acheté une grande maison blanche.
Quel âge a ton frère ?
Elle est partie sans dire au revoir.
Il faut que je parte maintenant.
Le petit garçon a peur du noir.
Je n'ai jamais vu un film aussi drôle.
Pourriez-vous fermer la porte, s'il vous plaît ?
Si j'étais riche, je voyagerais autour du monde.
Le train pour Lyon part à huit heures.
Mon frère travaille dans une banque.
Où avez-vous acheté ce beau manteau ?
Je ne me souviens plus de son nom.
Nous allons au cinéma ce soir avec des amis.
Elle a oublié son parapluie dans le train.
Le chat dort sur le canapé.
Quand est-ce que tu rentres à la maison ?
Les enfants ont peur du grand chien noir.
Je dois aller chez le dentiste demain après-midi.
Cette valise est trop lourde pour moi.
Il y a beaucoup de monde au marché le samedi.
S'il pleut, nous resterons à la maison.
Le professeur nous a demandé de nous taire.
La soupe que ma grand-mère prépare est délicieuse.
Peux-tu m'aider à porter ces cartons ?
Ils se sont mariés il y a dix ans.
J'ai besoin d'un nouveau téléphone portable.
La boulangerie est fermée le lundi.
On ne peut pas fumer dans ce restaurant.""".splitlines()


def print_outputs() -> None:
    """Each sentence with its translation, its confidence and the words that the model does not know."""
    translators = {name: regard.load(name, task="translation", engine="torch") for name in (*GENERATIONS, "fr-en")}
    for sentences, names in ((ENGLISH, GENERATIONS), (FRENCH, ("fr-en",))):
        outputs = {name: translators[name].translate(sentences) for name in names}
        for index, sentence in enumerate(sentences):
            best = outputs[names[0]][index]
            line: dict[str, Any] = {"source": sentence} | {name: outputs[name][index].text for name in names}
            line |= {"confidence": round(best.confidence, 2)}
            if unknown := translators[names[0]].unknown_words(sentence):
                line |= {"unknown": unknown}
            print(json.dumps(line, ensure_ascii=False), flush=True)


def print_quality(tatoeba: Path, split: str, *, without_marks: bool) -> None:
    """BLEU and chrF with intervals, and BLEU by the number of source words."""
    texts = {code: list(read_lines(tatoeba / f"enfr.{split}.{code}")) for code in ("en", "fr")}
    for name in (*GENERATIONS, "fr-en"):
        source, target = name.split("-")[:2]
        sources = [text.rstrip(".?!… ") if without_marks else text for text in texts[source]]
        report = regard.evaluate(regard.load(name, task="translation", engine="torch"), sources, texts[target])
        scores = {one.name: [round(value, 1) for value in (one.value, one.low, one.high)] for one in report.scores}
        lengths = {f"{one.low}-{one.high}": [one.count, round(one.score, 1)] for one in report.lengths}
        print(json.dumps({"model": name, "parameters": report.parameters, "scores": scores, "by length": lengths}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tatoeba", type=Path, help="folder of enfr.test.en and enfr.test.fr")
    parser.add_argument("--split", default="test", help="val: to choose between models [default: test]")
    parser.add_argument("--without-marks", action="store_true", help="sources without their final marks")
    options = parser.parse_args()
    assert len(ENGLISH) + len(FRENCH) == 100
    print_outputs()
    if options.tatoeba:
        print_quality(options.tatoeba, options.split, without_marks=options.without_marks)


if __name__ == "__main__":
    main()
