"""All meanings: importing this declares them."""

from egraph_opt.semantics import casts as casts
from egraph_opt.semantics import computed as computed
from egraph_opt.semantics import folds as folds
from egraph_opt.semantics import gathering as gathering
from egraph_opt.semantics import group_norms as group_norms
from egraph_opt.semantics import kernels as kernels
from egraph_opt.semantics import movement as movement
from egraph_opt.semantics import pointwise as pointwise
from egraph_opt.semantics import quantization as quantization
from egraph_opt.semantics import repeats as repeats
from egraph_opt.semantics import resizing as resizing
from egraph_opt.semantics import windows as windows
