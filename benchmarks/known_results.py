"""Published results about attention, measured on a model of this project: reproduced or contradicted.

    regard data generate sentences --out runs/world/data
    python -m benchmarks.known_results world-en-ko --data runs/world/data/test --languages en ko

    norms     Norm-based weights align better than weights (Kobayashi et al., 2020: AER 29.8 to 25.0 at the decoder's
              input and 47.7 to 41.4 at its output, German to English). The head (or mean of heads) that aligns best
              is chosen for each measure on one half of the sentences and scored on the other; and the mean over all
              single heads, for which nothing is chosen.
    prune     Most encoder heads can be removed (Voita et al., 2019: 38 of 48 for 0.15 BLEU): `regard prune` with
              --max-loss 0.2 on the given pairs.
    best      Does the head that aligns best matter most? BLEU without each cross-attention head, beside its AER.
    gold      The attention decides the word: the rows of a word, moved to the gold link of another word, change the
              predicted word.
    mask      Without the causal mask a teacher-forced pass reads the future, so its loss is far too low or far off.

Data are NAME.SOURCE, NAME.TARGET and, for all but prune and mask, NAME.align; or NAME.text with `source ||| target` on
each line and NAME.gold with links counted from 1, as the examples of awesome-align have them (Hansards):

    python -m benchmarks.known_results en-fr --data align/enfr --sentences 447 --parts norms best

A .tsv file has `name TAB source TAB target TAB links`, counted from 0, as the manual links of the Greek New Testament:

    awk 'NR % 15' sblgnt-bsb.tsv | cut -f 2,3 > train.tsv
    awk 'NR % 15 == 0' sblgnt-bsb.tsv > test.tsv
    regard train --pairs train.tsv --languages el,en --run runs/verses
    python -m benchmarks.known_results runs/verses/model --data test.tsv --sentences 500 --parts norms
"""

import argparse
from pathlib import Path
from random import Random
from statistics import fmean

import torch

from regard.batch import encode_source_rows
from regard.decoding.loop import forced_decode, rescore
from regard.inference.head_ablation import EvaluationSet, ablate_heads
from regard.inference.head_pruning import prune_by_loss
from regard.inference.open import load
from regard.inference.translator import Translator
from regard.interventions import RowIntervention
from regard.metrics.alignment import GoldAlignment, alignment_error_rate, parse_alignments
from regard.tracing.alignment import Measure, align, score_heads
from regard.tracing.interventions import intervene
from regard.tracing.trace import TokenSequence

SIDES = ("input", "output")
MEASURES: tuple[Measure, ...] = ("weights", "norms")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--data", type=Path, required=True, metavar="NAME")
    parser.add_argument("--languages", nargs=2, metavar=("SOURCE", "TARGET"), help="the endings of the two files")
    parser.add_argument("--sentences", type=int, default=200, help="of the data [default: %(default)s]")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    arguments = parser.parse_args()
    translator: Translator = load(arguments.model, task="translation", engine="torch")
    tests = read_tests(arguments.data, arguments.languages, arguments.sentences)
    for part in arguments.parts:
        print(f"\n{part}: {len(tests.sources)} sentences, {translator.name}", flush=True)
        PARTS[part](translator, tests)


def read_tests(name: Path, languages: list[str] | None, count: int) -> EvaluationSet:
    if name.suffix == ".tsv":
        rows = [line.split("\t") for line in name.read_text(encoding="utf-8").splitlines()[:count]]
        return EvaluationSet([row[1] for row in rows], [row[2] for row in rows], parse_alignments([r[3] for r in rows]))
    if languages is None:
        return read_text_and_gold(name, count)
    sources, references = (
        name.with_name(f"{name.name}.{language}").read_text(encoding="utf-8").splitlines()[:count]
        for language in languages
    )
    links = name.with_name(f"{name.name}.align")
    gold = parse_alignments(links.read_text(encoding="utf-8").splitlines()[:count]) if links.is_file() else None
    return EvaluationSet(sources, references, gold)


def read_text_and_gold(name: Path, count: int) -> EvaluationSet:
    """Pairs of at least three words on each side: shorter ones ("2 .") say nothing about a head."""
    texts, links = (
        name.with_name(f"{name.name}.{ending}").read_text("utf-8").splitlines() for ending in ("text", "gold")
    )
    pairs = [[" ".join(side.split()) for side in line.split("|||")] for line in texts]
    gold = parse_alignments(links, one_based=True)
    kept = [at for at, pair in enumerate(pairs) if min(len(side.split()) for side in pair) >= 3][:count]
    return EvaluationSet([pairs[at][0] for at in kept], [pairs[at][1] for at in kept], [gold[at] for at in kept])


