"""Scores against independent judges: seqeval, the rules of conlleval, and brute force on nested sets."""

from __future__ import annotations

import random
import warnings
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goldgap import Corpus, Document, Entity
from goldgap.core.errors import InputError
from goldgap.corpus.conll import joiner
from goldgap.corpus.tags import tags_to_spans
from goldgap.evaluate.bootstrap import compare, f1_interval
from goldgap.evaluate.counts import MATCHES, Counts, Key, Match, Pair, by_type, count, inner
from goldgap.evaluate.errors import MISSED, SPURIOUS, find_errors
from goldgap.evaluate.scores import Score, Scores, add, evaluate, scores_of, total
from tests.unit.test_tags import conlleval_spans

FILES = 2000


def entity_scores(pairs: list[Pair], *, match: Match = "strict", samples: int = 0, seed: int = 0) -> Scores:
    return scores_of([count(by_type(pair), match) for pair in pairs], samples, seed)


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
        text, tokens = joiner("auto")(["w"] * len(tags))
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
    assert (empty.precision, empty.recall, empty.f1) == (0.0, 0.0, 0.0)


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


def test_a_word_that_begins_where_an_entity_ends_is_not_part_of_it() -> None:
    corpus = Corpus([Document("(Ann)", (Entity(1, 4, "PER"),), id="1")])
    assert evaluate(corpus, corpus, samples=0).tokens.micro.counts == (1, 1, 1)


def corpus_of(*texts: str) -> Corpus:
    """Documents with ids "a", "b" and so on."""
    return Corpus(Document(text, id=name) for name, text in zip("abcdef", texts, strict=False))


def refusal(gold: Corpus, predicted: Corpus) -> str:
    with pytest.raises(InputError) as caught:
        evaluate(gold, predicted, samples=0)
    return str(caught.value)


def test_documents_without_prediction_are_counted_and_named() -> None:
    message = refusal(corpus_of("x", "x", "x", "x", "x"), corpus_of("x"))
    assert message.startswith("no prediction for 4 of 5 documents (ids 'b', 'c', 'd');")


def test_predictions_for_other_documents_are_named() -> None:
    assert "(ids 'b', 'c')" in refusal(corpus_of("x"), corpus_of("x", "x", "x"))


def test_ids_that_several_documents_share_cannot_be_paired() -> None:
    twice = Corpus([Document("x", id="a"), Document("y", id="a")])
    assert refusal(twice, corpus_of("x")).startswith("the id 'a' belongs to several documents")
    assert refusal(corpus_of("x"), twice).startswith("the id 'a' belongs to several documents")


def test_documents_that_were_numbered_anew_are_paired_in_order() -> None:
    named = corpus_of("Ann met", "Bob met").map(lambda one: one.replace(entities=(Entity(0, 3, "PER"),)))
    numbered = Corpus(document.replace(id=str(number)) for number, document in enumerate(named, 1))
    assert evaluate(named, numbered, samples=0).strict.micro.counts == (2, 2, 2)
    half = Corpus([numbered[0].replace(id="a"), numbered[1].replace(id="z", entities=())])
    assert evaluate(named, half, samples=0).strict.micro.counts == (1, 1, 2)
    other = Corpus([numbered[1], numbered[0]])
    assert refusal(named, other).startswith("no prediction for 2 of 2 documents")


def test_documents_of_different_texts_are_refused_with_the_first_difference() -> None:
    cat, dog = "the cat sat on the mat all day", "the dog lay on the mat all day"
    assert refusal(corpus_of("same", cat), corpus_of("same", dog)) == (
        "document 'b' has different texts in the two files: "
        "they differ at character 4: 'cat sat on the mat a', 'dog lay on the mat a'"
    )
    assert refusal(corpus_of("longer"), corpus_of("long")).endswith("they differ in length")


def test_macro_f1_is_the_mean_over_types_and_zero_without_any() -> None:
    pair = Pair(frozenset({(0, 1, "X"), (2, 3, "Y")}), frozenset({(0, 1, "X"), (2, 3, "Z")}))
    scores = entity_scores([pair])
    assert {label: score.f1 for label, score in scores.per_type.items()} == {"X": 1.0, "Y": 0.0, "Z": 0.0}
    assert scores.macro_f1 == pytest.approx(1 / 3)
    assert entity_scores([Pair(frozenset(), frozenset())]).macro_f1 == 0.0


