"""A certificate shows a result to be equal to its model, and is refused where anything is changed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from onnx import ModelProto, numpy_helper, parser

from egraph_opt import optimize
from egraph_opt.certificates.certificate import Certificate, ProofStep
from egraph_opt.certificates.checking import check_certificate
from egraph_opt.certificates.digests import digests_of_graph
from egraph_opt.certificates.errors import CertificateError
from egraph_opt.model.reading import read_model
from egraph_opt.pipeline.certifying import NOT_RECORDED
from tests.certificates.made_certificates import HEAD, MODELS, made


@pytest.mark.parametrize("name", MODELS)
def test_a_result_is_shown_to_be_equal_without_trusted_steps(name: str) -> None:
    found = made(name).checked()
    assert found.trusted == ()
    assert found.laws
    assert found.steps == len(made(name).certificate.steps)


@pytest.mark.parametrize("name", ["a scale", "a normalisation", "transposes"])
def test_so_is_that_of_a_target_with_laws_of_its_own(name: str) -> None:
    assert made(name, "ascend").checked().trusted == ()


def test_it_names_the_laws_and_those_that_are_proved() -> None:
    found = made("a scale").checked()
    assert set(found.laws) == {"convolution.scale_after_conv"}
    assert found.folded == 1
    proved = made("reshapes").checked()
    assert proved.proved == ("reshape.compose_reshapes",)
    assert any("proved" in line for line in proved.lines())


def test_what_is_unchanged_needs_no_step() -> None:
    model = parser.parse_model(HEAD + "g (float[3] x) => (float[3] y) { y = Exp(x) }")
    result = optimize(model, "nodes", verify=False)
    found = check_certificate(model, result.model, result.certificate())
    assert (found.steps, found.laws) == (0, {})


def test_without_a_record_there_is_none() -> None:
    model = parser.parse_model(HEAD + MODELS["a scale"])
    with pytest.raises(CertificateError, match="record=True") as error:
        optimize(model, "nodes", verify=False).certificate()
    assert str(error.value) == NOT_RECORDED


def test_a_certificate_is_of_one_model_and_one_result() -> None:
    one, other = made("a scale"), made("a normalisation")
    with pytest.raises(CertificateError, match="is not the model that the certificate is of"):
        check_certificate(other.model, one.result, one.certificate)
    with pytest.raises(CertificateError, match="is not the result that the certificate is of"):
        check_certificate(one.model, other.result, one.certificate)


def test_a_law_of_another_text_is_refused_by_name() -> None:
    one = made("a scale")
    laws = dict(one.certificate.laws)
    laws["convolution.scale_after_conv"] = "0" * 16
    with pytest.raises(CertificateError, match=r"the text of convolution\.scale_after_conv is another one"):
        one.checked(replace(one.certificate, laws=laws))


def _changed(result: ModelProto, factor: float) -> ModelProto:
    """A result whose first constant of floats is another one."""
    answer = ModelProto()
    answer.CopyFrom(result)
    tensor = next(t for t in answer.graph.initializer if t.data_type == 1)
    tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) * np.float32(factor), tensor.name))
    return answer


@pytest.mark.parametrize("name", ["a scale", "a normalisation", "products"])
@pytest.mark.parametrize("factor", [1.001, -1.0, np.inf])
def test_a_changed_weight_is_refused_even_where_the_digest_is_right(name: str, factor: float) -> None:
    one = made(name)
    wrong = _changed(one.result, factor)
    forged = replace(one.certificate, result=digests_of_graph(read_model(wrong)))
    with pytest.raises(CertificateError, match=r"what its operands give|not shown to be equal|there is no"):
        check_certificate(one.model, wrong, forged)


def test_a_changed_node_is_refused_even_where_the_digest_is_right() -> None:
    one = made("a normalisation")
    wrong = ModelProto()
    wrong.CopyFrom(one.result)
    assert wrong.graph.node[-1].op_type == "Relu"
    wrong.graph.node[-1].op_type = "Abs"
    forged = replace(one.certificate, result=digests_of_graph(read_model(wrong)))
    with pytest.raises(CertificateError, match="output 'y' is not shown to be equal"):
        check_certificate(one.model, wrong, forged)


def test_what_a_result_says_of_its_own_types_is_not_believed() -> None:
    """A shape that is declared within the result could make a condition hold."""
    one = made("symbols")
    wrong = ModelProto()
    wrong.CopyFrom(one.result)
    for output in wrong.graph.output:
        output.type.tensor_type.shape.dim[0].dim_value = 7
    forged = replace(one.certificate, result=digests_of_graph(read_model(wrong)))
    with pytest.raises(CertificateError, match="outputs differ"):
        check_certificate(one.model, wrong, forged)


def test_trusted_steps_are_listed_and_refused_where_that_is_asked_for() -> None:
    """A step that says the outputs to be equal, and shows nothing."""
    one = made("a normalisation")
    wrong = ModelProto()
    wrong.CopyFrom(one.result)
    wrong.graph.node[-1].op_type = "Abs"
    forged = replace(
        one.certificate,
        result=digests_of_graph(read_model(wrong)),
        terms=(["model", "y"], ["result", "y"]),
        steps=(ProofStep("trusted", "because", {"a": 0, "b": 1}),),
    )
    assert check_certificate(one.model, wrong, forged).trusted == ("because",)
    with pytest.raises(CertificateError, match="1 steps are trusted, the first: because"):
        check_certificate(one.model, wrong, forged, strict=True)


def test_a_file_is_read_as_it_was_written(tmp_path) -> None:
    one = made("a normalisation")
    for name in ("c.cert", "c.cert.gz"):
        assert Certificate.load(one.certificate.save(tmp_path / name)).to_json() == one.certificate.to_json()
    (tmp_path / "broken").write_text("{}")
    with pytest.raises(CertificateError, match="not a certificate"):
        Certificate.load(tmp_path / "broken")
