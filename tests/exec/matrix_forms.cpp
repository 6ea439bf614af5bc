#include "matrix_forms.h"

#include <algorithm>

namespace bulkhead::golden {

unsigned bitsOf(Element element) {
    switch (element) {
        case Element::f64:
            return 64;
        case Element::f16:
        case Element::bf16:
            return 16;
        case Element::e4m3:
        case Element::e5m2:
            return 8;
        default:
            return 32;
    }
}

std::uint64_t hashOf(const std::uint8_t* bytes, std::size_t count) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (std::size_t i = 0; i < count; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

namespace {

/// splitmix64.
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        return z ^ z >> 31;
    }
    std::uint64_t below(std::uint64_t n) { return next() % n; }
    bool oneIn(std::uint64_t n) { return below(n) == 0; }

  private:
    std::uint64_t state_;
};

struct Format {
    unsigned exponentBits, mantissaBits;
    bool hasInfinity = true;
};
Format formatOf(Element element) {
    switch (element) {
        case Element::f64:
            return {11, 52};
        case Element::tf32:
            return {8, 23};  // the low 13 bits are there and are not read
        case Element::f16:
            return {5, 10};
        case Element::bf16:
            return {8, 7};
        case Element::e4m3:
            return {4, 3, false};
        case Element::e5m2:
            return {5, 2};
        default:
            return {8, 23};
    }
}

/// What the values of a case are like.
enum class Values : std::uint8_t {
    near,     ///< of one size
    medium,   ///< over 24 powers of two
    wide,     ///< any finite number
    powers,   ///< powers of two
    any,      ///< any pattern, infinities and NaNs among them
    tiny,     ///< denormals and the smallest normal numbers
    sparse,   ///< mostly zeros
    special,  ///< mostly zeros, infinities, NaNs and the ends of the range
    cancel,   ///< few values, so that products cancel
    faint,    ///< accumulators far larger or far smaller than products
    kinds
};
constexpr unsigned kKinds = static_cast<unsigned>(Values::kinds), kCasesOfAKind = 4;

std::uint64_t assemble(const Format& f, bool sign, std::int64_t exponent, std::uint64_t mantissa) {
    const std::int64_t bias = (std::int64_t{1} << (f.exponentBits - 1)) - 1;
    const std::int64_t most = (std::int64_t{1} << f.exponentBits) - (f.hasInfinity ? 2 : 1);
    const auto field = static_cast<std::uint64_t>(std::clamp<std::int64_t>(exponent + bias, 0, most));
    mantissa &= (std::uint64_t{1} << f.mantissaBits) - 1;
    if (!f.hasInfinity && field == static_cast<std::uint64_t>(most) &&
        mantissa + 1 == std::uint64_t{1} << f.mantissaBits)
        mantissa = 0;
    return std::uint64_t{sign} << (f.exponentBits + f.mantissaBits) | field << f.mantissaBits | mantissa;
}

std::uint64_t special(const Format& f, Random& random) {
    const std::uint64_t sign = random.below(2) << (f.exponentBits + f.mantissaBits);
    const std::uint64_t one = std::uint64_t{1} << f.mantissaBits,
                        infinity = ((std::uint64_t{1} << f.exponentBits) - 1) * one;
    switch (random.below(8)) {
        case 0:
        case 1:
            return sign;
        case 2:
            return sign | infinity;
        case 3:
            return sign | infinity | (one - 1);
        case 4:
            return sign | (infinity - 1);
        case 5:
            return sign | one;
        case 6:
            return sign | 1;
        default:
            return assemble(f, sign != 0, 0, 0);
    }
}

std::uint64_t valueOf(Element element, Values values, bool isAccumulator, Random& random) {
    const unsigned bits = bitsOf(element);
    const std::uint64_t all = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    const std::uint64_t pattern = random.next() & all;
    if (element == Element::bits) return pattern;
    if (element == Element::s32) {
        // Near both ends now and then, where sums overflow.
        const std::uint64_t near = random.below(100'000);
        switch (random.below(4)) {
            case 0:
                return 0x7fffffff - near;
            case 1:
                return 0x80000000 + near;
            case 2:
                return near;
            default:
                return pattern;
        }
    }
    const Format f = formatOf(element);
    const bool sign = random.below(2) != 0;
    const auto between = [&](std::int64_t low, std::int64_t high) {
        return low + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(high - low + 1)));
    };
    const std::int64_t bias = (std::int64_t{1} << (f.exponentBits - 1)) - 1;
    const std::uint64_t mantissa = random.next();
    switch (values) {
        case Values::near:
            return assemble(f, sign, between(-2, 2), mantissa);
        case Values::medium:
            return assemble(f, sign, between(-12, 12), mantissa);
        case Values::wide:
            return assemble(f, sign, between(-bias, bias), mantissa);
        case Values::powers:
            return assemble(f, sign, between(isAccumulator ? -30 : -15, isAccumulator ? 30 : 15), 0);
        case Values::tiny:
            return assemble(f, sign, isAccumulator ? between(-2 * bias, -bias + 3) : between(-bias, -bias + 8),
                            mantissa);
        case Values::sparse:
            return random.oneIn(5) ? assemble(f, sign, between(-14, 14), mantissa) : 0;
        case Values::special:
            return random.oneIn(4) ? assemble(f, sign, between(-3, 3), mantissa) : special(f, random);
        case Values::cancel: {
            const bool isOdd = random.oneIn(8);
            return assemble(f, sign, between(0, 1) * 7, isOdd ? mantissa : 0);
        }
        case Values::faint:
            return isAccumulator ? assemble(f, sign, between(-34, 34), mantissa)
                                 : assemble(f, sign, between(-1, 1), mantissa);
        default:
            return pattern;
    }
}

