#!/usr/bin/env python3
"""Writes a CUDA program of random types, layouts and conversions: `generate_layouts.py SEED FUNCTIONS`.

Every function is compiled for host and device, works on structs by value, by reference, through arrays, bases,
conditions and loops, and returns a hash of what it saw. The program runs each on both and prints those that differ.
Values are small, so that no conversion overflows and every float is exact.
"""

import random
import sys

INTEGERS = ["bool", "signed char", "unsigned char", "short", "unsigned short", "int", "unsigned int", "long long",
            "unsigned long long"]
SMALL = ["bool", "signed char", "short", "unsigned short", "int", "int", "float"]
SCALARS = INTEGERS + ["float", "double"]

BEGINNING = """
#include <cstdio>
#define BOTH __host__ __device__
typedef unsigned long long Hash;

BOTH inline unsigned next(unsigned& state) {
    state = state * 1664525u + 1013904223u;
    return state >> 24 & 63u;
}
BOTH inline void mix(Hash& hash, Hash value) { hash = (hash ^ value) * 1099511628211ull; }
template <class T>
BOTH void mixScalar(Hash& hash, T value) { mix(hash, (Hash)(long long)value); }
template <class T>
BOTH T smaller(T a, T b) { return a.key() < b.key() ? a : b; }
template <class T>
BOTH const T& larger(const T& a, const T& b) { return b.key() < a.key() ? a : b; }
template <class T>
BOTH __attribute__((noinline)) T apart(T a, bool other, T b) { return other ? b : a; }
template <class T>
BOTH T made(unsigned& state) { return T(state); }
template <class T>
BOTH __attribute__((noinline)) T madeApart(unsigned& state) { return T(state); }
"""


class Struct:
    """Members that are scalars, arrays, bit fields or structs written before, and perhaps a base."""

    def __init__(self, random, index, earlier):
        self.name = f"S{index}"
        self.base = random.choice(earlier) if earlier and random.random() < 0.2 else None
        self.aligned = random.choice([8, 16]) if random.random() < 0.1 else 0
        self.copies = random.random() < 0.3
        self.members = []
        if random.random() < 0.4:  # what a register holds, often with padding behind
            self.base, self.aligned = None, 0
            self.members = [("scalar", f"m{i}", random.choice(SMALL), 0) for i in range(2)]
            return
        for i in range(random.randint(1, 5)):
            name, kind = f"m{i}", random.random()
            if earlier and kind < 0.15:
                self.members.append(("struct", name, random.choice(earlier).name, 0))
            elif kind < 0.3:
                self.members.append(("array", name, random.choice(SCALARS), random.randint(1, 4)))
            elif kind < 0.4:
                self.members.append(("bits", name, "unsigned int", random.randint(1, 9)))
            else:
                self.members.append(("scalar", name, random.choice(SCALARS), 0))

    def text(self):
        each = [self.member_text(*member) for member in self.members]
        declare, fill, hashing, copying = ("\n".join(part) for part in zip(*each))
        parts = [("", self.base.name)] if self.base else []
        parts += [(name, name) for kind, name, _, _ in self.members if kind == "struct"]
        filled = ", ".join(f"{name}(state)" for _, name in parts)
        copied = ", ".join(f"{name}(o{'.' if member else ''}{member})" for member, name in parts)
        copy = ""
        if self.copies:
            copy = f"""    BOTH {self.name}(const {self.name}& o){" : " * bool(copied)}{copied} {{
{copying}
    }}
    {self.name}& operator=(const {self.name}&) = default;
"""
        return f"""
struct {f"alignas({self.aligned}) " if self.aligned else ""}{self.name}{f" : {self.base.name}" if self.base else ""} {{
{declare}
    BOTH explicit {self.name}(unsigned& state){" : " * bool(filled)}{filled} {{
{fill}
    }}
{copy}    BOTH void hashed(Hash& hash) const {{
{f"        {self.base.name}::hashed(hash);" if self.base else ""}
{hashing}
    }}
    BOTH Hash key() const {{
        Hash hash = 7;
        hashed(hash);
        return hash;
    }}
}};
"""

    @staticmethod
    def member_text(kind, name, type_, size):
        value = f"({type_})(next(state) & {(1 << size) - 1 if kind == 'bits' else 1 if type_ == 'bool' else 63}u)"
        if kind == "struct":
            return f"    {type_} {name};", "", f"        {name}.hashed(hash);", ""
        if kind == "array":
            loop = f"        for (int i = 0; i < {size}; ++i)"
            return (f"    {type_} {name}[{size}];", f"{loop} {name}[i] = {value};",
                    f"{loop} mixScalar(hash, {name}[i]);", f"{loop} {name}[i] = o.{name}[i];")
        if kind == "bits":
            return (f"    {type_} {name} : {size};", f"        {name} = {value};",
                    f"        mixScalar(hash, (unsigned int){name});", f"        {name} = o.{name};")
        return (f"    {type_} {name};", f"        {name} = {value};", f"        mixScalar(hash, {name});",
                f"        {name} = o.{name};")


