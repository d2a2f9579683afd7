"""Small models, optimised with a record of what laws did, and their certificates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from onnx import ModelProto, parser

from egraph_opt import optimize
from egraph_opt.certificates.certificate import Certificate
from egraph_opt.certificates.checked import CheckedCertificate
from egraph_opt.certificates.checking import check_certificate

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'

IMAGE = "g (float[1,1,4,4] x) => (float[1,1,4,4] y)"

MODELS = {
    "transposes": """g (float[2,3,4] x) => (float[2,3,4] y) {
        t = Transpose<perm = [0, 2, 1]>(x) r = Relu(t) u = Transpose<perm = [0, 2, 1]>(r) y = Exp(u) }""",
    "a scale": IMAGE
    + "<float[1,1,3,3] w = {1,2,3,4,5,6,7,8,9}, float k = {2}>"
    + "{ c = Conv<pads = [1, 1, 1, 1]>(x, w) y = Mul(c, k) }",
    "a normalisation": IMAGE
    + """<float[1,1,3,3] w = {1,2,3,4,5,6,7,8,9}, float[1] s = {2}, float[1] b = {1},
        float[1] m = {0.5}, float[1] v = {4}>
        { c = Conv<pads = [1, 1, 1, 1]>(x, w) n = BatchNormalization(c, s, b, m, v) y = Relu(n) }""",
    "reshapes": """g (float[2,3,4] x) => (float[24] y) <int64[2] a = {6, 4}, int64[1] b = {24}> {
        r = Reshape(x, a) y = Reshape(r, b) }""",
    "slices": """g (float[4,6] x) => (float[4,3] y, float[4,3] z) <
        int64[1] s = {0}, int64[1] m = {3}, int64[1] e = {6}, int64[1] a = {1}> {
        p = Slice(x, s, m, a) q = Slice(x, m, e, a) y = Relu(p) z = Exp(q) }""",
    "products": """g (float[3,4] x) => (float[3,5] y) <float[4,4] a = {1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7},
        float[4,5] b = {1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2}, float[5] c = {1,2,3,4,5}> {
        p = MatMul(x, a) q = MatMul(p, b) y = Add(q, c) }""",
    "symbols": """g (float[N,4] x) => (float[N,4] y) <float z = {0}> {
        t = Transpose<perm = [1, 0]>(x) u = Transpose<perm = [1, 0]>(t) y = Add(u, z) }""",
}


@dataclass(frozen=True)
class MadeCertificate:
    model: ModelProto
    result: ModelProto
    certificate: Certificate

    def checked(self, certificate: Certificate | None = None) -> CheckedCertificate:
        return check_certificate(self.model, self.result, certificate or self.certificate)


@cache
def made(name: str, cost: str = "nodes") -> MadeCertificate:
    model = parser.parse_model(HEAD + MODELS[name])
    result = optimize(model, cost, verify=False, record=True)
    return MadeCertificate(model, result.model, result.certificate())