unsigned registerBytes(const Group& g) {
    return g.element == Element::f64 ? 8 : 4;
}

std::string list(const std::string& prefix, unsigned count) {
    std::string text = "{";
    for (unsigned i = 0; i < count; ++i) text += (i ? ", " : "") + prefix + std::to_string(i);
    return text + "}";
}
std::string input(unsigned group, const MatrixForm& form) {
    return list("%i" + std::to_string(group) + "_", form.inputs[group].registers);
}

Element elementOf(const std::string& type) {
    if (type == "f64") return Element::f64;
    if (type == "f32") return Element::f32;
    if (type == "tf32") return Element::tf32;
    if (type == "f16") return Element::f16;
    if (type == "bf16") return Element::bf16;
    if (type == "e4m3") return Element::e4m3;
    if (type == "e5m2") return Element::e5m2;
    if (type == "s32") return Element::s32;
    return Element::bits;
}
/// As PTX has them, also those that are patterns here.
unsigned widthOf(const std::string& type) {
    if (type == "s8" || type == "u8") return 8;
    if (type == "s4" || type == "u4") return 4;
    if (type == "b1") return 1;
    return bitsOf(elementOf(type));
}

struct Shape {
    unsigned m, n, k;
    std::string name() const { return "m" + std::to_string(m) + "n" + std::to_string(n) + "k" + std::to_string(k); }
};

/// Registers of a thread that hold so many elements, shared out among the lanes.
Group fragment(unsigned elements, const std::string& type, unsigned lanes = 32) {
    const unsigned width = widthOf(type), bits = elements / lanes * width;
    return {width == 64 ? bits / 64 : std::max(bits / 32, 1u), elementOf(type)};
}

bool isFloat(const std::string& type) {
    return elementOf(type) != Element::bits;
}

class Forms {
  public:
    std::vector<MatrixForm> take() { return std::move(forms_); }

    void mma(Shape shape, const std::string& d, const std::string& a, const std::string& b, const std::string& c,
             const std::string& layout = "row.col", const std::string& before = "", const std::string& after = "") {
        MatrixForm form;
        const unsigned parts = shape.m == 8 && shape.k == 4 && a == "f16" ? 4 : 1;  // a product for every 8 lanes
        form.name =
            "mma.sync.aligned." + shape.name() + "." + layout + before + "." + d + "." + a + "." + b + "." + c + after;
        form.inputs = {fragment(shape.m * shape.k * parts, a), fragment(shape.k * shape.n * parts, b),
                       fragment(shape.m * shape.n * parts, c)};
        form.output = fragment(shape.m * shape.n * parts, d);
        form.isFloat = isFloat(a);
        form.body = form.name + " " + list("%o_", form.output.registers) + ", " + input(0, form) + ", " +
                    input(1, form) + ", " + input(2, form) + ";";
        forms_.push_back(std::move(form));
    }