def norms(translator: Translator, tests: EvaluationSet) -> None:
    gold, bundle, half = require_gold(tests), translator.require_bundle("alignments"), len(tests.sources) // 2
    scored_by = {
        measure: score_heads(bundle, tests.sources[:half], tests.references[:half], gold[:half], measure)
        for measure in MEASURES
    }
    for at in SIDES:
        errors = []
        for measure, scored in scored_by.items():
            chosen = next(one for one in scored if one.at == at)
            found = align(bundle, tests.sources[half:], tests.references[half:], chosen.selection)
            links = [one.links for one in found]
            own = gold[half:]
            score = alignment_error_rate(links, [one.sure for one in own], [one.possible for one in own])
            errors.append(score.aer)
            single = fmean(one.aer for one in scored if one.at == at and one.head is not None)
            print(f"  decoder {at}, {measure}: AER {score.aer:.3f} ({chosen}); mean of single heads {single:.3f}")
        print(f"  decoder {at}: norms {'lower' if errors[1] < errors[0] else 'do not lower'} the AER")


def prune(translator: Translator, tests: EvaluationSet) -> None:
    config = translator.decoding_config(beam_size=1)
    steps = [step for step, _ in prune_by_loss(translator, tests, 0.2, config=config, roles=["encoder-self"])]
    for step in steps:
        print(f"  {step.removed} encoder heads removed: BLEU {step.quality.bleu:.2f}")
    within = max(step.removed for step in steps if steps[0].quality.bleu - step.quality.bleu <= 0.2)
    print(f"  {within} heads can be removed for at most 0.2 BLEU")


def best(translator: Translator, tests: EvaluationSet) -> None:
    gold, bundle = require_gold(tests), translator.require_bundle("alignments")
    scored = score_heads(bundle, tests.sources, tests.references, gold)
    errors = {
        (one.layer, one.head): min(other.aer for other in scored if (other.layer, other.head) == (one.layer, one.head))
        for one in scored
        if one.layer is not None and one.head is not None
    }
    report = ablate_heads(translator, tests, config=translator.decoding_config(beam_size=1), roles=["cross"])
    for one in report.heads:
        change = one.quality.bleu - report.baseline.bleu
        print(f"  cross {one.layer}.{one.head}: BLEU {change:+.2f} without it, AER {errors[one.layer, one.head]:.3f}")
    aligner, needed = min(errors, key=errors.__getitem__), (report.heads[0].layer, report.heads[0].head)
    print(f"  the head that aligns best {'is' if aligner == needed else 'is not'} the one that is needed most")


def gold(translator: Translator, tests: EvaluationSet) -> None:
    total, changed = move_to_gold_links(translator, tests)
    print(f"  the predicted word changes in {changed} of {total} sentences ({changed / max(1, total):.1%})")


@torch.inference_mode()
def move_to_gold_links(translator: Translator, tests: EvaluationSet) -> tuple[int, int]:
    """The rows of a word in every cross-attention are moved to the source of another word of its sentence.

    The number of sentences, and of those in which a predicted token of the word changes. The first token alone says
    little: with a small vocabulary it is often the mark of a space, which many words begin with.
    """
    chance, bundle, changed, total = Random(0), translator.require_bundle("alignments"), 0, 0
    both = bundle.tokenizers
    for source, reference, links in zip(tests.sources, tests.references, require_gold(tests), strict=True):
        row, target = translator.encode(source), both.target.encode(reference)
        sides = (
            TokenSequence.from_pieces(both.source.pieces(row)),
            TokenSequence.from_pieces(both.target.pieces(target)),
        )
        single = [link for link in sorted(links.sure) if sum(one[1] == link[1] for one in links.sure) == 1]
        pairs = [(one, other) for one in single for other in single if one[0] != other[0] and one[1] != other[1]]
        if not pairs or any(link[0] >= len(sides[0].words) or link[1] >= len(sides[1].words) for link in single):
            continue
        (_, word), (other_source, _) = chance.choice(pairs)
        queries = sides[1].word_pieces[word]  # row i outputs token i
        keys = tuple(sides[0].word_pieces[other_source])
        moved = [RowIntervention(role="cross", query=query, action="move", keys=keys) for query in queries]
        predicted = []
        for changes in ([], moved):
            with intervene(bundle, *changes):
                decoded = forced_decode(bundle.model, encode_source_rows([row]), [target], sentences=[0])  # type: ignore[arg-type]
            predicted.append(decoded.logits[0, queries].argmax(dim=-1).tolist())
        total += 1
        changed += predicted[0] != predicted[1]
    return total, changed


@torch.inference_mode()
def mask(translator: Translator, tests: EvaluationSet) -> None:
    bundle = translator.require_bundle("losses")
    both, losses = bundle.tokenizers, []
    for changes in ([], ["without.causal-mask"]):
        total, tokens = 0.0, 0
        for source, reference in zip(tests.sources, tests.references, strict=True):
            target = both.target.encode(reference)
            with intervene(bundle, *changes):
                rows = encode_source_rows([translator.encode(source)])
                total -= float(rescore(bundle.model, rows, [target], sentences=[0]).sum())  # type: ignore[arg-type]
            tokens += len(target) + 1
        losses.append(total / tokens)
    print(f"  loss per token with the mask {losses[0]:.3f}, without it {losses[1]:.3f}")


def require_gold(tests: EvaluationSet) -> list[GoldAlignment]:
    if tests.gold is None:
        raise SystemExit("this part needs gold links: NAME.align")
    return list(tests.gold)


PARTS = {"norms": norms, "prune": prune, "best": best, "gold": gold, "mask": mask}

if __name__ == "__main__":
    main()