def test_types_are_scored_in_order_of_name() -> None:
    names = [f"T{number}" for number in range(10)]
    pair = Pair(frozenset((0, 1, name) for name in reversed(names)), frozenset())
    assert list(entity_scores([pair]).per_type) == names


def test_without_resamples_the_interval_is_the_point() -> None:
    pairs = [Pair(frozenset({(0, 1, "X")}), frozenset({(0, n, "X")})) for n in [1] * 31 + [2] * 46]
    scores = entity_scores(pairs)
    assert entity_scores(pairs, samples=1).interval != scores.interval
    assert scores.interval == (scores.micro.f1, scores.micro.f1)


def test_intervals_and_paired_tests_are_drawn_with_seed_0_unless_told() -> None:
    generator = random.Random(7)
    first, second = ([Counts(generator.randint(0, 9), 9, 9) for _ in range(30)] for _ in range(2))
    assert f1_interval(first) == f1_interval(first, seed=0) != f1_interval(first, seed=1)
    assert compare(first, second) == compare(first, second, seed=0) != compare(first, second, seed=1)
    pairs = [Pair(frozenset({(0, 1, "X")}), frozenset({(0, n, "X")})) for n in range(1, 3) for _ in range(9)]
    drawn = [entity_scores(pairs, samples=9, seed=seed).interval for seed in (0, 1)]
    assert entity_scores(pairs, samples=9).interval == drawn[0] != drawn[1]


def test_p_value_of_a_gain_in_every_resample_is_the_least_that_the_resamples_allow() -> None:
    contest = compare([Counts(1, 2, 2)] * 10, [Counts(2, 2, 2)] * 10, samples=99)
    assert (contest.difference, contest.interval) == (0.5, (0.5, 0.5))
    assert contest.p_value == pytest.approx(0.02)


def test_paired_test_refuses_different_numbers_of_documents() -> None:
    with pytest.raises(InputError, match="1 documents against 2"):
        compare([Counts()], [Counts()] * 2)


def test_errors_as_json_name_every_kind_and_each_cell_of_the_confusion() -> None:
    pair = Pair(frozenset({(0, 2, "X"), (5, 7, "X")}), frozenset({(0, 3, "X"), (8, 9, "Y")}))
    assert find_errors([pair]).to_json() == {
        "type": 0,
        "boundary": 1,
        "type_and_boundary": 0,
        "missed": 1,
        "spurious": 1,
        "confusion": [
            {"gold": SPURIOUS, "predicted": "Y", "count": 1},
            {"gold": "X", "predicted": MISSED, "count": 1},
            {"gold": "X", "predicted": "X", "count": 1},
        ],
    }


def test_an_entity_is_explained_by_its_most_alike_partner() -> None:
    same_range = Pair(frozenset({(0, 4, "X")}), frozenset({(0, 3, "X"), (0, 4, "Y")}))
    assert (find_errors([same_range]).type, find_errors([same_range]).boundary) == (1, 0)
    same_type = Pair(frozenset({(0, 4, "X")}), frozenset({(0, 1, "X"), (0, 3, "Y")}))
    assert find_errors([same_type]).confusion == {("X", "X"): 1, (SPURIOUS, "Y"): 1}
    most_in_common = Pair(frozenset({(0, 9, "X")}), frozenset({(0, 3, "Y"), (4, 9, "Z")}))
    assert find_errors([most_in_common]).confusion == {("X", "Z"): 1, (SPURIOUS, "Y"): 1}


@settings(derandomize=True, deadline=None)
@given(st.frozensets(st.tuples(st.integers(0, 6), st.integers(1, 6), st.sampled_from("XY")), max_size=8))
def test_inner_entities_are_those_inside_another_of_a_larger_range(drawn: frozenset[tuple[int, int, str]]) -> None:
    entities = frozenset((start, start + size, label) for start, size, label in drawn)
    expected = {
        one for one in entities if any(two[0] <= one[0] and one[1] <= two[1] and two[:2] != one[:2] for two in entities)
    }
    assert inner(entities) == expected


def test_found_inner_entities_are_counted() -> None:
    gold = Document("a b c d", (Entity(0, 3, "X"), Entity(0, 1, "X"), Entity(2, 3, "Y"), Entity(4, 5, "X")), id="1")
    found = gold.replace(entities=(Entity(0, 1, "X"), Entity(2, 3, "X"), Entity(4, 5, "X")))
    values = evaluate(Corpus([gold]), Corpus([found]), samples=0).to_json()["inner"]
    assert values == {"gold": 2, "found": 1, "recall": 0.5}