    /// Half of A's elements are there; metadata says which. Pairs of two bits name two of four, the lower one first.
    void sparse(Shape shape, const std::string& d, const std::string& a, const std::string& b, unsigned selector,
                const std::string& kind = "sp", const std::string& after = "") {
        MatrixForm form;
        form.name = "mma." + kind + ".sync.aligned." + shape.name() + ".row.col" + after + "." + d + "." + a + "." + b +
                    "." + d;
        const bool pairs = a == "tf32";
        const std::string name = form.name + " selector " + std::to_string(selector);
        form.inputs = {fragment(shape.m * shape.k / 2, a),
                       fragment(shape.k * shape.n, b),
                       fragment(shape.m * shape.n, d),
                       {1, Element::bits}};
        form.output = fragment(shape.m * shape.n, d);
        form.isFloat = isFloat(a);
        form.body = metadata("%i3_0", pairs) + "    " + form.name + " " + list("%o_", form.output.registers) + ", " +
                    input(0, form) + ", " + input(1, form) + ", " + input(2, form) + ", %m, " +
                    std::to_string(selector) + ";";
        form.name = name;
        forms_.push_back(std::move(form));
    }

    /// Loads from shared memory, multiplies, and stores to shared memory again.
    void wmma(Shape shape, const std::string& d, const std::string& ab, const std::string& c,
              const std::string& aLayout, const std::string& bLayout, const std::string& dLayout,
              const std::string& between = "", const std::string& after = "") {
        MatrixForm form;
        const bool integer = !isFloat(ab);
        const std::string types =
            integer || ab == "bf16" || ab == "tf32" || ab == "f64" ? d + "." + ab + "." + ab + "." + c : d + "." + c;
        form.name = "wmma.mma" + between + ".sync.aligned." + aLayout + "." + bLayout + "." + shape.name() + "." +
                    types + after;
        const unsigned width = widthOf(ab);
        const unsigned lead = width < 8 ? (width == 4 ? 32 : 128) : 64;  // more than any row or column needs
        const unsigned aLines = aLayout == "row" ? shape.m : shape.k, bLines = bLayout == "row" ? shape.k : shape.n;
        const unsigned cLines = dLayout == "row" ? shape.m : shape.n;
        const unsigned aBytes = aLines * lead * width / 8, bBytes = bLines * lead * width / 8;
        const unsigned cLead = 40, cBytes = cLines * cLead * widthOf(c) / 8, dBytes = cLines * cLead * widthOf(d) / 8;
        form.sharedBytes = (aBytes + bBytes + cBytes + dBytes + 127) / 128 * 128;
        form.shared = elementOf(ab) == Element::bits ? Element::bits : elementOf(ab);
        form.givesShared = true;
        form.isFloat = !integer;
        const auto load = [&](const std::string& what, const std::string& layout, const std::string& type,
                              unsigned registers, const std::string& into, unsigned at, unsigned stride) {
            return "    wmma.load." + what + ".sync.aligned." + layout + "." + shape.name() + ".shared." + type + " " +
                   list("%" + into, registers) + ", [%s+" + std::to_string(at) + "], " + std::to_string(stride) + ";\n";
        };
        const auto registers = [&](unsigned elements, const std::string& type) {
            if (type == "f16" && elements == 256 && shape.k == 16) return 8u;
            return fragment(elements, type).registers;
        };
        const bool halves = ab == "f16";
        const unsigned ra = halves ? 8 : registers(shape.m * shape.k, ab),
                       rb = halves ? 8 : registers(shape.k * shape.n, ab);
        const unsigned rc = fragment(shape.m * shape.n, c).registers, rd = fragment(shape.m * shape.n, d).registers;
        declare(form, "wa", ra, ab);
        declare(form, "wb", rb, ab);
        declare(form, "wc", rc, c);
        declare(form, "wd", rd, d);
        // Accumulators are random registers of the form's own type, stored first: their layout is the instruction's
        // secret.
        form.body += load("a", aLayout, ab, ra, "wa", 0, lead) + load("b", bLayout, ab, rb, "wb", aBytes, lead) +
                     load("c", dLayout, c, rc, "wc", aBytes + bBytes, cLead) + "    " + form.name + " " +
                     list("%wd", rd) + ", " + list("%wa", ra) + ", " + list("%wb", rb) + ", " + list("%wc", rc) +
                     ";\n    wmma.store.d.sync.aligned." + dLayout + "." + shape.name() + ".shared." + d + " [%s+" +
                     std::to_string(aBytes + bBytes + cBytes) + "], " + list("%wd", rd) + ", " + std::to_string(cLead) +
                     ";";
        form.name += " stored by " + dLayout;
        forms_.push_back(std::move(form));
    }

    void ldmatrix(unsigned count, bool transposes) {
        MatrixForm form;
        form.name =
            "ldmatrix.sync.aligned.m8n8.x" + std::to_string(count) + (transposes ? ".trans" : "") + ".shared.b16";
        form.sharedBytes = 1024;
        form.output = {count, Element::bits};
        form.isFloat = false;
        // Rows of 16 bytes in an order of their own.
        form.body =
            "mad.lo.u32 %r0, %t, 23, 5; and.b32 %r0, %r0, 63; shl.b32 %r0, %r0, 4; add.u32 %r0, %r0, %s;\n    " +
            form.name + " " + list("%o_", count) + ", [%r0];";
        forms_.push_back(std::move(form));
    }

