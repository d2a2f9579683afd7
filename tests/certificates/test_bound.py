"""What certificates of results say of cost: on built graphs and trained models, and what of it is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from onnx import parser

from egraph_opt import optimize
from egraph_opt.certificates.certificate import Certificate
from egraph_opt.certificates.checking import check_certificate
from egraph_opt.certificates.checking_bound import CheckedBound, check_bound
from egraph_opt.certificates.errors import CertificateError
from egraph_opt.certificates.stated_bound import StatedBound
from tests.certificates.made_certificates import HEAD, MODELS, MadeCertificate, made
from tests.installed_models import installed


def _bound(one: MadeCertificate, **changes: Any) -> CheckedBound:
    """What is found of a certificate whose bound says something else."""
    bound = {**(one.certificate.bound or {}), **changes}
    found = one.checked(replace(one.certificate, bound=bound)).bound
    assert found is not None
    return found


@pytest.mark.parametrize("name", MODELS)
def test_no_graph_is_cheaper_than_the_result(name: str) -> None:
    found = _bound(made(name))
    assert found.exact
    assert found.cost == found.lower_bound == found.accounted
    assert found.accounted + found.others == len(made(name).result.graph.node)
    assert found.unwritten == 0


@pytest.mark.parametrize("name", ["a scale", "a normalisation", "transposes"])
def test_nor_by_the_prices_of_a_target(name: str) -> None:
    found = _bound(made(name, "ascend"))
    assert found.proved
    assert found.accounted == len(made(name, "ascend").result.graph.node)
    assert found.lines()[0].startswith(f"the graph costs {found.cost:.6g} us (ascend); no graph of this e-")


@pytest.mark.parametrize(
    ("name", "cost"), [("light/light_squeezenet.onnx", "nodes"), ("light/light_squeezenet.onnx", "ascend")]
)
def test_the_bound_of_a_real_model_is_its_cost(name: str, cost: str) -> None:
    path = installed(name)
    result = optimize(path, cost, verify=False, record=True)
    found = check_certificate(path, result.model, result.certificate()).bound
    assert found is not None
    assert found.proved
    assert found.accounted == result.report.nodes.runtime_after
    assert found.cost == pytest.approx(result.report.cost.after)


def test_a_bound_is_left_out_where_that_is_asked_for() -> None:
    model = parser.parse_model(HEAD + MODELS["a scale"])
    result = optimize(model, "nodes", verify=False, record=True)
    certificate = result.certificate(bound_seconds=0)
    assert certificate.bound is None
    found = check_certificate(model, result.model, certificate)
    assert found.bound is None
    assert not any("cheaper" in line for line in found.lines())


def test_without_time_a_bound_is_weaker_and_said_to_be() -> None:
    model = parser.parse_model(HEAD + MODELS["products"])
    result = optimize(model, "nodes", verify=False, record=True)
    certificate = result.certificate(bound_seconds=1e-9)
    found = check_certificate(model, result.model, certificate).bound
    assert found is not None
    assert found.lower_bound <= found.cost
    assert found.proved == (found.lower_bound == found.cost)


def test_a_bound_that_is_raised_is_refused() -> None:
    one = made("a normalisation")
    with pytest.raises(CertificateError, match="the bound is said to be 100, and what is shown is"):
        _bound(one, bound=[100, 1])


def test_a_bound_of_another_version_is_refused() -> None:
    with pytest.raises(CertificateError, match="its bound is of another version"):
        _bound(made("a normalisation"), version=2)


def test_chosen_nodes_are_those_of_the_result() -> None:
    one = made("slices")
    bound = one.certificate.bound
    assert bound is not None
    other = [["none such"], *bound["written"][1:]]
    with pytest.raises(CertificateError, match="no node of the result makes 'none such'"):
        _bound(one, written=other)
    with pytest.raises(CertificateError, match="two chosen nodes make"):
        _bound(one, written=[["y"]] * len(other))
    with pytest.raises(CertificateError, match="does not say which tensors chosen nodes make"):
        _bound(one, written=other[:-1])
    swapped = bound["written"][::-1]
    with pytest.raises(CertificateError, match="read others than what was chosen needs"):
        _bound(one, written=swapped)
    unlinked = _bound(one, written=None)
    assert unlinked.accounted is None
    assert "is not shown" in unlinked.lines()[2]


def test_the_bound_of_another_result_is_refused() -> None:
    one, other = made("slices"), made("products")
    with pytest.raises(CertificateError, match=r"no node of the result makes|none of those"):
        one.checked(replace(one.certificate, bound=other.certificate.bound))


def test_a_dearer_graph_is_not_called_the_cheapest() -> None:
    """The nodes of the model itself, say, of which nothing says that they are the result's."""
    bound = StatedBound.from_json(made("a normalisation").certificate.bound)
    problem = bound.problem
    dear = list(bound.chosen)
    for k, node in enumerate(dear):
        options = problem.options[problem.owner[node]]
        same = [n for n in options if problem.children[n] == problem.children[node]]
        dear[k] = max(same, key=lambda n: problem.cost[n])
    found = check_bound(replace(bound, chosen=tuple(dear), written=None), [])
    assert found.lower_bound == bound.bound
    assert found.proved == (found.cost == found.lower_bound)


def test_a_certificate_without_a_bound_is_read_as_ever() -> None:
    one = made("a scale")
    plain = replace(one.certificate, bound=None)
    content = json.loads(plain.to_json())
    assert content["bound"] is None
    assert Certificate.from_json(plain.to_json()).bound is None


def test_a_bound_is_shown_rounded_down() -> None:
    shown = _bound(made("a scale"))
    weaker = replace(shown, cost=210.9, lower_bound=208.1299999, proved=False, exact=False)
    assert (
        weaker.lines()[0] == "the graph costs 210.9 (nodes); no graph of this e-graph is cheaper than 208.129"
    )
