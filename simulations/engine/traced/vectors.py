"""Arithmetic on vectors of numbers, one per run, as LLVM instructions.

The functions are those of NumPy, NaN and infinities included; exp, log and log1p are within 2 ulp and
have no branches, so that a vector of runs takes them at once.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir

DOUBLE, INTEGER, BIT = ir.DoubleType(), ir.IntType(64), ir.IntType(1)
_FUSED = ("contract",)
LIBRARY = ("expm1", "tanh", "sin", "cos", "exp2")
"""The functions of the C library, which are called for one run after another."""


class Vectors:
    """Writes instructions on vectors of ``lanes`` numbers, floats, integers or booleans.

    With one lane they are plain numbers, and floats may be of single precision (``narrow``).
    """

    def __init__(
        self, builder: ir.IRBuilder, module: ir.Module, lanes: int, *, narrow: bool = False
    ) -> None:
        self.builder, self.module, self.lanes, self.narrow = builder, module, lanes, narrow
        self.floats, self.integers, self.bits = (
            kind if lanes == 1 else ir.VectorType(kind, lanes)
            for kind in (ir.FloatType() if narrow else DOUBLE, INTEGER, BIT))

    def of(self, kind: str) -> Any:
        """Return the type of a kind of numbers."""
        return {"boolean": self.bits, "integer": self.integers, "float": self.floats}[kind]

    def constant(self, value: float | int | bool, kind: str) -> Any:
        of = self.of(kind)
        number = float(value) if kind == "float" else int(value)
        if kind == "float" and self.narrow:
            number = float(np.float32(number))
        return ir.Constant(of, number if self.lanes == 1 else [number] * self.lanes)

    def fitted(self, x: Any) -> Any:
        """Return a float of either precision as one of this precision."""
        if x.type == self.floats or self.lanes > 1:
            return x
        return (self.builder.fptrunc if self.narrow else self.builder.fpext)(x, self.floats)

    def splat(self, number: Any) -> Any:
        """Return a vector with one number for every run."""
        if self.lanes == 1:
            return number
        kind = ir.VectorType(number.type, self.lanes)
        one = self.builder.insert_element(
            ir.Constant(kind, ir.Undefined), number, ir.IntType(32)(0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), [0] * self.lanes)
        return self.builder.shuffle_vector(one, ir.Constant(kind, ir.Undefined), zeros)

    def apply(self, operation: str, arguments: list[Any], kinds: list[str]) -> Any:
        """Apply one of `graph.NUMPY` to arguments of one kind (in ``where``, all after the first)."""
        if self.narrow and operation in _WIDE:
            wide = Vectors(self.builder, self.module, 1)
            return self.fitted(wide.apply(operation, [wide.fitted(x) for x in arguments], kinds))
        if operation in _INSTRUCTIONS:
            instructions = _INSTRUCTIONS[operation]
            return getattr(self.builder, instructions[kinds[-1] != "float"])(*arguments)
        if operation in _SIGNS:
            x, y = arguments
            return self._compared(_SIGNS[operation], x, y, kinds[-1])
        if operation in _INTRINSICS:
            return self._intrinsic(operation, *arguments)
        if operation in LIBRARY:
            return self._library(operation, *arguments)
        function = getattr(self, f"_{operation}")
        return function(*arguments, kinds[-1]) if operation in _BY_KIND else function(*arguments)

    # Floats, and integers where ``kind`` says so.

    def _absolute(self, x: Any, kind: str) -> Any:
        if kind == "float":
            return self._intrinsic("fabs", x)
        return self.builder.select(self._less(x, self.constant(0, kind), kind), self.builder.neg(x), x)

    def _less(self, x: Any, y: Any, kind: str) -> Any:
        return self._compared("<", x, y, kind)

    def _compared(self, sign: str, x: Any, y: Any, kind: str) -> Any:
        if kind == "float":  # (NaN differs from every number.)
            compare = self.builder.fcmp_unordered if sign == "!=" else self.builder.fcmp_ordered
            return compare(sign, x, y)
        if kind == "integer":
            return self.builder.icmp_signed(sign, x, y)
        return self.builder.icmp_unsigned(sign, x, y)

    def _minimum(self, x: Any, y: Any, kind: str) -> Any:
        smaller = self.builder.select(self._less(x, y, kind), x, y)
        return self._or_nan(x, smaller, kind)

    def _maximum(self, x: Any, y: Any, kind: str) -> Any:
        larger = self.builder.select(self._less(y, x, kind), x, y)
        return self._or_nan(x, larger, kind)

    def _or_nan(self, x: Any, y: Any, kind: str) -> Any:
        return self.builder.select(self._isnan(x), x, y) if kind == "float" else y

    def _sign(self, x: Any, kind: str) -> Any:
        zero, one = self.constant(0, kind), self.constant(1, kind)
        negative = self.builder.select(self._less(x, zero, kind), self.constant(-1, kind), zero)
        return self._or_nan(x, self.builder.select(self._less(zero, x, kind), one, negative), kind)

    def _square(self, x: Any, kind: str) -> Any:
        return self.apply("multiply", [x, x], [kind])

    def _isnan(self, x: Any) -> Any:
        return self.builder.fcmp_unordered("uno", x, x)

    def _isfinite(self, x: Any) -> Any:
        return self.builder.fcmp_ordered("<", self._intrinsic("fabs", x), self._number(math.inf))

    def _isinf(self, x: Any) -> Any:
        return self.builder.fcmp_ordered("==", self._intrinsic("fabs", x), self._number(math.inf))

    def _floor_divide(self, x: Any, y: Any) -> Any:
        quotient = self.builder.sdiv(x, y)
        return self.builder.select(
            self._is_rounded_up(x, y), self.builder.sub(quotient, self.constant(1, "integer")), quotient)

    def _remainder(self, x: Any, y: Any) -> Any:
        rest = self.builder.srem(x, y)
        return self.builder.select(self._is_rounded_up(x, y), self.builder.add(rest, y), rest)

    def _is_rounded_up(self, x: Any, y: Any) -> Any:
        zero = self.constant(0, "integer")
        rest = self.builder.srem(x, y)
        differ = self.builder.icmp_signed("<", self.builder.xor(rest, y), zero)
        return self.builder.and_(self.builder.icmp_signed("!=", rest, zero), differ)

    def _to_float(self, x: Any, kind: str) -> Any:
        if kind == "boolean":
            return self.builder.select(x, self._number(1.0), self._number(0.0))
        return self.builder.sitofp(x, self.floats)

    def _to_integer(self, x: Any, kind: str) -> Any:
        if kind == "boolean":
            return self.builder.zext(x, self.integers)
        return self.builder.fptosi(x, self.integers)

    def _to_boolean(self, x: Any, kind: str) -> Any:
        return self._compared("!=", x, self.constant(0, kind), kind)

    def _single(self, x: Any) -> Any:
        if self.narrow:
            return x
        if self.lanes == 1:
            return self.builder.fpext(self.builder.fptrunc(x, ir.FloatType()), DOUBLE)
        narrow = self.builder.fptrunc(x, ir.VectorType(ir.FloatType(), self.lanes))
        return self.builder.fpext(narrow, self.floats)

    def _intrinsic(self, name: str, x: Any) -> Any:
        size = "32" if self.narrow else "64"
        name = f"llvm.{name}.f{size}" if self.lanes == 1 else f"llvm.{name}.v{self.lanes}f64"
        function = self.module.globals.get(name)
        if function is None:
            function = ir.Function(self.module, ir.FunctionType(self.floats, [self.floats]), name)
        return self.builder.call(function, [x])

    def _library(self, name: str, x: Any) -> Any:
        function = self.module.globals.get(name)
        if function is None:
            function = ir.Function(self.module, ir.FunctionType(DOUBLE, [DOUBLE]), name)
        if self.lanes == 1:
            return self.builder.call(function, [x])
        result = ir.Constant(self.floats, ir.Undefined)
        for lane in range(self.lanes):
            at = ir.IntType(32)(lane)
            value = self.builder.call(function, [self.builder.extract_element(x, at)])
            result = self.builder.insert_element(result, value, at)
        return result

    # Exponential and logarithms.

    def _exp(self, x: Any) -> Any:
        """Write e^x; beyond 600 in two factors, so that it overflows to infinity."""
        c, b = self._number, self.builder
        most = 60.0 if self.narrow else 600.0
        is_large = b.fcmp_ordered(">", x, c(most))
        x = b.select(is_large, self._minimum(b.fsub(x, c(most)), c(most), "float"), x)
        return b.fmul(self.exp_below_600(x), b.select(is_large, c(math.exp(most)), c(1.0)))

    def exp_below_600(self, x: Any) -> Any:
        """Write e^x for x up to 600, within 1.2 ulp, with gradual underflow; NaN for NaN.

        It is 2^n p(r) with n = round(x / log 2), r = x - n log 2 in two parts, and p the polynomial of
        degree 11 that interpolates e^r at Chebyshev nodes: relative error 2e-17. Adding 1.5 2^52 rounds
        to an integer and leaves it in the lowest bits. The scale is 2^(n + 64) and then 2^-64, so that
        subnormal results are rounded once. Odd and even powers apart are half as long a chain.
        """
        if self.narrow:
            return self._narrow_exp(x)
        c, b = self._number, self.builder
        x = b.select(b.fcmp_ordered("<", x, c(-750.0)), c(-750.0), x)
        t = self._fused(x, c(1.4426950408889634), c(6755399441055744.0))
        n = b.fsub(t, c(6755399441055744.0))
        r = self._fused(n, c(-0.693147180369123816490), x)
        r = self._fused(n, c(-1.90821492927058770002e-10), r)
        y = b.fmul(r, r)
        a = self._fused(c(2.510038549551032e-08), y, c(2.7557268459997064e-06))
        d = self._fused(c(2.7620088445409746e-07), y, c(2.4801521295954376e-05))
        for odd, even in (
            (0.00019841269863053618, 0.0013888888917213717),
            (0.008333333333330062, 0.04166666666662413),
            (0.16666666666666669, 0.5000000000000001),
        ):
            a, d = self._fused(a, y, c(odd)), self._fused(d, y, c(even))
        p = b.fadd(self._fused(self._fused(a, r, d), y, r), c(1.0))
        bits = b.add(b.bitcast(t, self.integers), self.constant(1023 + 64, "integer"))
        scale = b.bitcast(b.shl(bits, self.constant(52, "integer")), self.floats)
        return b.fmul(b.fmul(p, scale), c(5.421010862427522e-20))

    def _narrow_exp(self, x: Any) -> Any:
        """Write e^x for x up to 60 by a polynomial of degree 6: relative error 1e-8."""
        c, b = self._number, self.builder
        x = b.select(b.fcmp_ordered("<", x, c(-110.0)), c(-110.0), x)
        t = self._fused(x, c(1.442695041), c(12582912.0))
        n = b.fsub(t, c(12582912.0))
        r = self._fused(n, c(-0.693145751953125), x)
        r = self._fused(n, c(-1.428606765330187e-06), r)
        y = b.fmul(r, r)
        a = self._fused(c(0.008363179052722578), y, c(0.16666576989698775))
        d = self._fused(c(0.0013926183587713494), y, c(0.041666554617204574))
        d = self._fused(d, y, c(0.5))
        p = b.fadd(self._fused(self._fused(a, r, d), y, r), c(1.0))
        word = ir.IntType(32)
        bits = b.shl(b.add(b.bitcast(t, word), word(127 + 32)), word(23))
        return b.fmul(b.fmul(p, b.bitcast(bits, self.floats)), c(2.3283064365386963e-10))

    def _log1p(self, u: Any) -> Any:
        """Write log(1 + u), by fdlibm's method."""
        c, b = self._number, self.builder
        w = b.fadd(c(1.0), u)
        k, m = self._split(w)
        near = b.and_(b.fcmp_ordered("<", u, c(0.41)), b.fcmp_ordered(">", u, c(-0.2929)))
        f = b.select(near, u, b.fsub(m, c(1.0)))
        above = b.fcmp_ordered(">", w, c(2.0))
        lost = b.select(above, b.fsub(c(1.0), b.fsub(w, u)), b.fsub(u, b.fsub(w, c(1.0))))
        lost = b.select(near, c(0.0), b.fdiv(lost, w))
        k = b.select(near, c(0.0), k)
        return self._ends(self._series(f, k, lost), w, u)

    def _log(self, x: Any) -> Any:
        c, b = self._number, self.builder
        tiny = b.fcmp_ordered("<", x, c(2.2250738585072014e-308))
        scaled = b.select(tiny, b.fmul(x, c(2.0**54)), x)
        k, m = self._split(scaled)
        k = b.select(tiny, b.fsub(k, c(54.0)), k)
        return self._ends(self._series(b.fsub(m, c(1.0)), k, c(0.0)), x, x)

    def _log2(self, x: Any) -> Any:
        return self.builder.fmul(self._log(x), self._number(1 / math.log(2)))

    def _log10(self, x: Any) -> Any:
        return self.builder.fmul(self._log(x), self._number(1 / math.log(10)))

    def _split(self, w: Any) -> tuple[Any, Any]:
        """Return (k, m) with 2^k m = w and m in [sqrt(1/2), sqrt 2)."""
        b = self.builder

        def integer(n: int) -> Any:
            return self.constant(n, "integer")

        shifted = b.add(b.bitcast(w, self.integers), integer(0x3FF0000000000000 - 0x3FE6A09E00000000))
        k = b.sub(b.ashr(shifted, integer(52)), integer(1023))
        m = b.add(b.and_(shifted, integer(0xFFFFFFFFFFFFF)), integer(0x3FE6A09E00000000))
        whole = b.bitcast(b.add(k, integer(0x4338000000000000)), self.floats)
        return b.fsub(whole, self._number(6755399441055744.0)), b.bitcast(m, self.floats)

    def _series(self, f: Any, k: Any, lost: Any) -> Any:
        """Write k log 2 + log(1 + f) + lost."""
        c, b = self._number, self.builder
        s = b.fdiv(f, b.fadd(c(2.0), f))
        z = b.fmul(s, s)
        y = b.fmul(z, z)
        odd = self._fused(y, c(0.1531383769920937332), c(0.2222219843214978396))
        odd = b.fmul(y, self._fused(y, odd, c(0.3999999999940941908)))
        even = self._fused(y, c(0.1479819860511658591), c(0.1818357216161805012))
        even = self._fused(y, even, c(0.2857142874366239149))
        even = b.fmul(z, self._fused(y, even, c(0.6666666666666735130)))
        half = b.fmul(b.fmul(c(0.5), f), f)
        low = b.fadd(
            b.fmul(s, b.fadd(half, b.fadd(odd, even))),
            self._fused(k, c(1.90821492927058770002e-10), lost))
        return b.fsub(b.fmul(k, c(0.693147180369123816490)), b.fsub(b.fsub(half, low), f))

    def _ends(self, y: Any, w: Any, x: Any) -> Any:
        """Correct the logarithm y of w at 0, below it, at infinity and NaN; x is the argument given."""
        c, b = self._number, self.builder
        y = b.select(b.fcmp_ordered("==", w, c(0.0)), c(-math.inf), y)
        y = b.select(b.fcmp_ordered("<", w, c(0.0)), c(math.nan), y)
        y = b.select(b.fcmp_ordered("==", w, c(math.inf)), w, y)
        return b.select(self._isnan(x), x, y)

    def _number(self, value: float) -> Any:
        return self.constant(value, "float")

    def _fused(self, x: Any, y: Any, z: Any) -> Any:
        """Write x y + z, rounded once where the processor can."""
        return self.builder.fadd(self.builder.fmul(x, y, flags=_FUSED), z, flags=_FUSED)