    void stmatrix(unsigned count, bool transposes) {
        MatrixForm form;
        form.name =
            "stmatrix.sync.aligned.m8n8.x" + std::to_string(count) + (transposes ? ".trans" : "") + ".shared.b16";
        form.sharedBytes = 1024;
        form.inputs = {{count, Element::bits}};
        form.givesShared = true;
        form.isFloat = false;
        form.body =
            "mad.lo.u32 %r0, %t, 23, 5; and.b32 %r0, %r0, 63; shl.b32 %r0, %r0, 4; add.u32 %r0, %r0, %s;\n    " +
            form.name + " [%r0], " + input(0, form) + ";";
        forms_.push_back(std::move(form));
    }

    void movmatrix() {
        MatrixForm form;
        form.name = "movmatrix.sync.aligned.m8n8.trans.b16";
        form.inputs = {{1, Element::bits}};
        form.output = {1, Element::bits};
        form.isFloat = false;
        form.body = form.name + " %o_0, %i0_0;";
        forms_.push_back(std::move(form));
    }

    struct Warpgroup {
        unsigned n, k;
        std::string d, a, b;
        bool aInRegisters = false;
        unsigned swizzle = 0;  ///< 0 none, 1 128 bytes, 2 64 bytes, 3 32 bytes
        unsigned aTransposed = 0, bTransposed = 0;
        int aScale = 1, bScale = 1;
        bool accumulates = true;
        unsigned leading = 128, stride = 256;  ///< bytes between pieces of an operand
        unsigned baseOffset = 0;               ///< where in shared memory A begins, in bytes
        bool sparse = false;
        unsigned selector = 0;
        std::string after;  ///< .satfinite, .and.popc
    };
    void wgmma(const Warpgroup& w) {
        MatrixForm form;
        form.threads = 128;
        const bool scaled = w.a == "f16" || w.a == "bf16" || w.a == "tf32" || w.a == "e4m3" || w.a == "e5m2";
        const bool transposable = w.a == "f16" || w.a == "bf16";
        const std::string instruction = std::string("wgmma.mma_async") + (w.sparse ? ".sp" : "") +
                                        ".sync.aligned.m64n" + std::to_string(w.n) + "k" + std::to_string(w.k) + "." +
                                        w.d + "." + w.a + "." + w.b + w.after;
        const unsigned registers = 64 * w.n * (w.d == "f16" ? 16 : 32) / 32 / 128;
        form.inputs = {{registers, elementOf(w.d)}};
        form.output = form.inputs[0];
        form.isFloat = scaled;
        form.sharedBytes = 32768;
        form.shared = elementOf(w.a);
        unsigned aRegisters = 0;
        if (w.aInRegisters) {
            aRegisters = 64 * w.k / (w.sparse ? 2 : 1) * widthOf(w.a) / 32 / 128;
            form.inputs.push_back({aRegisters, elementOf(w.a)});
        }
        const unsigned metadataGroup = static_cast<unsigned>(form.inputs.size());
        if (w.sparse) form.inputs.push_back({1, Element::bits});
        for (unsigned i = 0; i < registers; ++i)
            form.body += "mov.b32 %o_" + std::to_string(i) + ", %i0_" + std::to_string(i) + ";\n    ";
        const auto descriptor = [&](const std::string& into, unsigned offset) {
            return "add.u32 %r0, %s, " + std::to_string(offset) +
                   "; shr.u32 %r0, %r0, 4; and.b32 %r0, %r0, 0x3fff; or.b32 %r0, %r0, " +
                   std::to_string((w.leading >> 4) << 16) + ";\n    mov.u32 %r1, " +
                   std::to_string((w.stride >> 4) | w.swizzle << 30) + "; mov.b64 " + into + ", {%r0, %r1};\n    ";
        };
        if (!w.aInRegisters) form.body += descriptor("%l0", w.baseOffset);
        form.body += descriptor("%l1", 16384);
        if (w.sparse) form.body += metadata("%i" + std::to_string(metadataGroup) + "_0", w.a == "tf32") + "    ";
        form.body += std::string("setp.ne.u32 %p, ") + (w.accumulates ? "1" : "0") +
                     ", 0;\n    fence.proxy.async;\n    wgmma.fence.sync.aligned;\n    ";
        form.body += instruction + " " + list("%o_", registers) + ", " +
                     (w.aInRegisters ? input(1, form) : std::string("%l0")) + ", %l1";
        if (w.sparse) form.body += ", %m, " + std::to_string(w.selector);
        form.body += ", %p";
        if (scaled) form.body += ", " + std::to_string(w.aScale) + ", " + std::to_string(w.bScale);
        if (transposable) {
            if (!w.aInRegisters) form.body += ", " + std::to_string(w.aTransposed);
            form.body += ", " + std::to_string(w.bTransposed);
        }
        form.body += ";\n    wgmma.commit_group.sync.aligned;\n    wgmma.wait_group.sync.aligned 0;";
        form.name = instruction + (w.aInRegisters ? " a in registers" : "") + " swizzle " + std::to_string(w.swizzle) +
                    " by " + std::to_string(w.leading) + " and " + std::to_string(w.stride) +
                    (w.aTransposed ? " a transposed" : "") + (w.bTransposed ? " b transposed" : "") +
                    (w.aScale < 0 ? " -a" : "") + (w.bScale < 0 ? " -b" : "") + (w.accumulates ? "" : " afresh") +
                    (w.sparse ? " selector " + std::to_string(w.selector) : "") +
                    (w.baseOffset ? " from " + std::to_string(w.baseOffset) : "");
        forms_.push_back(std::move(form));
    }

