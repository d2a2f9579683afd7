"""Two models as a reviewer compares them, whoever made them, with laws where a file names them."""

from __future__ import annotations

from collections.abc import Iterable

import onnx_ir as ir

from egraph_opt.graph.differences import Differences, GraphDifference, differences
from egraph_opt.graph.node_counts import nodes_of
from egraph_opt.laws.law import registered
from egraph_opt.laws.selection import all_laws
from egraph_opt.model.provenance import provenance_of
from egraph_opt.report.constant_changes import constant_lines, weights_of
from egraph_opt.report.diff_view import diff_view
from egraph_opt.report.explanation import ExplainedDifference, Explanation, LawOfDifference, NodeLine
from egraph_opt.report.html import html_page
from egraph_opt.report.interface_differences import interface_differences
from egraph_opt.report.node_text import node_text


def compared(before: ir.Model, after: ir.Model) -> Explanation:
    """Where two models differ; what they have in common is found by names and by what is computed.

    Costs are numbers of nodes.  The laws are those that the file of the result names (see
    `model.provenance`); there are none in results of other tools.
    """
    return _explanation_of(before, after, differences(before, after))


def compared_page(title: str, before: ir.Model, after: ir.Model) -> str:
    """The same as an HTML page."""
    found = differences(before, after)
    explanation = _explanation_of(before, after, found)
    laws = {node: line for node in after.graph if (line := _line(node).law)}
    view = diff_view(before.graph, after.graph, found, range(len(found.found)), laws)
    return html_page(title, explanation, view)


def _explanation_of(before: ir.Model, after: ir.Model, found: Differences) -> Explanation:
    all_laws()  # for their formulas
    one, other = nodes_of(before), nodes_of(after)
    around = interface_differences(before, after, found)
    count = len(found.found) + len(around)
    headline = (
        f"{one.file:,} -> {other.file:,} nodes, {one.runtime:,} -> {other.runtime:,} at run time;"
        f" {count:,} {'difference' if count == 1 else 'differences'}"
    )
    shown = tuple(map(_explained, found.found))
    known = any(entry.laws for entry in shown)
    return Explanation("nodes", "nodes", headline, shown, len(found.kept), knows_laws=known, around=around)


def _explained(difference: GraphDifference) -> ExplainedDifference:
    return ExplainedDifference(
        difference.within,
        difference.gives,
        tuple(map(_line, difference.before)),
        tuple(map(_line, difference.after)),
        constant_lines(difference.before, difference.after),
        tuple(_laws(difference.after)),
        float(len(difference.before)),
        float(len(difference.after)),
        outputs=difference.outputs,
        weights=weights_of((*difference.before, *difference.after)),
    )


def _line(node: ir.Node) -> NodeLine:
    said = provenance_of(node.metadata_props)
    law = said.laws[0] if said is not None and said.laws else ""
    tensors = tuple(value.name for value in node.outputs if value.name)
    return NodeLine(node.name or "", tensors, node_text(node), law, 1.0)


def _laws(nodes: Iterable[ir.Node]) -> list[LawOfDifference]:
    """The laws that nodes say they were written by."""
    keys: dict[str, None] = {}
    for node in nodes:
        said = provenance_of(node.metadata_props)
        keys.update(dict.fromkeys(said.laws if said is not None else ()))
    return [
        LawOfDifference(key, " ".join(registered[key].formula.split()) if key in registered else "", True)
        for key in keys
    ]
