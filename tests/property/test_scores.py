"""Scores against independent judges: seqeval, the rules of conlleval, and brute force on nested sets."""

from __future__ import annotations

import random
import warnings
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goldgap import Corpus, Document, Entity
from goldgap.corpus.conll import join_words
from goldgap.corpus.tags import tags_to_spans
from goldgap.evaluate.bootstrap import compare, f1_interval
from goldgap.evaluate.counts import MATCHES, Counts, Key, Match, Pair, by_type, count
from goldgap.evaluate.errors import MISSED, SPURIOUS, find_errors
from goldgap.evaluate.scores import Score, add, entity_scores, evaluate, total
from tests.unit.test_tags import conlleval_spans

FILES = 2000


def random_file(generator: random.Random, ill_formed: bool) -> list[list[str]]:
    """Tag sequences of a few sentences; well-formed ones repair each orphan I- into a B-."""
    sentences = []
    for _ in range(generator.randint(1, 4)):
        tags: list[str] = []
        for _ in range(generator.randint(1, 12)):
            tag = generator.choice(["O", "O", "O", "B-X", "B-Y", "I-X", "I-Y"])
            if not ill_formed and tag[0] == "I" and (not tags or tags[-1][2:] != tag[2:]):
                tag = "B" + tag[1:]
            tags.append(tag)
        sentences.append(tags)
    return sentences


def to_corpus(sentences: list[list[str]], rule: str) -> Corpus:
    documents = []
    for number, tags in enumerate(sentences):
        text, tokens = join_words(["w"] * len(tags))
        spans = tags_to_spans(tags, rule=rule).spans  # type: ignore[arg-type]
        entities = tuple(Entity(tokens[first][0], tokens[end - 1][1], label) for first, end, label in spans)
        documents.append(Document(text, entities, id=str(number), tokens=tokens))
    return Corpus(documents)


def precision_recall_f1(gold: Corpus, predicted: Corpus) -> tuple[float, float, float]:
    score = evaluate(gold, predicted, samples=0).strict.micro
    return score.precision, score.recall, score.f1


