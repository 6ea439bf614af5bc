#include "compute_variants.h"

#include <cmath>
#include <cstring>

namespace bulkhead::golden {
namespace {

using Strings = std::vector<std::string>;

/// The register that holds a value of a type, and the values worth trying.
Input inputOf(const std::string& type) {
    if (type == "f16") return {16, Values::f16};
    if (type == "bf16") return {16, Values::bf16};
    if (type == "f16x2") return {32, Values::f16x2};
    if (type == "bf16x2") return {32, Values::bf16x2};
    if (type == "f32" || type == "tf32") return {32, Values::f32};
    if (type == "f64") return {64, Values::f64};
    if (type == "shift") return {32, Values::shift};
    if (type == "field") return {32, Values::field};
    if (type == "small") return {32, Values::small};
    if (type == "small64") return {64, Values::small};
    if (type == "mask") return {32, Values::mask};
    if (type == "sine") return {32, Values::sine};
    if (type == "e4m3x2" || type == "e5m2x2") return {16, Values::e4m3x2};
    if (type == "clamp") return {32, Values::shflClamp};
    if (type == "u16x2" || type == "s16x2") return {32, Values::integer};
    const int bits = std::stoi(type.substr(1));
    // A register cannot be declared 8 bits wide and be computed with; cvt takes the low byte of a wider one.
    return {bits == 8 ? 32u : static_cast<unsigned>(bits), Values::integer};
}

class Table {
  public:
    void add(const std::string& name, const std::string& body, const Strings& inputs,
             const std::vector<unsigned>& outputs, Compare compare = Compare::bits) {
        Variant variant{name, body, {}, outputs, compare};
        for (const std::string& type : inputs) variant.inputs.push_back(inputOf(type));
        list_.push_back(std::move(variant));
    }

    /// `name %o0, %a, %b, ...;`
    void op(const std::string& name, const std::string& result, const Strings& inputs,
            Compare compare = Compare::bits) {
        static const char* const kNames[] = {"%a", "%b", "%c", "%d"};
        std::string body = name + " %o0";
        for (std::size_t i = 0; i < inputs.size(); ++i) body += std::string(", ") + kNames[i];
        body += ";";
        add(name, body, inputs, {inputOf(result).bits}, compare);
        if (inputs.size() != 1 || !isFloat(list_.back().inputs[0].values)) return;
        // There are more edge values than tuples.
        add(name + " of negative values", body, inputs, {inputOf(result).bits}, compare);
        list_.back().negative = true;
    }

    std::vector<Variant> take() { return std::move(list_); }

  private:
    static bool isFloat(Values v) {
        return v == Values::f16 || v == Values::bf16 || v == Values::f32 || v == Values::f64;
    }