def function_text(random, index, structs):
    """Variables of one struct, changed by random statements; conversions between scalars beside."""
    type_ = random.choice(structs).name
    count = random.randint(2, 4)
    maker = lambda: f"{random.choice(['made', 'madeApart'])}<{type_}>(state)"
    variable = lambda: f"v{random.randrange(count)}"
    lines = [f"    {type_} v{i} = {maker()};" for i in range(count)]

    def value():
        return random.choice([
            lambda: variable(), lambda: maker(),
            lambda: f"smaller({variable()}, {variable()})", lambda: f"smaller({maker()}, {maker()})",
            lambda: f"larger({variable()}, {variable()})",
            lambda: f"apart({variable()}, {variable()}.key() & 1, {variable()})",
            lambda: f"({variable()}.key() < {variable()}.key() ? {variable()} : {variable()})"])()

    for i in range(random.randint(3, 8)):
        kind = random.randrange(5)
        if kind == 0:
            lines.append(f"    if (next(state) & 1) {variable()} = {value()};")
        elif kind == 1:
            lines.append(f"    for (unsigned i = 0, n = next(state) & 3; i < n; ++i) {variable()} = {value()};")
        elif kind == 2:
            lines.append(f"    {type_} a{i}[3] = {{{value()}, {value()}, {value()}}};")
            lines.append(f"    {variable()} = a{i}[next(state) % 3];")
        elif kind == 3:
            path = [random.choice(SCALARS) for _ in range(random.randint(2, 5))]
            text = f"next(state){' & 1' if 'bool' in path else ''}"
            for step in path:
                text = f"({step})({text})"
            lines.append(f"    mixScalar(hash, {text});")
        else:
            lines.append(f"    {variable()} = {value()};")
    lines += [f"    v{i}.hashed(hash);" for i in range(count)]
    body = "\n".join(lines)
    return f"""
BOTH Hash f{index}(unsigned state) {{
    Hash hash = 14695981039346656037ull;
{body}
    return hash;
}}
__global__ void k{index}(Hash* out, unsigned seed) {{ out[threadIdx.x] = f{index}(seed + threadIdx.x); }}
"""


def main():
    seed, functions = int(sys.argv[1]), int(sys.argv[2])
    chance = random.Random(seed)
    structs = []
    for i in range(max(functions // 2, 1)):
        structs.append(Struct(chance, i, structs[-3:]))
    print(BEGINNING)
    for struct in structs:
        print(struct.text())
    for i in range(functions):
        print(function_text(chance, i, structs))
    print("int main() {\n    Hash* out;\n    cudaMallocManaged(&out, 32 * sizeof(Hash));\n    int wrong = 0;")
    for i in range(functions):
        print(f"    k{i}<<<1, 32>>>(out, {i}u);\n    cudaDeviceSynchronize();\n"
              f"    for (unsigned t = 0; t < 32; ++t)\n        if (out[t] != f{i}({i}u + t)) {{\n"
              f"            printf(\"f{i} differs for %u\\n\", {i}u + t);\n            ++wrong;\n            break;\n        }}")
    print(f"    printf(\"%d of {functions} differ\\n\", wrong);\n    return wrong != 0 || cudaGetLastError() != cudaSuccess;\n}}")


main()