  private:
    static void declare(MatrixForm& form, const std::string& name, unsigned count, const std::string& type) {
        form.body += std::string("    .reg .") +
                     (type == "f64"   ? "f64"
                      : type == "f32" ? "f32"
                                      : "b32") +
                     " %" + name + "<" + std::to_string(count) + ">;\n";
    }

    /// Makes a legal %m of random bits: of each four bits, two numbers of two bits, the lower first and not equal; for
    /// tf32 four bits name one of two elements, 0xE or 0x4.
    static std::string metadata(const std::string& from, bool pairs) {
        std::string text = "mov.b32 %m, 0;\n";
        for (unsigned i = 0; i < 8; ++i) {
            const std::string at = std::to_string(4 * i);
            if (pairs) {
                text +=
                    "    shr.b32 %r2, " + from + ", " + at +
                    "; and.b32 %r2, %r2, 1; setp.eq.u32 %p, %r2, 0; selp.b32 %r2, 0x4, 0xe, %p; shl.b32 %r2, %r2, " +
                    at + "; or.b32 %m, %m, %r2;\n";
            } else {
                // One of 0x4, 0x8, 0xc, 0x9, 0xd, 0xe, by three random bits taken modulo six.
                text += "    shr.b32 %r2, " + from + ", " + at +
                        "; and.b32 %r2, %r2, 15; rem.u32 %r2, %r2, 6; shl.b32 %r2, %r2, 2; shr.b32 %r2, 0xed9c84, %r2; "
                        "and.b32 %r2, %r2, 15; shl.b32 %r2, %r2, " +
                        at + "; or.b32 %m, %m, %r2;\n";
            }
        }
        return text;
    }

    std::vector<MatrixForm> forms_;
};

void addMma(Forms& f) {
    for (const std::string a : {"row", "col"})
        for (const std::string b : {"row", "col"})
            for (const std::string d : {"f16", "f32"})
                for (const std::string c : {"f16", "f32"})
                    if (d == "f32" || c == "f16") f.mma({8, 8, 4}, d, "f16", "f16", c, a + "." + b);
    for (const unsigned k : {8u, 16u}) {
        for (const std::string d : {"f16", "f32"}) f.mma({16, 8, k}, d, "f16", "f16", d);
        f.mma({16, 8, k}, "f32", "bf16", "bf16", "f32");
        f.mma({16, 8, k / 2}, "f32", "tf32", "tf32", "f32");
    }
    f.mma({8, 8, 4}, "f64", "f64", "f64", "f64");
    for (const unsigned k : {4u, 8u, 16u}) f.mma({16, 8, k}, "f64", "f64", "f64", "f64");
    for (const std::string a : {"e4m3", "e5m2"})
        for (const std::string b : {"e4m3", "e5m2"})
            for (const std::string d : {"f32", "f16"})
                for (const unsigned k : {16u, 32u}) f.mma({16, 8, k}, d, a, b, d);
    for (const std::string after : {"", ".satfinite"}) {
        for (const std::string a : {"s8", "u8"})
            for (const std::string b : {"s8", "u8"})
                for (const Shape shape : {Shape{8, 8, 16}, {16, 8, 16}, {16, 8, 32}})
                    f.mma(shape, "s32", a, b, "s32", "row.col", after);
        for (const std::string a : {"s4", "u4"})
            for (const std::string b : {"s4", "u4"})
                for (const Shape shape : {Shape{8, 8, 32}, {16, 8, 32}, {16, 8, 64}})
                    f.mma(shape, "s32", a, b, "s32", "row.col", after);
    }
    for (const Shape shape : {Shape{8, 8, 128}, {16, 8, 128}, {16, 8, 256}})
        for (const std::string operation : {".xor.popc", ".and.popc"})
            f.mma(shape, "s32", "b1", "b1", "s32", "row.col", "", operation);
}

