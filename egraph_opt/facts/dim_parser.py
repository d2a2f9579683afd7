"""Reading the text of a dim: a recursive-descent parser of the grammar in `facts.symbolic`."""

from __future__ import annotations

import re
from functools import lru_cache

from egraph_opt.facts import polynomials as poly
from egraph_opt.facts.polynomials import Poly

_MEMO = 1 << 15
_TOKEN = re.compile(r"\s*(?:(\d+)|([A-Za-z_][A-Za-z0-9_]*)|`((?:[^`]|``)*)`|(\*\*|//|[-+*(),]))")


@lru_cache(_MEMO)
def parse(text: str) -> Poly:
    """The polynomial that a dim's text means; ValueError if the text is not in the grammar."""
    return _Parser(text).whole()


class _Parser:
    """Recursive descent over one text; as deep as the text nests, which its length bounds."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[tuple[str, str]] = []
        position = 0
        end = len(text.rstrip())
        while position < end:
            match = _TOKEN.match(text, position)
            if match is None:
                raise ValueError(f"not a dimension: {text!r}")
            number, name, quoted, sign = match.groups()
            if quoted is not None:
                self._tokens.append(("quoted", quoted.replace("``", "`")))
            elif number is not None:
                self._tokens.append(("number", number))
            else:
                self._tokens.append(("name", name) if name is not None else ("sign", sign))
            position = match.end()
        self._next = 0

    def whole(self) -> Poly:
        result = self._sum()
        if self._next != len(self._tokens):
            raise ValueError(f"not a dimension: {self._text!r}")
        return result

    def _take(self, *signs: str) -> str | None:
        if self._next < len(self._tokens):
            kind, text = self._tokens[self._next]
            if kind == "sign" and text in signs:
                self._next += 1
                return text
        return None

    def _sum(self) -> Poly:
        result = self._product()
        while sign := self._take("+", "-"):
            right = self._product()
            result = poly.add(result, right) if sign == "+" else poly.subtract(result, right)
        return result

    def _product(self) -> Poly:
        result = self._power()
        while sign := self._take("*", "//"):
            right = self._power()
            result = poly.multiply(result, right) if sign == "*" else poly.floor_quotient(result, right)
        return result

    def _power(self) -> Poly:
        if self._take("-"):
            return poly.scale(self._power(), -1)
        base = self._operand()
        if not self._take("**"):
            return base
        result = poly.from_int(1)
        for _ in range(int(self._pop()[1])):
            result = poly.multiply(result, base)
        return result

    def _pop(self) -> tuple[str, str]:
        if self._next >= len(self._tokens):
            raise ValueError(f"not a dimension: {self._text!r}")
        self._next += 1
        return self._tokens[self._next - 1]

    def _operand(self) -> Poly:
        kind, text = self._pop()
        if kind == "number":
            return poly.from_int(int(text))
        if kind == "quoted" or (kind == "name" and text not in ("max", "min")):
            return poly.from_name(text)
        arguments: list[Poly] = []
        if kind == "name" and self._take("(") is None:
            raise ValueError(f"not a dimension: {self._text!r}")
        if kind == "sign" and text != "(":
            raise ValueError(f"not a dimension: {self._text!r}")
        arguments.append(self._sum())
        while kind == "name" and self._take(","):
            arguments.append(self._sum())
        if self._take(")") is None:
            raise ValueError(f"not a dimension: {self._text!r}")
        return poly.extremum(text, arguments) if kind == "name" else arguments[0]
