#!/usr/bin/env python3
"""Prints include/bulkhead_sdk/random_jumps.h: how the generators of curand_kernel.h jump ahead.

XORWOW's register of 160 bits is linear over GF(2). Its characteristic polynomial p is found by Berlekamp and Massey's
algorithm; n steps are then x^n mod p, applied to the register (Haramoto, Matsumoto et al., 2008). MRG32k3a's two
recurrences are matrices modulo their primes (L'Ecuyer, 1999).
"""

M1, M2 = 4294967087, 4294944443
A1 = ((0, 1, 0), (0, 0, 1), (-810728 % M1, 1403580, 0))
A2 = ((0, 1, 0), (0, 0, 1), (-1370589 % M2, 0, 527612))


def xorwow_bits(count):
    """The lowest bit of v after each step, from Marsaglia's start."""
    x, y, z, w, v = 123456789, 362436069, 521288629, 88675123, 5783321
    for _ in range(count):
        t = x ^ (x >> 2)
        x, y, z, w = y, z, w, v
        v = (v ^ (v << 4) ^ t ^ (t << 1)) & 0xFFFFFFFF
        yield v & 1


def connection_polynomial(bits):
    """Berlekamp and Massey: the shortest c with sum c_i s_(n-i) = 0; bit i of the number is c_i."""
    c, b, length, since = 1, 1, 0, 1
    history = 0
    for n, bit in enumerate(bits):
        history = history << 1 | bit
        if bin(c & history).count("1") & 1 == 0:
            since += 1
        elif 2 * length <= n:
            c, b, length, since = c ^ (b << since), c, n + 1 - length, 1
        else:
            c, since = c ^ (b << since), since + 1
    return c, length


def times(a, b, p):
    product = 0
    while b:
        if b & 1:
            product ^= a
        b >>= 1
        a <<= 1
        if a >> 160:
            a ^= p
    return product


def matrix_power(a, exponent, m):
    def multiply(x, y):
        return tuple(tuple(sum(x[i][k] * y[k][j] for k in range(3)) % m for j in range(3)) for i in range(3))

    result = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    while exponent:
        if exponent & 1:
            result = multiply(result, a)
        a = multiply(a, a)
        exponent >>= 1
    return result


def show(polynomial):
    return "{" + ", ".join(f"0x{polynomial >> 32 * i & 0xFFFFFFFF:08x}u" for i in range(5)) + "}"


def main():
    c, length = connection_polynomial(xorwow_bits(400))
    assert length == 160
    p = int(bin(c)[2:].zfill(161)[::-1], 2)  # reversed: the characteristic polynomial

    powers = [2]  # x^(2^k)
    for _ in range(67):
        powers.append(times(powers[-1], powers[-1], p))
    print("#pragma once\n")
    print('#include "device.h"\n')
    print("// Written by src/sdk/random_jumps.py.\n")
    print("namespace bulkhead_sdk {\n")
    print("/// x^(2^k) modulo the characteristic polynomial of XORWOW's register, lowest coefficient first.")
    print("static __device__ const unsigned int kXorwowSteps[64][5] = {")
    for k in range(64):
        print(f"    {show(powers[k])},")
    print("};")
    print("/// x^(2^67 * 16^k * (d + 1)), for the number of a sequence in hexadecimal digits.")
    print("static __device__ const unsigned int kXorwowSequences[16][15][5] = {")
    one = powers[67]
    for _ in range(16):
        value = one
        row = []
        for _ in range(15):
            row.append(show(value))
            value = times(value, one, p)
        print("    {" + ",\n     ".join(row) + "},")
        one = value
    print("};\n")
    for name, exponent in (("Subsequence", 76), ("Sequence", 127)):
        print(f"/// 2^{exponent} steps of MRG32k3a's recurrences.")
        for i, (a, m) in enumerate(((A1, M1), (A2, M2))):
            rows = ", ".join("{" + ", ".join(f"{v}u" for v in row) + "}" for row in matrix_power(a, 1 << exponent, m))
            print(f"static __device__ const unsigned int kMrg{name}{i + 1}[3][3] = {{{rows}}};")
    print("\n}  // namespace bulkhead_sdk")


if __name__ == "__main__":
    main()