void addSparse(Forms& f) {
    for (const std::string kind : {"sp", "sp::ordered_metadata"}) {
        for (const unsigned selector : {0u, 1u, 2u, 3u}) {
            f.sparse({16, 8, 16}, "f32", "f16", "f16", selector, kind);
            if (selector > 1) continue;
            f.sparse({16, 8, 32}, "f32", "f16", "f16", selector, kind);
            f.sparse({16, 8, 32}, "f16", "f16", "f16", selector, kind);
            f.sparse({16, 8, 32}, "f32", "bf16", "bf16", selector, kind);
            f.sparse({16, 8, 16}, "f32", "tf32", "tf32", selector, kind);
            f.sparse({16, 8, 32}, "s32", "s8", "u8", selector, kind);
            f.sparse({16, 8, 64}, "s32", "u4", "s4", selector, kind);
        }
        for (const unsigned selector : {0u, 1u, 2u, 3u}) f.sparse({16, 8, 8}, "f32", "tf32", "tf32", selector, kind);
        for (const unsigned selector : {0u, 1u, 2u, 3u}) f.sparse({16, 8, 16}, "f32", "bf16", "bf16", selector, kind);
        f.sparse({16, 8, 16}, "f16", "f16", "f16", 1, kind);
        f.sparse({16, 8, 64}, "s32", "s8", "s8", 0, kind);
        f.sparse({16, 8, 64}, "s32", "u8", "u8", 0, kind, ".satfinite");
        f.sparse({16, 8, 128}, "s32", "s4", "s4", 0, kind);
        f.sparse({16, 8, 64}, "f32", "e4m3", "e5m2", 0, kind);
        f.sparse({16, 8, 64}, "f32", "e5m2", "e5m2", 0, kind);
    }
}

void addWmma(Forms& f) {
    for (const Shape shape : {Shape{16, 16, 16}, {8, 32, 16}, {32, 8, 16}}) {
        for (const std::string a : {"row", "col"})
            for (const std::string b : {"row", "col"}) {
                for (const std::string d : {"f16", "f32"})
                    for (const std::string c : {"f16", "f32"}) f.wmma(shape, d, "f16", c, a, b, a);
                f.wmma(shape, "f32", "bf16", "f32", a, b, b);
                f.wmma(shape, "s32", "s8", "s32", a, b, a);
                f.wmma(shape, "s32", "u8", "s32", a, b, b, "", ".satfinite");
            }
    }
    for (const std::string a : {"row", "col"})
        for (const std::string b : {"row", "col"}) {
            f.wmma({16, 16, 8}, "f32", "tf32", "f32", a, b, a);
            f.wmma({8, 8, 4}, "f64", "f64", "f64", a, b, b, "", ".rn");
        }
    for (const std::string d : {"row", "col"}) {
        f.wmma({8, 8, 32}, "s32", "s4", "s32", "row", "col", d);
        f.wmma({8, 8, 32}, "s32", "u4", "s32", "row", "col", d, "", ".satfinite");
        f.wmma({8, 8, 128}, "s32", "b1", "s32", "row", "col", d, ".xor.popc");
        f.wmma({8, 8, 128}, "s32", "b1", "s32", "row", "col", d, ".and.popc");
    }
}

