#!/usr/bin/env python3
"""Prints the coefficients of include/bulkhead_sdk/math_*.h: minimax polynomials by Remez exchange (needs python3-mpmath).

Each line: name, largest weighted error, coefficients of x^0, x^1, ... rounded to the type. The intervals are rounded a
little differently than when the headers were written, which moves last digits.
"""
import struct

from mpmath import asin, atan, atanh, cos, erf, erfc, exp, fabs, gamma, ln, log, log1p, loggamma, lu_solve, matrix, mp, mpf, pi, sin, sinh, sqrt, tan, tanh

mp.dps = 50


def remez(f, weight, low, high, degree, rounds=12, grid=800):
    """Coefficients c that make the largest |weight * (sum c_i x^i - f)| on [low, high] smallest, and that error."""
    count = degree + 2
    points = [(low + high) / 2 - (high - low) / 2 * cos(pi * (2 * i + 1) / (2 * count)) for i in range(count)]
    xs = [low + (high - low) * i / grid for i in range(grid + 1)]
    wanted, weights = [f(x) for x in xs], [weight(x) for x in xs]
    for _ in range(rounds):
        a, b = matrix(count, count), matrix(count, 1)
        for i, x in enumerate(points):
            for j in range(degree + 1):
                a[i, j] = x ** j
            a[i, count - 1] = (-1) ** i / weight(x)
            b[i] = f(x)
        solution = lu_solve(a, b)
        coefficients = [solution[j] for j in range(degree + 1)]
        errors = [(horner(coefficients, x) - v) * w for x, v, w in zip(xs, wanted, weights)]
        extrema = alternating(errors)
        while len(extrema) > count:
            extrema.pop(0 if fabs(errors[extrema[0]]) < fabs(errors[extrema[-1]]) else -1)
        moved = [xs[i] for i in extrema]
        if len(moved) < count or moved == points:
            break
        points = moved
    return coefficients, max(fabs(e) for e in errors)


def horner(coefficients, x):
    value = mpf(0)
    for c in reversed(coefficients):
        value = value * x + c
    return value


def alternating(errors):
    """Indices of the largest error of each run of one sign."""
    best = []
    for i, error in enumerate(errors):
        if best and errors[best[-1]] * error > 0:
            if fabs(error) > fabs(errors[best[-1]]):
                best[-1] = i
        else:
            best.append(i)
    return best


def show(name, single, f, weight, low, high, degree):
    coefficients, error = remez(f, weight, mpf(low), mpf(high), degree)

    def text(x):
        value = float(x)
        if single:
            value = struct.unpack("f", struct.pack("f", value))[0]
        return value.hex() + ("f" if single else "")

    print(f"{name} 2^{float(log(error, 2)):.1f}:", ", ".join(text(c) for c in coefficients))


def odd_tail(f, first):
    """(f(sqrt z) / sqrt z - 1) / z for an odd f = x + first x^3 + ..., and the weight that makes its error relative to f."""
    return (lambda z: (f(sqrt(z)) / sqrt(z) - 1) / z if z > mpf("1e-9") else first), (lambda z: z + mpf("1e-30"))


def near(limit, f, value):
    return lambda x: f(x) if fabs(x) > limit else value


def near_root(f, factor):
    """f / factor, also where both are 0."""
    def quotient(s):
        if fabs(factor(s)) < mpf("1e-20"):
            return (quotient(s + mpf("1e-15")) + quotient(s - mpf("1e-15"))) / 2
        return f(s) / factor(s)
    return quotient


def erfcx(t):
    x = 4 * (1 + t) / (1 - t)
    return (1 + 2 * x) * exp(x * x) * erfc(x)