    std::vector<Variant> list_;
};

const Strings kIntegers = {"u16", "s16", "u32", "s32", "u64", "s64"};
const Strings kAllIntegers = {"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"};
const Strings kRoundings = {"rn", "rz", "rm", "rp"};
const Strings kIntegerRoundings = {"rni", "rzi", "rmi", "rpi"};
const Strings kOrdered = {"eq", "ne", "lt", "le", "gt", "ge"};
const Strings kFloatCompares = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

unsigned bitsOf(const std::string& type) {
    return inputOf(type).bits;
}

void addInteger(Table& t) {
    for (const std::string& type : kIntegers) {
        for (const char* name : {"add.", "sub.", "mul.lo.", "mul.hi.", "min.", "max.", "div.", "rem."})
            t.op(name + type, type, {type, type});
        for (const char* name : {"mad.lo.", "mad.hi.", "sad."}) t.op(name + type, type, {type, type, type});
    }
    for (const char* type : {"u16", "s16", "u32", "s32"}) {
        const std::string wide = std::string(1, type[0]) + (type[1] == '1' ? "32" : "64");
        t.op(std::string("mul.wide.") + type, wide, {type, type});
        t.op(std::string("mad.wide.") + type, wide, {type, type, wide});
    }
    for (const char* name : {"add.sat.s32", "sub.sat.s32", "min.relu.s32", "max.relu.s32"})
        t.op(name, "s32", {"s32", "s32"});
    t.op("mad.hi.sat.s32", "s32", {"s32", "s32", "s32"});
    t.op("mad24.hi.sat.s32", "s32", {"s32", "s32", "s32"});
    for (const char* type : {"u32", "s32"})
        for (const char* half : {"lo.", "hi."}) {
            t.op(std::string("mul24.") + half + type, type, {type, type});
            t.op(std::string("mad24.") + half + type, type, {type, type, type});
        }
    for (const char* type : {"s16", "s32", "s64"})
        for (const char* name : {"abs.", "neg."}) t.op(std::string(name) + type, type, {type});
    for (const char* name : {"add.u16x2", "add.s16x2", "min.u16x2", "min.s16x2", "max.u16x2", "max.s16x2",
                             "min.relu.s16x2", "max.relu.s16x2"})
        t.op(name, "u16x2", {"u16x2", "u16x2"});

    for (const char* type : {"u32", "s32", "u64", "s64"}) {
        const std::string s = type;
        const unsigned bits = bitsOf(s);
        for (const std::string op : {"add", "sub"})
            t.add(op + ".cc." + s,
                  op + ".cc." + s + " %o0, %a, %b; " + op + "c.cc." + s + " %o1, %c, %d; " + op + "c." + s +
                      " %o2, 7, 3;",
                  {s, s, s, s}, {bits, bits, bits});
        for (const std::string half : {"lo", "hi"})
            t.add("mad." + half + ".cc." + s,
                  "mad." + half + ".cc." + s + " %o0, %a, %b, %c; madc." + half + ".cc." + s +
                      " %o1, %b, %c, %d; madc." + half + "." + s + " %o2, %a, %d, %b;",
                  {s, s, s, s}, {bits, bits, bits});
    }

    for (const char* bits : {"b32", "b64"}) {
        t.op(std::string("popc.") + bits, "u32", {bits});
        t.op(std::string("clz.") + bits, "u32", {bits});
        t.op(std::string("brev.") + bits, bits, {bits});
        t.op(std::string("bfi.") + bits, bits, {bits, bits, "field", "field"});
    }
    for (const char* type : {"u32", "s32", "u64", "s64"}) {
        t.op(std::string("bfind.") + type, "u32", {type});
        t.op(std::string("bfind.shiftamt.") + type, "u32", {type});
        t.op(std::string("bfe.") + type, type, {type, "field", "field"});
    }
    t.add("fns.b32", "and.b32 %r0, %b, 31; shr.s32 %r1, %c, 26; fns.b32 %o0, %a, %r0, %r1;", {"mask", "u32", "s32"},
          {32});
    for (const char* mode : {"clamp", "wrap"}) {
        t.op(std::string("bmsk.") + mode + ".b32", "b32", {"shift", "shift"});
        t.op(std::string("szext.") + mode + ".u32", "u32", {"u32", "shift"});
        t.op(std::string("szext.") + mode + ".s32", "s32", {"s32", "shift"});
    }
    for (const char* a : {"u32", "s32"})
        for (const char* b : {"u32", "s32"}) {
            t.op(std::string("dp4a.") + a + "." + b, "s32", {"u32", "u32", "u32"});
            t.op(std::string("dp2a.lo.") + a + "." + b, "s32", {"u32", "u32", "u32"});
            t.op(std::string("dp2a.hi.") + a + "." + b, "s32", {"u32", "u32", "u32"});
        }
}

void addLogic(Table& t) {
    for (const char* type : {"b16", "b32", "b64"}) {
        for (const char* name : {"and.", "or.", "xor."}) t.op(std::string(name) + type, type, {type, type});
        for (const char* name : {"not.", "cnot.", "mov."}) t.op(std::string(name) + type, type, {type});
        t.op(std::string("shl.") + type, type, {type, "shift"});
        t.op(std::string("shr.") + type, type, {type, "shift"});
    }
    for (const std::string& type : kIntegers) t.op("shr." + type, type, {type, "shift"});
    for (const char* name : {"and", "or", "xor"})
        t.add(std::string(name) + ".pred",
              std::string("setp.lt.u32 %p, %a, 3; setp.gt.u32 %q, %b, 2; ") + name +
                  ".pred %p, %p, %q; not.pred %q, %p; selp.u32 %o0, 1, 0, %p; selp.u32 %o1, 1, 0, %q;",
              {"small", "small"}, {32, 32});
    for (int lut : {0x00, 0x17, 0x2d, 0x80, 0x96, 0xc0, 0xca, 0xe8, 0xf8, 0xfe, 0xff}) {
        const std::string text = std::to_string(lut);
        t.add("lop3.b32 " + text, "lop3.b32 %o0, %a, %b, %c, " + text + ";", {"b32", "b32", "b32"}, {32});
    }
    for (const char* op : {"or", "and"})
        t.add(std::string("lop3.") + op + ".b32",
              std::string("setp.lt.u32 %q, %d, 3; lop3.") + op +
                  ".b32 %o0|%p, %a, %b, %c, 0x80, %q; selp.u32 %o1, 1, 0, %p;",
              {"small", "small", "small", "small"}, {32, 32});
    for (const char* side : {"l", "r"})
        for (const char* mode : {"wrap", "clamp"})
            t.op(std::string("shf.") + side + "." + mode + ".b32", "b32", {"b32", "b32", "shift"});
    t.op("prmt.b32", "b32", {"b32", "b32", "b32"});
    for (const char* mode : {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"})
        t.op(std::string("prmt.b32.") + mode, "b32", {"b32", "b32", "b32"});
    t.add("mov.b64 pack", "mov.b64 %o0, {%a, %b};", {"b32", "b32"}, {64});
    t.add("mov.b64 unpack", "mov.b64 {%o0, %o1}, %a;", {"b64"}, {32, 32});
    t.add("mov.b32 pack", "mov.b32 %o0, {%a, %b};", {"b16", "b16"}, {32});
    t.add("mov.b32 unpack", "mov.b32 {%o0, %o1}, %a;", {"b32"}, {16, 16});
    t.add("mov.b64 unpack4", "mov.b64 {%o0, %o1, %h0, %o2}, %a;", {"b64"}, {16, 16, 16});
    t.add("mov.b64 pack4", "mov.b64 %o0, {%a, %b, %c, %d};", {"b16", "b16", "b16", "b16"}, {64});
}

void addCompare(Table& t) {
    const auto setp = [&](const std::string& type, const Strings& compares, const std::string& ftz,
                          const std::string& operand) {
        // One bit of %o0 for each comparison.
        std::string body = "mov.u32 %o0, 0;";
        int bit = 0;
        for (const std::string& compare : compares)
            body += " setp." + compare + ftz + "." + type + " %p, %a, %b; selp.u32 %r0, " + std::to_string(1 << bit++) +
                    ", 0, %p; or.b32 %o0, %o0, %r0;";
        t.add("setp" + ftz + "." + type, body, {operand, operand}, {32});
    };
    Strings unsignedCompares = kOrdered;
    for (const char* c : {"lo", "ls", "hi", "hs"}) unsignedCompares.push_back(c);
    for (const std::string& type : kIntegers) setp(type, type[0] == 'u' ? unsignedCompares : kOrdered, "", type);
    for (const char* type : {"b16", "b32", "b64"}) setp(type, {"eq", "ne"}, "", type);
    for (const char* type : {"f16", "f32"}) {
        setp(type, kFloatCompares, "", type);
        setp(type, kFloatCompares, ".ftz", type);
    }
    for (const char* type : {"f64", "bf16"}) setp(type, kFloatCompares, "", type);
    for (const char* type : {"f16x2", "f16x2.ftz", "bf16x2"}) {
        const std::string full = type, base = full.substr(0, full.find('.'));
        const std::string ftz = full == base ? "" : ".ftz";
        std::string body = "mov.u32 %o0, 0;";
        int bit = 0;
        for (const std::string& compare : kFloatCompares) {
            body += " setp." + compare + ftz + "." + base + " %p|%q, %a, %b; selp.u32 %r0, " +
                    std::to_string(1 << bit++) + ", 0, %p; or.b32 %o0, %o0, %r0; selp.u32 %r0, ";
            body += std::to_string(1 << bit++) + ", 0, %q; or.b32 %o0, %o0, %r0;";
        }
        t.add("setp" + ftz + "." + base, body, {base, base}, {32});
    }
    for (const std::string logic : {"and", "or", "xor"})
        for (const std::string type : {"s32", "f32"})
            for (const std::string source : {"%q", "!%q"})
                t.add("setp.lt." + logic + "." + type + " " + source,
                      "setp.lt.u32 %q, %c, 4; setp.lt." + logic + "." + type + " %p|%q, %a, %b, " + source +
                          "; selp.u32 %o0, 1, 0, %p; selp.u32 %o1, 1, 0, %q;",
                      {type, type, "small"}, {32, 32});

    for (const std::string logic : {"and", "or", "xor"})
        for (const std::string type : {"f16", "bf16"})
            t.add("setp.lt." + logic + "." + type,
                  "setp.lt.u32 %q, %c, 4; setp.lt." + logic + "." + type + " %p, %a, %b, !%q; selp.u32 %o0, 1, 0, %p;",
                  {type, type, "small"}, {32});

    for (const std::string result : {"u32", "s32", "f32"}) {
        for (const std::string& type : kIntegers) t.op("set.lt." + result + "." + type, result, {type, type});
        for (const std::string type : {"f32", "f64"}) {
            t.op("set.le." + result + "." + type, result, {type, type});
            t.op("set.geu." + result + "." + type, result, {type, type});
        }
        t.op("set.ge.ftz." + result + ".f32", result, {"f32", "f32"});
        t.op("set.hi." + result + ".u32", result, {"u32", "u32"});
        t.op("set.eq." + result + ".b64", result, {"b64", "b64"});
        for (const std::string logic : {"and", "or", "xor"})
            t.add("set.ne." + logic + "." + result + ".s32",
                  "setp.lt.u32 %q, %c, 4; set.ne." + logic + "." + result + ".s32 %o0, %a, %b, !%q;",
                  {"s32", "s32", "small"}, {32});
    }
    for (const std::string result : {"u16", "s16", "u32", "s32", "f16"})
        t.op("set.lt." + result + ".f16", result, {"f16", "f16"});
    for (const std::string result : {"u16", "s16", "u32", "s32", "bf16"})
        t.op("set.lt." + result + ".bf16", result, {"bf16", "bf16"});
    for (const std::string type : {"s32", "u32", "s16", "u16", "s64", "u64", "f32", "f64", "b16", "b32", "b64"})
        t.op("set.eq.f16." + type, "f16", {type, type});
    t.op("set.gtu.f16x2.f16x2", "f16x2", {"f16x2", "f16x2"});
    t.op("set.gt.ftz.f16x2.f16x2", "f16x2", {"f16x2", "f16x2"});
    t.op("set.leu.bf16x2.bf16x2", "bf16x2", {"bf16x2", "bf16x2"});

    for (const std::string type : {"b16", "b32", "b64", "u16", "s16", "u32", "s32", "u64", "s64", "f32", "f64"}) {
        t.add("selp." + type, "setp.lt.u32 %p, %c, 4; selp." + type + " %o0, %a, %b, %p;", {type, type, "small"},
              {bitsOf(type)});
        t.op("slct." + type + ".s32", type, {type, type, "s32"});
        t.op("slct." + type + ".f32", type, {type, type, "f32"});
    }
    t.op("slct.ftz.u32.f32", "u32", {"u32", "u32", "f32"});
    for (const std::string type : {"f32", "f64"}) {
        std::string body = "mov.u32 %o0, 0;";
        int bit = 0;
        for (const char* test : {"finite", "infinite", "number", "notanumber", "normal", "subnormal"})
            body += std::string(" testp.") + test + "." + type + " %p, %a; selp.u32 %r0, " +
                    std::to_string(1 << bit++) + ", 0, %p; or.b32 %o0, %o0, %r0;";
        t.add("testp." + type, body, {type}, {32});
        t.op("copysign." + type, type, {type, type});
    }
}

void addFloat(Table& t) {
    for (const char* name : {"add", "sub", "mul", "fma"}) {
        const bool fma = name[0] == 'f';
        const Strings f32(fma ? 3 : 2, "f32"), f64(fma ? 3 : 2, "f64");
        for (const std::string& rounding : kRoundings) {
            for (const char* ftz : {"", ".ftz"})
                for (const char* sat : {"", ".sat"})
                    t.op(std::string(name) + "." + rounding + ftz + sat + ".f32", "f32", f32);
            t.op(std::string(name) + "." + rounding + ".f64", "f64", f64);
        }
    }
    for (const char* name : {"add.f32", "sub.f32", "mul.f32"}) t.op(name, "f32", {"f32", "f32"});
    for (const char* name : {"add.f64", "sub.f64", "mul.f64"}) t.op(name, "f64", {"f64", "f64"});
    t.op("mad.rn.f32", "f32", {"f32", "f32", "f32"});
    t.op("mad.rz.ftz.sat.f32", "f32", {"f32", "f32", "f32"});
    t.op("mad.rp.f64", "f64", {"f64", "f64", "f64"});
    for (const std::string& rounding : kRoundings) {
        for (const char* ftz : {"", ".ftz"}) {
            t.op("div." + rounding + ftz + ".f32", "f32", {"f32", "f32"});
            t.op("rcp." + rounding + ftz + ".f32", "f32", {"f32"});
            t.op("sqrt." + rounding + ftz + ".f32", "f32", {"f32"});
        }
        t.op("div." + rounding + ".f64", "f64", {"f64", "f64"});
        t.op("rcp." + rounding + ".f64", "f64", {"f64"});
        t.op("sqrt." + rounding + ".f64", "f64", {"f64"});
    }
    for (const char* name : {"min", "max"}) {
        for (const char* ftz : {"", ".ftz"})
            for (const char* nan : {"", ".NaN"})
                for (const char* xorsign : {"", ".xorsign.abs"}) {
                    for (const char* type : {"f32", "f16", "f16x2"})
                        t.op(std::string(name) + ftz + nan + xorsign + "." + type, type, {type, type});
                    if (*ftz) continue;
                    for (const char* type : {"bf16", "bf16x2"})
                        t.op(std::string(name) + nan + xorsign + "." + type, type, {type, type});
                }
        t.op(std::string(name) + ".f64", "f64", {"f64", "f64"});
    }
    for (const char* name : {"abs", "neg"}) {
        for (const char* type : {"f16", "f16x2", "bf16", "bf16x2", "f32", "f64"})
            t.op(std::string(name) + "." + type, type, {type});
        for (const char* type : {"f16", "f16x2", "f32"}) t.op(std::string(name) + ".ftz." + type, type, {type});
    }
    for (const char* name : {"add", "sub", "mul"}) {
        for (const char* type : {"f16", "f16x2"}) {
            for (const char* ftz : {"", ".ftz"})
                for (const char* sat : {"", ".sat"})
                    t.op(std::string(name) + ftz + sat + "." + type, type, {type, type});
            t.op(std::string(name) + ".rn." + type, type, {type, type});
        }
        for (const char* type : {"bf16", "bf16x2"}) t.op(std::string(name) + ".rn." + type, type, {type, type});
    }
    for (const char* type : {"f16", "f16x2"})
        for (const char* ftz : {"", ".ftz"})
            for (const char* sat : {"", ".sat", ".relu"})
                t.op(std::string("fma.rn") + ftz + sat + "." + type, type, {type, type, type});
    for (const char* type : {"bf16", "bf16x2"})
        for (const char* relu : {"", ".relu"})
            t.op(std::string("fma.rn") + relu + "." + type, type, {type, type, type});
}

void addConvert(Table& t) {
    for (const std::string& to : kAllIntegers)
        for (const std::string& from : kAllIntegers) {
            t.op("cvt." + to + "." + from, to, {from});
            // .sat is only legal where a value can fall outside the result's range.
            const int toBits = std::stoi(to.substr(1)), fromBits = std::stoi(from.substr(1));
            const bool fits = to[0] == from[0] ? toBits >= fromBits : to[0] == 's' && toBits > fromBits;
            if (!fits) t.op("cvt.sat." + to + "." + from, to, {from});
        }
    for (const std::string& from : kAllIntegers)
        for (const std::string to : {"f16", "bf16", "f32", "f64"})
            for (const std::string& rounding : kRoundings)
                if (to != "bf16" || from.size() == 3) t.op("cvt." + rounding + "." + to + "." + from, to, {from});
    t.op("cvt.rn.sat.f32.s32", "f32", {"s32"});
    t.op("cvt.rn.sat.f64.s64", "f64", {"s64"});
    t.op("cvt.rn.sat.f16.s32", "f16", {"s32"});
    for (const std::string& to : kAllIntegers)
        for (const std::string from : {"f16", "bf16", "f32", "f64"})
            for (const std::string& rounding : kIntegerRoundings) {
                if (from == "bf16" && to.size() == 2) continue;
                t.op("cvt." + rounding + "." + to + "." + from, to, {from});
                if (from == "f32") t.op("cvt." + rounding + ".ftz." + to + "." + from, to, {from});
                if (rounding == "rni" && from != "bf16")
                    t.op("cvt." + rounding + ".sat." + to + "." + from, to, {from});
            }
    // Narrow results in registers of every allowed width.
    t.add("cvt.s8.s32 b16", "cvt.s8.s32 %o0, %a;", {"s32"}, {16});
    t.add("cvt.s8.s32 b64", "cvt.s8.s32 %o0, %a;", {"s32"}, {64});
    t.add("cvt.s16.s32 b64", "cvt.s16.s32 %o0, %a;", {"s32"}, {64});
    t.add("cvt.s32.s64 b64", "cvt.s32.s64 %o0, %a;", {"s64"}, {64});
    t.add("cvt.u32.u64 b64", "cvt.u32.u64 %o0, %a;", {"u64"}, {64});
    t.add("cvt.s64.s32 from b64", "cvt.s64.s32 %o0, %a;", {"s64"}, {64});
    t.add("cvt.s32.s8 from b64", "cvt.s32.s8 %o0, %a;", {"s64"}, {32});
    t.add("cvt.s32.s8 from b16", "cvt.s32.s8 %o0, %a;", {"s16"}, {32});
    t.add("cvt.u32.u16 from b32", "cvt.u32.u16 %o0, %a;", {"s32"}, {32});
    t.add("cvt.s16.s32 b32", "cvt.s16.s32 %o0, %a;", {"s32"}, {32});
    t.add("cvt.rzi.s8.f32 b16", "cvt.rzi.s8.f32 %o0, %a;", {"f32"}, {16});
    t.add("cvt.rzi.s8.f32 b64", "cvt.rzi.s8.f32 %o0, %a;", {"f32"}, {64});
    t.add("cvt.rn.f32.s32 from b64", "cvt.rn.f32.s32 %o0, %a;", {"s64"}, {32});

    for (const std::string ftz : {"", ".ftz"}) {
        t.op("cvt" + ftz + ".f64.f32", "f64", {"f32"});
        t.op("cvt" + ftz + ".f32.f16", "f32", {"f16"});
        for (const std::string& rounding : kRoundings) {
            t.op("cvt." + rounding + ftz + ".f32.f64", "f32", {"f64"});
            t.op("cvt." + rounding + ftz + ".f16.f32", "f16", {"f32"});
        }
        for (const std::string& rounding : kIntegerRoundings)
            t.op("cvt." + rounding + ftz + ".f32.f32", "f32", {"f32"});
        t.op("cvt.sat" + ftz + ".f32.f32", "f32", {"f32"});
        t.op("cvt.rni.sat" + ftz + ".f32.f32", "f32", {"f32"});
        t.op("cvt" + ftz + ".f32.f32", "f32", {"f32"});
        t.op("cvt.rn.sat" + ftz + ".f32.f64", "f32", {"f64"});
        t.op("cvt.rn.sat" + ftz + ".f16.f32", "f16", {"f32"});
        t.op("cvt.sat" + ftz + ".f32.f16", "f32", {"f16"});
        t.op("cvt.sat" + ftz + ".f64.f32", "f64", {"f32"});
    }
    t.op("cvt.f64.f16", "f64", {"f16"});
    t.op("cvt.f32.bf16", "f32", {"bf16"});
    t.op("cvt.f64.bf16", "f64", {"bf16"});
    t.op("cvt.rn.bf16.f64", "bf16", {"f64"});
    t.op("cvt.rn.bf16.f16", "bf16", {"f16"});
    t.op("cvt.rn.f16.bf16", "f16", {"bf16"});
    t.op("cvt.rz.bf16.f16", "bf16", {"f16"});
    t.op("cvt.f64.f64", "f64", {"f64"});
    t.op("cvt.sat.f64.f64", "f64", {"f64"});
    t.op("cvt.sat.f16.f16", "f16", {"f16"});
    for (const std::string& rounding : kRoundings) t.op("cvt." + rounding + ".f16.f64", "f16", {"f64"});
    for (const std::string& rounding : kIntegerRoundings) {
        t.op("cvt." + rounding + ".f64.f64", "f64", {"f64"});
        t.op("cvt." + rounding + ".f16.f16", "f16", {"f16"});
        t.op("cvt." + rounding + ".bf16.bf16", "bf16", {"bf16"});
    }
    for (const std::string relu : {"", ".relu"})
        for (const std::string rounding : {"rn", "rz"}) {
            t.op("cvt." + rounding + relu + ".bf16.f32", "bf16", {"f32"});
            t.op("cvt." + rounding + relu + ".bf16x2.f32", "bf16x2", {"f32", "f32"});
            t.op("cvt." + rounding + relu + ".f16x2.f32", "f16x2", {"f32", "f32"});
            t.op("cvt." + rounding + relu + ".tf32.f32", "tf32", {"f32"});
            if (!relu.empty()) t.op("cvt." + rounding + relu + ".f16.f32", "f16", {"f32"});
            for (const std::string to : {"f16", "bf16"})
                t.op("cvt." + rounding + relu + ".satfinite." + to + ".f32", to, {"f32"});
            for (const std::string to : {"f16x2", "bf16x2"})
                t.op("cvt." + rounding + relu + ".satfinite." + to + ".f32", to, {"f32", "f32"});
        }
    t.op("cvt.rna.tf32.f32", "tf32", {"f32"});
    t.op("cvt.rna.satfinite.tf32.f32", "tf32", {"f32"});
    for (const std::string f8 : {"e4m3x2", "e5m2x2"})
        for (const std::string relu : {"", ".relu"}) {
            t.op("cvt.rn.satfinite" + relu + "." + f8 + ".f32", f8, {"f32", "f32"});
            t.op("cvt.rn.satfinite" + relu + "." + f8 + ".f16x2", f8, {"f16x2"});
            t.op("cvt.rn" + relu + ".f16x2." + f8, "f16x2", {f8});
        }
    for (const std::string to : {"u16", "s16"}) t.op("cvt.pack.sat." + to + ".s32", "u32", {"s32", "s32"});
    for (const std::string to : {"u8", "s8", "u4", "s4", "u2", "s2"})
        t.op("cvt.pack.sat." + to + ".s32.b32", "u32", {"s32", "s32", "b32"});
}

void addApprox(Table& t) {
    const auto f32 = [&](const std::string& name, const Strings& inputs) {
        t.op(name + ".f32", "f32", inputs, Compare::approx);
        t.op(name + ".ftz.f32", "f32", inputs, Compare::approx);
    };
    for (const char* name : {"rcp.approx", "sqrt.approx", "rsqrt.approx", "ex2.approx", "lg2.approx"})
        f32(name, {"f32"});
    for (const char* name : {"sin.approx", "cos.approx"}) f32(name, {"sine"});
    for (const char* name : {"div.approx", "div.full"}) f32(name, {"f32", "f32"});
    t.op("tanh.approx.f32", "f32", {"f32"}, Compare::approx);
    for (const char* type : {"f16", "f16x2", "bf16", "bf16x2"})
        t.op(std::string("tanh.approx.") + type, type, {type}, Compare::approx);
    for (const char* type : {"f16", "f16x2"}) t.op(std::string("ex2.approx.") + type, type, {type}, Compare::approx);
    for (const char* type : {"bf16", "bf16x2"})
        t.op(std::string("ex2.approx.ftz.") + type, type, {type}, Compare::approx);
    t.op("rcp.approx.ftz.f64", "f64", {"f64"}, Compare::approx);
    t.op("rsqrt.approx.f64", "f64", {"f64"}, Compare::approx);
    t.op("rsqrt.approx.ftz.f64", "f64", {"f64"}, Compare::approx);
}

void addWarp(Table& t) {
    for (const std::string mode : {"up", "down", "bfly", "idx"}) {
        t.add("shfl.sync." + mode, "shfl.sync." + mode + ".b32 %o0|%p, %a, %b, %c, 0xffffffff; selp.u32 %o1, 1, 0, %p;",
              {"b32", "shift", "clamp"}, {32, 32});
        t.add("shfl.sync." + mode + " without p",
              "and.b32 %r0, %b, 7; shfl.sync." + mode + ".b32 %o0, %a, %r0, " + (mode == "up" ? "0" : "31") +
                  ", 0xffffffff;",
              {"b32", "b32"}, {32});
    }
    for (const std::string mode : {"all", "any", "uni"})
        for (const std::string limit : {"0", "6", "8"})
            t.add("vote.sync." + mode + " " + limit,
                  "setp.lt.u32 %p, %a, " + limit + "; vote.sync." + mode +
                      ".pred %q, !%p, 0xffffffff; selp.u32 %o0, 1, 0, %q;",
                  {"small"}, {32});
    t.add("vote.sync.ballot", "setp.lt.u32 %p, %a, 3; vote.sync.ballot.b32 %o0, %p, 0xffffffff;", {"small"}, {32});
    t.add("vote.sync.ballot partial",
          "mov.u32 %o0, 77; setp.lt.u32 %p, %a, 3; mov.u32 %r0, %laneid; setp.lt.u32 %q, %r0, 20; @%q "
          "vote.sync.ballot.b32 %o0, %p, 0xfffff;",
          {"small"}, {32});
    t.add("match.any.sync.b32", "match.any.sync.b32 %o0, %a, 0xffffffff;", {"small"}, {32});
    t.add("match.any.sync.b64", "match.any.sync.b64 %o0, %a, 0xffffffff;", {"small64"}, {32});
    t.add("match.all.sync.b32", "match.all.sync.b32 %o0|%p, %a, 0xffffffff; selp.u32 %o1, 1, 0, %p;", {"small"},
          {32, 32});
    t.add("match.all.sync.b32 same",
          "and.b32 %r0, %a, 0x100; match.all.sync.b32 %o0|%p, %r0, 0xffffffff; selp.u32 %o1, 1, 0, %p;", {"small"},
          {32, 32});
    t.add("match.all.sync.b64", "match.all.sync.b64 %o0|%p, %a, 0xffffffff; selp.u32 %o1, 1, 0, %p;", {"small64"},
          {32, 32});
    for (const std::string op : {"add", "min", "max"})
        for (const std::string type : {"u32", "s32"})
            t.add("redux.sync." + op + "." + type, "redux.sync." + op + "." + type + " %o0, %a, 0xffffffff;", {type},
                  {32});
    for (const std::string op : {"and", "or", "xor"})
        t.add("redux.sync." + op + ".b32", "redux.sync." + op + ".b32 %o0, %a, 0xffffffff;", {"mask"}, {32});
    t.add("redux.sync.add.u32 partial",
          "mov.u32 %o0, 77; mov.u32 %r0, %laneid; setp.ge.u32 %q, %r0, 13; @%q redux.sync.add.u32 %o0, %a, "
          "0xffffe000;",
          {"u32"}, {32});
    t.add("elect.sync", "elect.sync %o0|%p, 0xffffffff; selp.u32 %o1, 1, 0, %p;", {"u32"}, {32, 32});
    t.add("activemask", "activemask.b32 %o0;", {"u32"}, {32});
}

void addVideo(Table& t) {
    for (const std::string type : {"u32", "s32"}) {
        const std::string types = "." + type + "." + type + "." + type;
        for (const std::string op : {"vadd", "vsub", "vabsdiff", "vmin", "vmax"}) {
            t.op(op + types, type, {type, type});
            // What ptxas 13 makes of this one does not saturate, against the manual.
            if (op + type != "vaddu32") t.op(op + types + ".sat", type, {type, type});
            t.op(op + types + ".add", type, {type, type, type});
            for (const std::string lanes : {"2", "4"}) {
                t.op(op + lanes + types, type, {type, type, type});
                t.op(op + lanes + types + ".sat", type, {type, type, type});
                t.op(op + lanes + types + ".add", type, {type, type, type});
            }
        }
        for (const std::string lanes : {"2", "4"}) {
            t.op("vavrg" + lanes + types, type, {type, type, type});
            t.op("vset" + lanes + "." + type + "." + type + ".lt", type, {type, type, type});
            t.op("vset" + lanes + "." + type + "." + type + ".eq.add", type, {type, type, type});
        }
        t.op("vset." + type + "." + type + ".ge", "u32", {type, type});
        t.op("vshl." + type + "." + type + ".u32.clamp", type, {type, "shift"});
        t.op("vshl." + type + "." + type + ".u32.wrap", type, {type, "shift"});
        t.op("vshr." + type + "." + type + ".u32.clamp", type, {type, "shift"});
        t.op("vshr." + type + "." + type + ".u32.wrap", type, {type, "shift"});
    }
}

class Random {
  public:
    explicit Random(const std::string& name) {
        for (char c : name) state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    }
    std::uint64_t next() {  // splitmix64
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    std::uint64_t below(std::uint64_t n) { return next() % n; }

  private:
    std::uint64_t state_ = 0xcbf29ce484222325u;
};

struct Format {
    unsigned bits, mantissa;
    std::uint64_t exponentMask() const { return (std::uint64_t{1} << (bits - 1 - mantissa)) - 1; }
    std::uint64_t bias() const { return exponentMask() >> 1; }
};

/// A float made of its parts; exponent is unbiased.
std::uint64_t makeFloat(const Format& f, bool negative, std::int64_t exponent, std::uint64_t mantissa) {
    const std::uint64_t biased = static_cast<std::uint64_t>(exponent + static_cast<std::int64_t>(f.bias()));
    return std::uint64_t{negative} << (f.bits - 1) | (biased & f.exponentMask()) << f.mantissa |
           (mantissa & ((std::uint64_t{1} << f.mantissa) - 1));
}

std::vector<std::uint64_t> floatEdges(const Format& f) {
    const std::uint64_t top = std::uint64_t{1} << f.mantissa, one = top - 1;
    const std::uint64_t infinity = f.exponentMask() << f.mantissa, sign = std::uint64_t{1} << (f.bits - 1);
    std::vector<std::uint64_t> edges = {
        0,
        1,
        2,
        one,
        one - 1,
        top >> 1,
        top,
        top + 1,  // zero, denormals, the smallest normals
        infinity - 1,
        infinity - 2,
        infinity - top,  // the largest
        infinity,
        infinity + 1,
        infinity + (top >> 1),
        infinity + (top >> 1) + 3,
        infinity + one,  // and NaNs
    };
    const auto push = [&](std::int64_t exponent, std::uint64_t mantissa) {
        if (exponent < static_cast<std::int64_t>(f.bias())) edges.push_back(makeFloat(f, false, exponent, mantissa));
    };
    for (std::int64_t e : {-2, -1, 0, 1, 2}) {
        push(e, 0);
        push(e, 1);
        push(e, top >> 1);
        push(e, one);
    }
    // Around the bounds of the integer types, where conversions saturate or round up.
    for (std::int64_t e : {6, 7, 8, 10, 15, 16, 23, 24, 30, 31, 32, 52, 53, 62, 63, 64}) {
        push(e, 0);
        push(e, 1);
        push(e - 1, one);
        push(e - 1, one & ~(one >> (e < 40 ? (e < 8 ? 7 : 16) : 40)));
        // Half an integer short of the power: a tie between two integers.
        if (e <= static_cast<std::int64_t>(f.mantissa)) push(e - 1, one & ~((top >> e) - 1));
    }
    // Halves between the formats' neighbours, to f32 and f16 from wider ones.
    if (f.mantissa > 10) push(0, top >> 11);
    if (f.mantissa > 10) push(0, (top >> 11) * 3);
    if (f.mantissa > 7) push(0, (top >> 8) * 3);
    if (f.mantissa > 23) push(0, (top >> 24) * 3);
    if (f.bias() > 15)
        for (std::int64_t e : {-14, -15, -24, -25, -26}) push(e, e & 1 ? one : 0);
    if (f.bias() > 127)
        for (std::int64_t e : {-126, -127, -149, -150, -151, 127, 128}) push(e, e & 1 ? one : 1);
    const std::size_t positive = edges.size();
    for (std::size_t i = 0; i < positive; ++i) edges.push_back(edges[i] | sign);
    return edges;
}

const std::vector<std::uint64_t>& edgesOf(const Format& f) {
    static const std::vector<std::uint64_t> half = floatEdges({16, 10}), brain = floatEdges({16, 7}),
                                            single = floatEdges({32, 23}), twice = floatEdges({64, 52});
    if (f.bits == 16) return f.mantissa == 10 ? half : brain;
    return f.bits == 32 ? single : twice;
}

/// Index for valueOf: a value at random, or most likely one of those IEEE 754 treats apart.
constexpr int kAny = -1, kSpecial = -2;
/// Added to an index: the negative edge values.
constexpr int kNegative = 1 << 16;

std::uint64_t floatValue(const Format& f, Random& random, int index) {
    const std::vector<std::uint64_t>& edges = edgesOf(f);
    if (index == kSpecial && random.below(4)) {
        const std::uint64_t top = std::uint64_t{1} << f.mantissa, infinity = f.exponentMask() << f.mantissa;
        const std::uint64_t specials[] = {0,
                                          1,
                                          top - 1,
                                          top,
                                          infinity - 1,
                                          infinity,
                                          infinity,
                                          infinity + 1,
                                          infinity + (top >> 1) + 5,
                                          makeFloat(f, false, 0, 0)};
        const std::uint64_t value = specials[random.below(10)];  // two statements: the draws must not change places
        return value | (random.next() & 1) << (f.bits - 1);
    }
    if (index >= kNegative) index = index - kNegative + static_cast<int>(edges.size() / 2);
    if (index >= 0 && static_cast<std::size_t>(index) < edges.size()) return edges[static_cast<std::size_t>(index)];
    const std::uint64_t pick = random.below(8);
    if (pick < 2) return edges[random.below(edges.size())];
    std::uint64_t mantissa = random.next();
    if (pick & 1) mantissa &= random.next() & random.next();  // few bits set: ties and cancellation
    const bool negative = random.next() & 1;
    if (pick == 2) return makeFloat(f, negative, static_cast<std::int64_t>(random.next()), mantissa);
    const std::int64_t spread = pick == 3 ? 40 : 8;
    return makeFloat(f, negative, static_cast<std::int64_t>(random.below(2 * spread)) - spread, mantissa);
}

std::uint64_t integerValue(unsigned bits, Random& random, int index) {
    const std::uint64_t top = std::uint64_t{1} << (bits - 1), mask = top | (top - 1);
    const std::uint64_t edges[] = {
        0, 1, 2, 3, mask, mask - 1, top, top - 1, top + 1, top - 2, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0x8000, 0xffff,
        0x10000, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, ~std::uint64_t{0x7f}, ~std::uint64_t{0x80},
        ~std::uint64_t{0x7fff}, ~std::uint64_t{0x8000}, ~std::uint64_t{0x7fffffff}, ~std::uint64_t{0x80000000},
        0x555555555555555, 0xff00ff00ff00ff00,
        // Ties and near ties of the float formats' significands.
        0x801, 0x803, 0xfff0, 65519, 65520, 0x1000001, 0x1000003, 0x1ffffff, 0x20000000000001, 0x20000000000003,
        0x7ffffffffffffdff, 0x7ffffffffffffe00, 0xfffffffffffffbff, 0xfffffffffffffc00, 0x8000008000000000,
        0x8000008000000001, 0xffffff7f, 0xffffff80, 0x7fffffbf, 0x7fffffc0};
    constexpr int kEdges = sizeof edges / sizeof edges[0];
    if (index >= 0 && index < kEdges) return edges[index] & mask;
    switch (random.below(6)) {
        case 0:
            return edges[random.below(kEdges)] & mask;
        case 1:
            return random.next() >> random.below(64) & mask;
        case 2:
            return (~std::uint64_t{0} << random.below(64)) & mask;
        case 3:
            return (std::uint64_t{0} - (random.next() >> random.below(64))) & mask;
        default:
            return random.next() & mask;
    }
}

std::uint64_t valueOf(const Input& input, Random& random, int index) {
    const Format half{16, 10}, brain{16, 7};
    switch (input.values) {
        case Values::integer:
            return integerValue(input.bits, random, index);
        case Values::shift: {
            static const std::uint64_t edges[] = {0,   1,   2,   7,          8,          15,        16, 17,
                                                  30,  31,  32,  33,         63,         64,        65, 127,
                                                  128, 255, 256, 0x80000000, 0xffffffff, 0x10000001};
            return random.below(2) ? edges[random.below(sizeof edges / sizeof edges[0])] : random.below(40);
        }
        case Values::field: {
            if (random.below(4)) return random.below(70);
            const std::uint64_t value = random.below(300);
            return value + (random.next() << 30 & 0x80000000u);
        }
        case Values::small:
            return random.below(8);
        case Values::mask: {
            std::uint64_t value = random.next();
            const std::uint64_t pick = random.below(4);
            if (pick == 0) value &= random.next();
            if (pick == 1) value |= random.next();
            if (pick == 2) value = ~std::uint64_t{0} << random.below(32);
            return value & 0xffffffff;
        }
        case Values::f16:
            return floatValue(half, random, index);
        case Values::bf16:
            return floatValue(brain, random, index);
        case Values::f16x2: {
            const std::uint64_t low = floatValue(half, random, index);
            return low | floatValue(half, random, index == kSpecial ? kSpecial : kAny) << 16;
        }
        case Values::bf16x2: {
            const std::uint64_t low = floatValue(brain, random, index);
            return low | floatValue(brain, random, index == kSpecial ? kSpecial : kAny) << 16;
        }
        case Values::f32:
            return floatValue({32, 23}, random, index);
        case Values::f64:
            return floatValue({64, 52}, random, index);
        case Values::sine: {
            if (index >= 96) return floatValue({32, 23}, random, kAny);
            const float value =
                static_cast<float>((static_cast<double>(random.below(1u << 24)) / (1u << 23) - 1) * 6.2831850);
            std::uint32_t bits;
            std::memcpy(&bits, &value, sizeof bits);
            return bits;
        }
        case Values::e4m3x2:
            return (static_cast<std::uint64_t>(index) * 2) | (static_cast<std::uint64_t>(index) * 2 + 1) << 8;
        case Values::shflClamp: {
            static const std::uint64_t edges[] = {0,      31,     0x1c1f, 0x1c00, 0x181f, 0x1800,
                                                  0x101f, 0x1000, 0x1f1f, 7,      0x1807};
            return edges[random.below(sizeof edges / sizeof edges[0])];
        }
    }
    return 0;
}

}  // namespace

const std::vector<Variant>& variants() {
    static const std::vector<Variant> list = [] {
        Table table;
        addInteger(table);
        addLogic(table);
        addCompare(table);
        addFloat(table);
        addConvert(table);
        addApprox(table);
        addWarp(table);
        addVideo(table);
        return table.take();
    }();
    return list;
}

std::vector<std::uint64_t> inputsOf(const Variant& variant) {
    Random random(variant.name);
    std::vector<std::uint64_t> words;
    for (int tuple = 0; tuple < kTuples; ++tuple) {
        std::vector<std::uint64_t> values;
        for (std::size_t i = 0; i < variant.inputs.size(); ++i) {
            // Unary operations walk through the edges in order; others meet them by chance, in every combination.
            const bool walk = variant.inputs.size() == 1 || variant.inputs[i].values == Values::sine;
            const int first = variant.negative ? kNegative : 0;
            values.push_back(valueOf(variant.inputs[i], random, walk ? first + tuple : tuple < 48 ? kSpecial : kAny));
        }
        // Operands close to one another: cancellation, equality, ties.
        const auto is = [&](std::size_t i, Values v) { return i < values.size() && variant.inputs[i].values == v; };
        const std::uint64_t pick = random.below(8);
        const std::uint64_t near = random.below(5) - 2;
        if (values.size() >= 2 && variant.inputs[0].bits == variant.inputs[1].bits &&
            variant.inputs[0].values == variant.inputs[1].values && pick == 0)
            values[1] =
                (values[0] + near) &
                (variant.inputs[0].bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << variant.inputs[0].bits) - 1);
        if (pick < 3 && is(0, Values::f32) && is(1, Values::f32) && is(2, Values::f32)) {
            float a, b;
            const auto a32 = static_cast<std::uint32_t>(values[0]), b32 = static_cast<std::uint32_t>(values[1]);
            std::memcpy(&a, &a32, 4);
            std::memcpy(&b, &b32, 4);
            const volatile float product = -(a * b);
            const float c = product;
            std::uint32_t c32;
            std::memcpy(&c32, &c, 4);
            // A product that is not a number has the host's bits: leave those tuples as they were.
            if (c == c) values[2] = (c32 + near) & 0xffffffff;
        }
        if (pick < 3 && is(0, Values::f64) && is(1, Values::f64) && is(2, Values::f64)) {
            double a, b;
            std::memcpy(&a, &values[0], 8);
            std::memcpy(&b, &values[1], 8);
            const volatile double product = -(a * b);
            const double c = product;
            std::uint64_t c64;
            std::memcpy(&c64, &c, 8);
            if (c == c) values[2] = c64 + near;
        }
        words.insert(words.end(), values.begin(), values.end());
    }
    return words;
}

std::string declarations(const Variant& variant) {
    std::string text = ".reg .pred %p, %q; .reg .b16 %h<4>; .reg .b32 %r<4>; .reg .b64 %l<4>; .reg .f32 %f;\n";
    for (std::size_t i = 0; i < variant.inputs.size(); ++i)
        text += ".reg .b" + std::to_string(variant.inputs[i].bits) + " %" + "abcd"[i] + ";\n";
    for (std::size_t i = 0; i < variant.outputs.size(); ++i)
        text += ".reg .b" + std::to_string(variant.outputs[i]) + " %o" + std::to_string(i) + ";\n";
    return text;
}

std::string moduleOf(const Variant& variant) {
    std::string text =
        ".version 8.3\n.target sm_90\n.address_size 64\n\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n" +
        declarations(variant) +
        ".reg .b64 %in, %out, %at, %word; .reg .b32 %thread;\n"
        "ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\nmov.u32 %thread, %tid.x;\n"
        "mul.wide.u32 %at, %thread, " +
        std::to_string(variant.inputs.size() * 8) + ";\nadd.u64 %in, %in, %at;\nmul.wide.u32 %at, %thread, " +
        std::to_string(variant.outputs.size() * 8) + ";\nadd.u64 %out, %out, %at;\n";
    const auto move = [](const std::string& to, unsigned toBits, const std::string& from, unsigned fromBits) {
        if (toBits == fromBits) return "mov.b64 " + to + ", " + from + ";\n";
        return "cvt.u" + std::to_string(toBits) + ".u" + std::to_string(fromBits) + " " + to + ", " + from + ";\n";
    };
    for (std::size_t i = 0; i < variant.inputs.size(); ++i)
        text += "ld.global.u64 %word, [%in+" + std::to_string(i * 8) + "];\n" +
                move(std::string("%") + "abcd"[i], variant.inputs[i].bits, "%word", 64);
    text += variant.body + "\n";
    for (std::size_t i = 0; i < variant.outputs.size(); ++i)
        text += move("%word", 64, "%o" + std::to_string(i), variant.outputs[i]) + "st.global.u64 [%out+" +
                std::to_string(i * 8) + "], %word;\n";
    return text + "ret;\n}\n";
}

}  // namespace bulkhead::golden
