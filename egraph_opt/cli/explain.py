"""`egraph-opt explain`: what was done to a model and by which laws, or what became of one law."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from egraph_opt.cli.application import (
    CostOption,
    JsonOption,
    LoadOption,
    RewritesOption,
    SetOption,
    app,
    errors_as_lines,
    names_of,
    target_of,
    tell,
    tell_json,
)
from egraph_opt.cli.options import (
    AssumeOption,
    ExactnessOption,
    ExtractorOption,
    FoldQuantizedOption,
    InputShapeOption,
    LawsOption,
    LimitMemoryOption,
    LimitNodesOption,
    LimitSecondsOption,
    MemoryLimitOption,
    ObjectiveOption,
    OpsetOption,
    SeedOption,
    SizesOption,
    assumptions_of,
    input_shapes_of,
    limits_of,
    objective_of,
    sizes_of,
)
from egraph_opt.cost import DEFAULT_COST

if TYPE_CHECKING:
    from egraph_opt.report.explanation import Explanation
    from egraph_opt.report.law_answer import LawAnswer


@app.command(no_args_is_help=True)
def explain(
    source: Annotated[Path, typer.Argument(metavar="MODEL", help="The model.", show_default=False)],
    node: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only what this node or tensor is part of.")
    ] = None,
    law: Annotated[
        str | None,
        typer.Option(metavar="RULESET.NAME", help="What became of this law, and why it did not match."),
    ] = None,
    at: Annotated[
        str | None, typer.Option(metavar="NAME", help="With --law: at this tensor or node only.")
    ] = None,
    cost: CostOption = DEFAULT_COST,
    set_: SetOption = None,
    rewrites: RewritesOption = None,
    exactness: ExactnessOption = "real",
    laws: LawsOption = "all",
    load: LoadOption = None,
    objective: ObjectiveOption = "cost",
    memory_limit: MemoryLimitOption = None,
    extractor: ExtractorOption = "auto",
    limit_nodes: LimitNodesOption = None,
    limit_seconds: LimitSecondsOption = None,
    limit_memory: LimitMemoryOption = None,
    fold_quantized: FoldQuantizedOption = False,
    assume: AssumeOption = None,
    input_shape: InputShapeOption = None,
    sizes: SizesOption = None,
    opset: OpsetOption = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Show where the result differs from the model, by which laws, and what that saves.

    The options are those of `optimize`: with the same ones it is the same result.
    """
    if at is not None and law is None:
        raise typer.BadParameter("is for --law", param_hint="--at")
    if node is not None and law is not None:
        raise typer.BadParameter("say --at NAME with --law", param_hint="--node")
    choice = {"--objective": objective != "cost", "--memory-limit": memory_limit, "--sizes": sizes}
    for option, given in choice.items():
        if law is not None and given:
            raise typer.BadParameter("is not for --law: it decides between graphs", param_hint=option)
    names, assumptions = names_of(rewrites), assumptions_of(assume)
    with errors_as_lines():
        wanted = objective_of(objective, memory_limit)
        shapes, several = input_shapes_of(input_shape), sizes_of(sizes)
        model = target_of(cost, set_, load)
        from egraph_opt.laws.exactness import exactness_named
        from egraph_opt.pipeline.law_questions import law_named
        from egraph_opt.pipeline.size_points import check_sizes
        from egraph_opt.pipeline.stages import saturate

        if law is not None:
            law_named(law)  # before the work
        check_sizes(several)
        saturated = saturate(
            source,
            rewrites=names,
            exactness=exactness_named(exactness),
            laws=laws,  # type: ignore[arg-type]  # said where it is none
            limits=limits_of(limit_nodes, limit_seconds, limit_memory, fold_quantized),
            target=model,
            assume=assumptions,
            input_shapes=shapes,
            opset=opset,
        )
        found: Explanation | LawAnswer
        if law is not None:
            found = saturated.explain_law(law, model, at)
        else:
            found = saturated.extract(
                model,
                extractor=extractor,
                objective=wanted,
                verify=False,
                seed=seed,
                restarts=True,
                sizes=several,
            ).explain(node)
    if as_json:
        tell_json(asdict(found), default=str)
        return
    for line in found.lines():
        tell(line)