_WIDE = frozenset({"log", "log1p", "log2", "log10", *LIBRARY})
"""Functions of floats that are of double precision everywhere."""
_INSTRUCTIONS = {
    "add": ("fadd", "add"), "subtract": ("fsub", "sub"), "multiply": ("fmul", "mul"),
    "negative": ("fneg", "neg"), "divide": ("fdiv", "fdiv"), "where": ("select", "select"),
    "left_shift": ("shl", "shl"), "right_shift": ("ashr", "ashr"), "logical_not": ("not_", "not_"),
} | {f"{prefix}_{name}": (instruction, instruction) for prefix in ("logical", "bitwise")
     for name, instruction in (("and", "and_"), ("or", "or_"), ("xor", "xor"))}
"""The instructions for floats and for other numbers."""
_SIGNS = {"less_equal": "<=", "equal": "==", "not_equal": "!="}
_INTRINSICS = ("sqrt", "floor", "ceil", "trunc", "rint")
_BY_KIND = frozenset({
    "absolute", "less", "minimum", "maximum", "sign", "square", "to_float", "to_integer", "to_boolean"})
OPERATIONS = frozenset(
    name[1:] for name in dir(Vectors)
    if name.startswith("_") and not name.startswith("__")) | {
        *LIBRARY, *_INSTRUCTIONS, *_SIGNS, *_INTRINSICS}