void addWgmma(Forms& f) {
    const auto form = [](unsigned n, unsigned k, const std::string& d, const std::string& a, const std::string& b) {
        Forms::Warpgroup w;
        w.n = n;
        w.k = k;
        w.d = d;
        w.a = a;
        w.b = b;
        return w;
    };
    struct Kind {
        std::string d, a, b;
        unsigned k;
        std::string after;
    };
    const std::vector<Kind> kinds = {
        {"f32", "f16", "f16", 16, ""},         {"f16", "f16", "f16", 16, ""},   {"f32", "bf16", "bf16", 16, ""},
        {"f32", "tf32", "tf32", 8, ""},        {"f32", "e4m3", "e4m3", 32, ""}, {"f32", "e5m2", "e4m3", 32, ""},
        {"f16", "e4m3", "e5m2", 32, ""},       {"f16", "e5m2", "e5m2", 32, ""}, {"s32", "s8", "s8", 32, ""},
        {"s32", "u8", "s8", 32, ".satfinite"}, {"s32", "u8", "u8", 32, ""},     {"s32", "b1", "b1", 256, ".and.popc"},
    };
    for (const Kind& kind : kinds)
        for (const bool registers : {false, true})
            for (const unsigned n : {8u, 32u}) {
                Forms::Warpgroup w = form(n, kind.k, kind.d, kind.a, kind.b);
                w.after = kind.after;
                w.aInRegisters = registers;
                f.wgmma(w);
            }
    for (const unsigned n : {16u, 24u, 64u, 128u, 256u}) f.wgmma(form(n, 16, "f32", "bf16", "bf16"));
    // Every swizzle, with operands as they are and transposed, and pieces at various distances.
    for (const unsigned swizzle : {0u, 1u, 2u, 3u})
        for (const unsigned ta : {0u, 1u})
            for (const unsigned tb : {0u, 1u})
                for (const bool far : {false, true}) {
                    Forms::Warpgroup w = form(64, 16, "f32", "f16", "f16");
                    w.swizzle = swizzle;
                    w.aTransposed = ta;
                    w.bTransposed = tb;
                    w.leading = far ? 2048 : 1024;
                    w.stride = far ? 1024 : 512;
                    f.wgmma(w);
                }
    for (const unsigned swizzle : {1u, 2u, 3u})
        for (const unsigned offset : {32u, 64u, 96u})
            if (offset < (256u >> swizzle)) {
                Forms::Warpgroup w = form(16, 16, "f32", "bf16", "bf16");
                w.swizzle = swizzle;
                w.stride = 1024;
                w.baseOffset = offset;
                f.wgmma(w);
            }
    for (const unsigned swizzle : {1u, 2u, 3u})
        for (const Kind& kind : kinds) {
            Forms::Warpgroup w = form(16, kind.k, kind.d, kind.a, kind.b);
            w.after = kind.after;
            w.swizzle = swizzle;
            w.stride = 1024;
            f.wgmma(w);
        }
    for (const std::string type : {"f16", "tf32", "e4m3"}) {
        Forms::Warpgroup w = form(16, type == "f16" ? 16 : type == "tf32" ? 8 : 32, "f32", type, type);
        w.aScale = -1;
        f.wgmma(w);
        w.aInRegisters = true;
        w.bScale = -1;
        f.wgmma(w);
        w.accumulates = false;
        f.wgmma(w);
    }
    for (const bool registers : {false, true})
        for (const unsigned selector : {0u, 1u}) {
            const std::vector<Kind> sparse = {{"f32", "f16", "f16", 32, ""},
                                              {"f32", "bf16", "bf16", 32, ""},
                                              {"f32", "tf32", "tf32", 16, ""},
                                              {"f32", "e4m3", "e5m2", 64, ""},
                                              {"s32", "s8", "u8", 64, ""}};
            for (const Kind& kind : sparse) {
                if (widthOf(kind.a) == 8 && selector) continue;
                Forms::Warpgroup w = form(16, kind.k, kind.d, kind.a, kind.b);
                w.sparse = true;
                w.selector = selector;
                w.aInRegisters = registers;
                f.wgmma(w);
            }
        }
}

}  // namespace

const std::vector<MatrixForm>& matrixForms() {
    static const std::vector<MatrixForm> forms = [] {
        Forms f;
        addMma(f);
        addSparse(f);
        addWmma(f);
        for (const unsigned count : {1u, 2u, 4u})
            for (const bool transposes : {false, true}) {
                f.ldmatrix(count, transposes);
                f.stmatrix(count, transposes);
            }
        f.movmatrix();
        addWgmma(f);
        return f.take();
    }();
    return forms;
}

unsigned casesOf(const MatrixForm& form) {
    return !form.isFloat ? 4 : form.threads > 32 ? kKinds : kKinds * kCasesOfAKind;
}

std::size_t inputBytes(const MatrixForm& form) {
    std::size_t bytes = form.sharedBytes;
    for (const Group& g : form.inputs) bytes += std::size_t{g.registers} * registerBytes(g) * form.threads;
    return bytes;
}

std::size_t answerBytes(const MatrixForm& form) {
    return form.givesShared ? form.sharedBytes
                            : std::size_t{form.output.registers} * registerBytes(form.output) * form.threads;
}

