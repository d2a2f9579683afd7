"""The benchmark that tries substitutions in TASO's language: shapes that fit, what follows, what does not."""

import pytest
from substitution_shapes import Untypable, parse, typed_shapes
from substitutions import attempt


def test_shapes_are_as_different_as_the_rule_allows() -> None:
    sides = parse("(matmul 0 ?a (ewadd ?b ?c))"), parse("(ewadd (matmul 0 ?a ?b) (matmul 0 ?a ?c))")
    shapes = typed_shapes([sides])
    (rows, inner), (summed, columns) = shapes["?a"], shapes["?b"]
    assert inner == summed and shapes["?b"] == shapes["?c"]
    assert len({rows, inner, columns}) == 3


def test_a_convolution_of_joined_images_with_joined_weights_has_two_groups() -> None:
    left = parse("(concat 1 4 (conv2d 1 1 0 0 ?x ?v) (conv2d 1 1 0 0 ?y ?w))")
    right = parse("(conv2d 1 1 0 0 (concat 1 4 ?x ?y) (concat 0 4 ?v ?w))")
    shapes = typed_shapes([(left, right)])
    assert shapes["?x"] == shapes["?y"] and shapes["?v"] == shapes["?w"]
    assert shapes["?x"][1] == shapes["?v"][1] and all(k % 2 for k in shapes["?v"][2:])


def test_sides_of_two_ranks_are_untypable() -> None:
    with pytest.raises(Untypable):
        typed_shapes([(parse("(concat 1 2 ?a ?b)"), parse("(ewadd ?a ?b)"))])


def test_what_holds_is_proved_and_what_does_not_is_not() -> None:
    assert attempt(1, ["(relu (relu ?x))=>(relu ?x)"], 1000, 60).status == "proved"
    wrong = attempt(2, ["(matmul 0 ?x ?y)=>(matmul 0 ?y ?x)"], 1000, 60)
    assert (wrong.status, wrong.reason) == ("not proved", "saturated")


def test_both_lines_of_a_pair_have_to_follow() -> None:
    parts = [f"(relu ?{n})=>(split_{k} (split 1 (relu (concat 1 2 ?x ?y))))" for k, n in enumerate("xy")]
    assert attempt(1, parts, 5000, 60).status == "proved"
    crossed = [parts[0], "(relu ?z)=>(split_1 (split 1 (relu (concat 1 2 ?x ?y))))"]
    assert attempt(2, crossed, 5000, 60).status == "not proved"