def test_scores_equal_seqeval_and_conlleval_on_random_tag_files() -> None:
    from seqeval.metrics.v1 import precision_recall_fscore_support
    from seqeval.scheme import IOB2

    generator = random.Random(20)
    ill_formed = with_entity = sentences = 0
    for number in range(FILES):
        gold, predicted = (random_file(generator, ill_formed=number % 2 == 0) for _ in range(2))
        predicted = [(tags * 12)[: len(gold[i])] for i, tags in enumerate((predicted * 4)[: len(gold)])]
        parsed = [tags_to_spans(tags) for tags in gold + predicted]
        ill_formed += any(item.ill_formed for item in parsed)
        with_entity += sum(bool(item.spans) for item in parsed)
        sentences += len(parsed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # seqeval warns about 0/0
            judged = precision_recall_fscore_support(gold, predicted, average="micro", scheme=IOB2, zero_division=0)[:3]
        ours = precision_recall_f1(to_corpus(gold, "strict"), to_corpus(predicted, "strict"))
        assert ours == pytest.approx(judged, abs=1e-9)
        lenient = precision_recall_f1(to_corpus(gold, "lenient"), to_corpus(predicted, "lenient"))
        assert lenient == pytest.approx(conlleval_scores(gold, predicted), abs=1e-9)
    assert ill_formed >= FILES / 3
    assert with_entity >= sentences / 2


def conlleval_scores(gold: list[list[str]], predicted: list[list[str]]) -> tuple[float, float, float]:
    """Counted as conlleval does: chunks that begin and end together with one type."""
    correct = found = true = 0
    for one, other in zip(gold, predicted, strict=True):
        chunks, guessed = conlleval_spans(one), conlleval_spans(other)
        correct += len(set(chunks) & set(guessed))
        found += len(guessed)
        true += len(chunks)
    precision, recall = correct / found if found else 0.0, correct / true if true else 0.0
    return precision, recall, 2 * precision * recall / (precision + recall) if precision + recall else 0.0


keys = st.frozensets(
    st.tuples(st.integers(0, 7), st.integers(1, 4), st.sampled_from("XY")).map(lambda k: (k[0], k[0] + k[1], k[2])),
    max_size=5,
)
pairs = st.builds(Pair, keys, keys)


def most_pairs(gold: list[Key], predicted: list[Key], match: Match) -> int:
    """Brute force: the largest number of pairs over every assignment of predictions to gold."""

    def fit(g: Key, p: Key) -> bool:
        same = {"strict": g[:2] == p[:2], "start": g[0] == p[0], "end": g[1] == p[1]}
        return g[2] == p[2] and same.get(match, g[0] < p[1] and p[0] < g[1])

    few, many = (gold, predicted) if len(gold) <= len(predicted) else (predicted, gold)
    return max(
        (sum(fit(*((a, b) if few is gold else (b, a))) for a, b in zip(few, chosen, strict=True)))
        for chosen in permutations(many, len(few))
    )


@settings(derandomize=True, deadline=None, max_examples=300)
@given(pairs)
def test_every_way_of_matching_agrees_with_brute_force_on_nested_sets(pair: Pair) -> None:
    for match in MATCHES:
        for label in "XY":
            gold = [key for key in pair.gold if key[2] == label]
            predicted = [key for key in pair.predicted if key[2] == label]
            counts = count(by_type(pair), match).get(label, Counts())
            assert counts == (most_pairs(gold, predicted, match), len(predicted), len(gold))


@settings(derandomize=True, deadline=None)
@given(st.lists(pairs, max_size=6), st.randoms(use_true_random=False))
def test_no_order_of_documents_or_entities_changes_a_score(items: list[Pair], generator: random.Random) -> None:
    def corpus(side: int, order: list[int]) -> Corpus:
        documents = []
        for index in order:
            entities = [Entity(*key) for key in items[index][side]]
            generator.shuffle(entities)
            documents.append(Document("x" * 20, tuple(entities + entities[:1]), id=str(index)))
        return Corpus(documents)

    straight = list(range(len(items)))
    shuffled = generator.sample(straight, len(straight))
    one = evaluate(corpus(0, straight), corpus(1, straight), samples=20).to_json()
    other = evaluate(corpus(0, shuffled), corpus(1, shuffled[::-1]), samples=20).to_json()
    assert one == other


@settings(derandomize=True, deadline=None)
@given(st.lists(pairs, min_size=1, max_size=6))
def test_swapping_gold_and_prediction_swaps_precision_and_recall(items: list[Pair]) -> None:
    for match in MATCHES:
        score = entity_scores(items, match=match).micro
        swapped = entity_scores([Pair(p, g) for g, p in items], match=match).micro
        assert (score.precision, score.recall) == (swapped.recall, swapped.precision)


@settings(derandomize=True, deadline=None)
@given(st.lists(pairs, max_size=6))
def test_errors_explain_every_entity_once(items: list[Pair]) -> None:
    errors = find_errors(items)
    strict = add([total(count(by_type(pair), "strict")) for pair in items])
    paired = errors.type + errors.boundary + errors.type_and_boundary
    assert strict.gold == strict.tp + paired + errors.missed
    assert strict.predicted == strict.tp + paired + errors.spurious
    by_gold = sum(n for (gold, _), n in errors.confusion.items() if gold != SPURIOUS)
    by_predicted = sum(n for (_, predicted), n in errors.confusion.items() if predicted != MISSED)
    assert (by_gold, by_predicted) == (strict.gold, strict.predicted)


def test_kinds_of_errors_are_told_apart() -> None:
    pair = Pair(
        gold=frozenset({(0, 2, "X"), (5, 9, "X"), (12, 14, "Y"), (20, 21, "Y")}),
        predicted=frozenset({(0, 2, "Y"), (6, 9, "X"), (13, 15, "X"), (30, 31, "X")}),
    )
    errors = find_errors([pair])
    assert (errors.type, errors.boundary, errors.type_and_boundary) == (1, 1, 1)
    assert (errors.missed, errors.spurious) == (1, 1)
    assert errors.confusion == {("X", "Y"): 1, ("X", "X"): 1, ("Y", "X"): 1, ("Y", MISSED): 1, (SPURIOUS, "X"): 1}


def test_nothing_divided_by_nothing_is_zero_and_says_so() -> None:
    empty = Score(Counts())
    assert (empty.precision, empty.recall, empty.f1, empty.defined) == (0.0, 0.0, 0.0, False)
    assert Score(Counts(1, 2, 1)).defined


def test_interval_has_the_law_of_drawing_documents_one_by_one() -> None:
    generator = random.Random(3)
    counts = [
        Counts(t, t + generator.randint(0, 2), t + generator.randint(0, 2)) for t in (0, 1, 2, 3) for _ in range(10)
    ]

    def drawn_f1() -> float:
        tp, predicted, gold = map(sum, zip(*generator.choices(counts, k=len(counts)), strict=True))
        return 2 * tp / (predicted + gold)

    naive = sorted(drawn_f1() for _ in range(20000))
    low, high = f1_interval(counts, samples=20000, seed=1)
    assert low == pytest.approx(naive[500], abs=0.005)
    assert high == pytest.approx(naive[19500], abs=0.005)


def test_paired_test_sees_a_small_but_constant_gain_that_two_intervals_do_not() -> None:
    generator = random.Random(5)
    first = [Counts(generator.randint(0, 5), 6, 6) for _ in range(200)]
    second = [Counts(min(6, c.tp + (i % 5 == 0)), 6, 6) for i, c in enumerate(first)]
    assert f1_interval(first).high > f1_interval(second).low
    contest = compare(first, second)
    assert contest.verdict == "better"
    assert contest.p_value < 0.01
    assert compare(second, first).verdict == "worse"


def test_paired_test_is_undecided_between_equals() -> None:
    counts = [Counts(i % 3, 3, 3) for i in range(50)]
    contest = compare(counts, counts)
    assert (contest.difference, contest.verdict, contest.p_value) == (0.0, "undecided", 1.0)


def test_word_scores_count_each_word_of_an_entity() -> None:
    gold = Corpus([Document("New York City rocks", (Entity(0, 13, "LOC"),), id="1")])
    predicted = Corpus([Document("New York City rocks", (Entity(0, 8, "LOC"), Entity(14, 19, "ORG")), id="1")])
    tokens = evaluate(gold, predicted, samples=0).tokens
    assert tokens.micro.counts == (2, 3, 3)
    assert tokens.per_type["LOC"].counts == (2, 2, 3)