std::vector<std::uint8_t> inputsOf(const MatrixForm& form) {
    std::vector<std::uint8_t> bytes;
    Random random(hashOf(reinterpret_cast<const std::uint8_t*>(form.name.data()), form.name.size()));
    for (unsigned number = 0; number < casesOf(form); ++number) {
        const auto values = static_cast<Values>(number % kKinds);
        const auto put = [&](Element element, std::size_t count, bool isAccumulator) {
            const unsigned width = bitsOf(element) / 8;
            for (std::size_t i = 0; i < count / width; ++i) {
                const std::uint64_t value = valueOf(element, values, isAccumulator, random);
                for (unsigned b = 0; b < width; ++b) bytes.push_back(static_cast<std::uint8_t>(value >> (8 * b)));
            }
        };
        for (std::size_t g = 0; g < form.inputs.size(); ++g)
            put(form.inputs[g].element,
                std::size_t{form.inputs[g].registers} * registerBytes(form.inputs[g]) * form.threads,
                form.threads > 32 ? g == 0 : g == 2);
        put(form.shared, form.sharedBytes, false);
    }
    return bytes;
}

std::string moduleOf(const MatrixForm& form) {
    std::string text = ".version 8.7\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 s[];\n";
    text +=
        ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n    .reg .pred %p, %q;\n    .reg .b32 %t, %s, %m, "
        "%r<8>;\n    .reg .b64 %l<4>, %in, %out, %at;\n";
    const auto declare = [&](const std::string& name, const Group& g) {
        const std::string type = g.element == Element::f64 ? "f64" : g.element == Element::f32 ? "f32" : "b32";
        text += "    .reg ." + type + " %" + name + "_<" + std::to_string(std::max(g.registers, 1u)) + ">;\n";
    };
    for (std::size_t g = 0; g < form.inputs.size(); ++g) declare("i" + std::to_string(g), form.inputs[g]);
    declare("o", form.output);
    text +=
        "    ld.param.u64 %in, [in];\n    ld.param.u64 %out, [out];\n    mov.u32 %t, %tid.x;\n    mov.u32 %s, s;\n    "
        "mov.u32 %r0, %ctaid.x;\n";
    text += "    mul.wide.u32 %l0, %r0, " + std::to_string(inputBytes(form)) + "; add.u64 %in, %in, %l0;\n";
    text += "    mul.wide.u32 %l0, %r0, " + std::to_string(answerBytes(form)) + "; add.u64 %out, %out, %l0;\n";
    std::size_t offset = 0;
    for (std::size_t g = 0; g < form.inputs.size(); ++g) {
        const unsigned width = registerBytes(form.inputs[g]);
        text += "    mul.wide.u32 %at, %t, " + std::to_string(width) + "; add.u64 %at, %at, %in;\n";
        for (unsigned r = 0; r < form.inputs[g].registers; ++r) {
            text += "    ld.global.b" + std::to_string(8 * width) + " %i" + std::to_string(g) + "_" +
                    std::to_string(r) + ", [%at+" + std::to_string(offset) + "];\n";
            offset += std::size_t{width} * form.threads;
        }
    }
    const std::string step = std::to_string(4 * form.threads), end = std::to_string(form.sharedBytes);
    if (form.sharedBytes) {
        text += "    shl.b32 %r0, %t, 2;\nF:  cvt.u64.u32 %at, %r0; add.u64 %at, %at, %in; ld.global.u32 %r1, [%at+" +
                std::to_string(offset) + "]; add.u32 %r2, %s, %r0; st.shared.u32 [%r2], %r1;\n    add.u32 %r0, %r0, " +
                step + "; setp.lt.u32 %p, %r0, " + end + "; @%p bra F;\n    bar.sync 0;\n";
    }
    text += "    " + form.body + "\n";
    if (form.givesShared) {
        text +=
            "    bar.sync 0;\n    shl.b32 %r0, %t, 2;\nG:  add.u32 %r2, %s, %r0; ld.shared.u32 %r1, [%r2]; cvt.u64.u32 "
            "%at, %r0; add.u64 %at, %at, %out; st.global.u32 [%at], %r1;\n    add.u32 %r0, %r0, " +
            step + "; setp.lt.u32 %p, %r0, " + end + "; @%p bra G;\n";
    } else {
        const unsigned width = registerBytes(form.output);
        text += "    mul.wide.u32 %at, %t, " + std::to_string(width) + "; add.u64 %at, %at, %out;\n";
        for (unsigned r = 0; r < form.output.registers; ++r)
            text += "    st.global.b" + std::to_string(8 * width) + " [%at+" +
                    std::to_string(std::size_t{r} * width * form.threads) + "], %o_" + std::to_string(r) + ";\n";
    }
    return text + "    ret;\n}\n";
}

}  // namespace bulkhead::golden