def main():
    tiny, ln2, quarter = mpf("1e-30"), ln(mpf(2)), (pi / 4) ** 2 * mpf("1.002")
    half = mpf("0.347")
    third = (-mpf(1) / 3 - mpf("1e-4"), mpf(1) / 3)
    ratio = mpf("0.1717") ** 2
    small = mpf("1e-8")

    for single, degrees in ((True, (4, 3, 2, 8, 4, 4)), (False, (9, 5, 5, 18, 11, 10))):
        kind = "float" if single else "double"
        show(f"{kind} exp", single, near(small, lambda r: (exp(r) - 1 - r) / r ** 2, mpf(1) / 2), lambda r: r * r + tiny, -half, half, degrees[0])
        show(f"{kind} sin", single, *odd_tail(sin, -mpf(1) / 6), 0, quarter, degrees[1])
        show(f"{kind} cos", single, lambda z: (cos(sqrt(z)) - 1 + z / 2) / z ** 2 if z > small else mpf(1) / 24, lambda z: z * z + tiny, 0, quarter, degrees[2])
        show(f"{kind} atan", single, *odd_tail(atan, -mpf(1) / 3), 0, 1, degrees[3])
        show(f"{kind} asin", single, *odd_tail(asin, mpf(1) / 6), 0, mpf("0.25025"), degrees[4])
        show(f"{kind} tanh", single, *odd_tail(tanh, -mpf(1) / 3), 0, mpf("0.55") ** 2, degrees[5])

    show("float exp2", True, near(small, lambda r: (mpf(2) ** r - 1) / r, ln2), lambda r: fabs(r) + tiny, "-0.5005", "0.5005", 5)
    show("float log", True, near(small, lambda f: (log1p(f) - f + f * f / 2) / f ** 3, mpf(1) / 3), lambda f: f * f + tiny, *third, 7)
    for name, base in (("log2", ln2), ("log10", ln(mpf(10)))):
        show(f"float {name}", True, near(small, lambda f: (log1p(f) - f) / base / f ** 2, -1 / (2 * base)), lambda f: fabs(f) + tiny, *third, 8)
    show("float tan", True, *odd_tail(tan, mpf(1) / 3), 0, quarter, 6)
    show("float erf", True, lambda z: erf(sqrt(z)) / sqrt(z) if z > small else 2 / sqrt(pi), lambda z: mpf(1), 0, 1, 6)
    show("float -log erfc", True, lambda x: -log(erfc(x)), erfc, 1, 4, 7)
    scale = 2 / ln2
    show("float artanh", True, lambda z: (scale * atanh(sqrt(z)) / sqrt(z) - scale * (1 + z / 3)) / z ** 2 if z > mpf("1e-7") else scale / 5, lambda z: z * z + tiny, 0, ratio, 2)

    show("double expm1", False, near(mpf("1e-7"), lambda r: (exp(r) - 1 - r - r * r / 2) / r ** 3, mpf(1) / 6), lambda r: r * r + mpf("1e-40"), -half, half, 9)
    show("double log", False, lambda z: (2 * atanh(sqrt(z)) / sqrt(z) - 2) / z if z > mpf("1e-14") else mpf(2) / 3, lambda z: z + tiny, 0, ratio, 6)
    show("double artanh", False, lambda z: (scale * atanh(sqrt(z)) / sqrt(z) - scale * (1 + z / 3 + z * z / 5)) / z ** 3 if z > mpf("1e-7") else scale / 7, lambda z: z ** 3 + mpf("1e-60"), 0, ratio, 7)
    show("double sinh", False, *odd_tail(sinh, mpf(1) / 6), 0, 1, 6)
    show("double erf", False, lambda z: erf(sqrt(z)) / sqrt(z) - 2 / sqrt(pi) if z > small else mpf(0), lambda z: mpf(1), 0, 1, 13)
    show("double gamma", False, lambda s: gamma(s + mpf("1.5")), lambda s: mpf(1), "-0.5", "0.5", 22)
    near_roots = near_root(lambda s: loggamma(s + mpf("1.5")).real, lambda s: s * s - mpf("0.25"))
    show("double lgamma from 1 to 2", False, near_roots, lambda s: 1 / near_roots(s), "-0.5", "0.5", 21)
    near_two = near_root(lambda s: loggamma(s + mpf("2.5")).real, lambda s: s + mpf("0.5"))
    show("double lgamma from 2 to 3", False, near_two, lambda s: 1 / near_two(s), "-0.5", "0.5", 17)
    show("double erfcx", False, erfcx, lambda t: 1 / erfcx(t), "-0.65", "0.76", 20)


if __name__ == "__main__":
    main()
