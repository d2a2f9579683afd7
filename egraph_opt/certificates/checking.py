"""The checker: a certificate followed step by step on the terms of the model and of the result."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from egraph_opt.certificates.certificate import (
    APPLIED,
    BUNDLE,
    MODEL,
    RESULT,
    Certificate,
    ProofStep,
    version_of_project,
)
from egraph_opt.certificates.checked import CheckedCertificate, said_of_reading
from egraph_opt.certificates.checking_bound import CheckedBound, check_bound
from egraph_opt.certificates.closure import operands_first
from egraph_opt.certificates.digests import digest_of_source, digests_of_graph
from egraph_opt.certificates.errors import CertificateError
from egraph_opt.certificates.expansion import expanded
from egraph_opt.certificates.instances import LawInstance, LawTables, StatedRules
from egraph_opt.certificates.knowledge import Knowledge
from egraph_opt.certificates.numbers import ConstantNumbers
from egraph_opt.certificates.reading import ReadAs, ReadModel, folded_leaf, read_terms
from egraph_opt.certificates.stated_bound import StatedBound
from egraph_opt.facts.assumption import Assumption
from egraph_opt.graph.content import default_of, tensor_key
from egraph_opt.imports import onnx_ir as ir
from egraph_opt.laws.law import Law
from egraph_opt.laws.proved import is_proved
from egraph_opt.laws.selection import all_laws
from egraph_opt.model.reading import LoadedModel, ModelSource, read_model
from egraph_opt.operators.expressions import declared_functions
from egraph_opt.operators.stored_values import decode


def check_certificate(
    model: ModelSource, result: ModelSource, certificate: Certificate, *, strict: bool = False
) -> CheckedCertificate:
    """Check that a certificate shows a result to be equal to a model.

    Args:
        strict: refuse what rests on trusted steps.

    Raises:
        CertificateError: it does not; the message names the first thing that differs.
        ModelReadError, InvalidModelError, ExternalDataError: of either model.
    """
    try:
        checker = _Checker(read_model(model, _shapes(certificate)), read_model(result), certificate)
        found = checker.checked()
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise CertificateError(f"not a certificate: {type(error).__name__}: {error}") from error
    if strict and found.trusted:
        raise CertificateError(f"{len(found.trusted)} steps are trusted, the first: {found.trusted[0]}")
    return found


def _shapes(certificate: Certificate) -> Any:
    shapes = certificate.reading["input_shapes"]
    if shapes is None:
        return None
    return {name: sizes if isinstance(sizes, dict) else tuple(sizes) for name, sizes in shapes.items()}


@dataclass
class _Uses:
    laws: Counter[str] = field(default_factory=Counter)
    definitions: int = 0
    folded: int = 0
    expanded: int = 0
    trusted: list[str] = field(default_factory=list)


class _Checker:
    def __init__(self, model: LoadedModel, result: LoadedModel, certificate: Certificate) -> None:
        self._certificate = certificate
        ours, theirs = version_of_project(), certificate.version
        if ours != theirs:
            raise CertificateError(f"it was made by version {theirs} of egraph-opt, and this is {ours}")
        for name, loaded, wanted in (
            ("model", model, certificate.model),
            ("result", result, certificate.result),
        ):
            found = digests_of_graph(loaded)
            if found != wanted:
                others = ", ".join(part for part, digest in found.items() if wanted.get(part) != digest)
                raise CertificateError(
                    f"{loaded.source}: is not the {name} that the certificate is of: it has other {others}"
                )
        if model.opset_imports != result.opset_imports:
            raise CertificateError(f"opsets differ: {model.opset_imports} and {result.opset_imports}")
        _compare_interfaces(model.model.graph, result.model.graph)
        self._knowledge = Knowledge(model.opset_imports.get("", 1))
        self._numbers, self._tables = ConstantNumbers(self._knowledge), LawTables()
        self._models = self._read(model, result)
        self._rules, self._uses = StatedRules(all_laws()), _Uses()
        self._terms: dict[int, int] = {}
        self._checked_sources: set[str] = set()
        self._may_make = False

    def _read(self, model: LoadedModel, result: LoadedModel) -> dict[str, ReadModel]:
        said = self._certificate.reading
        assume = {name: Assumption(*numbers) for name, numbers in said["assume"].items()}
        how = ReadAs(assume, int(said["fold_bytes"]), bool(said["fold_quantized"]))
        how_result = replace(how, believed=False)
        return {
            MODEL: read_terms(model, self._knowledge, self._numbers, how),
            RESULT: read_terms(result, self._knowledge, self._numbers, how_result),
        }

    def checked(self) -> CheckedCertificate:
        for number, step in enumerate(self._certificate.steps):
            try:
                self._take(step, number)
            except CertificateError as error:
                raise CertificateError(f"step {number} ({step.kind} {step.name}): {error}") from error
        model, result = self._models[MODEL], self._models[RESULT]
        for name, other in zip(model.outputs, result.outputs, strict=True):
            if not self._knowledge.same(model.terms[name], result.terms[other]):
                raise CertificateError(f"output {name!r} is not shown to be equal to that of the model")
        uses = self._uses
        return CheckedCertificate(
            nodes=len(result.running),
            steps=len(self._certificate.steps),
            laws=dict(uses.laws),
            definitions=uses.definitions,
            proved=tuple(sorted(name for name in uses.laws if self._is_proved(name))),
            folded=uses.folded,
            expanded=uses.expanded,
            trusted=tuple(uses.trusted),
            bound=self._bound(result),
            assumed=said_of_reading(self._certificate.reading),
            within=self._bounds_of_values(),
        )

    def _bounds_of_values(self) -> dict[str, float]:
        sources = {name: self._rules.source(name) for name in self._uses.laws}
        bounds = {name: source.bound for name, source in sources.items() if isinstance(source, Law)}
        return {name: bound for name, bound in bounds.items() if bound is not None}

    def _bound(self, result: ReadModel) -> CheckedBound | None:
        said = self._certificate.bound
        return None if said is None else check_bound(StatedBound.from_json(said), result.running)

    def _is_proved(self, name: str) -> bool:
        source = self._rules.source(name)
        return isinstance(source, Law) and is_proved(source)

    # --- terms ----------------------------------------------------------------------------------------------

    def _term(self, number: int) -> int:
        """A term that steps speak of, which has to be there by now."""
        described = self._certificate.terms
        for current in operands_first(number, self._terms, self._inner, most=len(described)):
            self._terms[current] = self._resolved(described[current])
        return self._terms[number]

    def _inner(self, number: int) -> list[int]:
        """The numbers of the operands of a term, which are those of earlier ones."""
        described = self._certificate.terms[number]
        if described[0] != APPLIED:
            return []
        function, arguments = described[1], described[2]
        if function not in declared_functions or len(arguments) != len(
            declared_functions[function].parameters
        ):
            raise CertificateError(f"there is no {function} of {len(arguments)} arguments")
        places = self._knowledge.places(function)
        inner = [k for k, operand in zip(arguments, places, strict=True) if operand]
        if any(not 0 <= k < number for k in inner):
            raise CertificateError(f"term {number} is made of later ones")
        return inner

    def _resolved(self, described: Any) -> int:
        kind, name = described[0], described[1]
        if kind == APPLIED:
            places = self._knowledge.places(name)
            given = tuple(
                self._terms[item] if operand else decode(item)
                for item, operand in zip(described[2], places, strict=True)
            )
            found = self._knowledge.find(name, given)
            if found is None and self._may_make:
                found = self._knowledge.add(name, given)
        else:
            read = self._models[kind.removesuffix(BUNDLE)]
            found = (read.bundles if kind.endswith(BUNDLE) else read.terms).get(name)
        if found is None:
            raise CertificateError(
                f"there is no {name} {'of such terms' if kind == APPLIED else f'in the {kind}'}"
            )
        return found

    # --- steps ----------------------------------------------------------------------------------------------

    def _take(self, step: ProofStep, number: int) -> None:
        self._may_make = step.kind == "trusted"
        terms = {name: self._term(k) for name, k in step.terms.items()}
        if step.kind == "law":
            self._law(step, terms, number)
        elif step.kind == "fold":
            self._fold(step, terms["term"], number)
        elif step.kind == "expand":
            self._knowledge.unite(terms["term"], expanded(self._knowledge, terms["term"]), number)
            self._uses.expanded += 1
        elif step.kind == "trusted":
            self._uses.trusted.append(step.name)
            self._knowledge.unite(terms["a"], terms["b"], number)
        else:
            raise CertificateError("there is no such step")
        self._knowledge.settle()

    def _law(self, step: ProofStep, terms: dict[str, int], number: int) -> None:
        rule = self._rules.rule(step.name)
        self._check_text(step.name.split("#")[0])
        values = {**terms, **{name: decode(value) for name, value in step.values.items()}}
        instance = LawInstance(self._knowledge, self._tables, values, self._certificate.limits)
        instance.check_sorts(rule)
        instance.ask(rule)
        instance.conclude(rule, number)
        if isinstance(rule.source, Law):
            self._uses.laws[rule.source.key] += 1
        else:
            self._uses.definitions += 1

    def _check_text(self, name: str) -> None:
        """The text of a law is the one that the certificate was made with."""
        if name in self._checked_sources:
            return
        if self._certificate.laws.get(name) != digest_of_source(self._rules.source(name)):
            raise CertificateError(f"the text of {name} is another one than that of the certificate")
        self._checked_sources.add(name)

    def _fold(self, step: ProofStep, term: int, number: int) -> None:
        """A constant, computed from its operands, is a constant of the result, or one between."""
        self._uses.folded += 1
        if step.name:
            leaf = self._constant_of_result(step.name, term)
        else:
            leaf = folded_leaf(self._knowledge, self._numbers, term)
        self._numbers.forget()
        self._knowledge.unite(term, leaf, number)

    def _constant_of_result(self, name: str, term: int) -> int:
        """The leaf of a constant of the result, which has the elements of a term."""
        leaf = self._models[RESULT].constants.get(name)
        if leaf is None:
            raise CertificateError(f"the result has no constant {name!r}")
        wrong = self._numbers.differ(term, self._numbers.tensors[leaf])
        if wrong:
            raise CertificateError(f"{name!r} is not what its operands give: {wrong}")
        self._numbers.folded(leaf, term)
        return leaf


def _compare_interfaces(model: ir.Graph, result: ir.Graph) -> None:
    """Inputs and outputs have the same names, in the same order, and the same types."""
    for kind, ours, theirs in (
        ("inputs", model.inputs, result.inputs),
        ("outputs", model.outputs, result.outputs),
    ):
        one, two = ([(v.name, str(v.type), str(v.shape)) for v in values] for values in (ours, theirs))
        if one != two:
            differing = next((pair for pair in zip(one, two, strict=False) if pair[0] != pair[1]), (one, two))
            raise CertificateError(f"{kind} differ: {differing[0]} and {differing[1]}")
    for name in (value.name or "" for value in model.inputs):
        defaults = (default_of(graph, name) for graph in (model, result))
        first, second = (None if tensor is None else tensor_key(tensor) for tensor in defaults)
        if first != second:
            raise CertificateError(f"the default of input {name!r} differs")
