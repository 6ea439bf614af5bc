#include <algorithm>
#include <cstring>

#include "operation.h"

namespace bulkhead::differential {
namespace {

using Word = std::uint64_t;

Word load(const std::uint8_t* from, unsigned bytes) {
    Word value = 0;
    for (unsigned i = 0; i < bytes; ++i) value |= Word{from[i]} << 8 * i;
    return value;
}
void store(std::uint8_t* to, unsigned bytes, Word value) {
    for (unsigned i = 0; i < bytes; ++i) to[i] = static_cast<std::uint8_t>(value >> 8 * i);
}

/// A way to a thread's slot: the state space in the instruction, the register that holds its address, and where it is.
struct Way {
    const char* space;    ///< "" is generic
    const char* address;  ///< %shared has 32 bits, the others 64
    std::array<Memory::Slot, kThreads> Memory::*slots;
    bool hasAtomics;

    std::uint8_t* slot(const Evaluation& e) const { return (e.memory->*slots)[e.thread].data(); }
    bool isNarrow() const { return std::string_view(address) == "%shared"; }
};
const Way kWays[] = {{".shared", "%shared", &Memory::shared, true}, {".local", "%local", &Memory::local, false},
                     {".global", "%global", &Memory::global, true}, {"", "%gshared", &Memory::shared, true},
                     {"", "%glocal", &Memory::local, false},        {"", "%global", &Memory::global, true}};

/// PTX that puts `base` plus the bits of %a in `mask` into a scratch register, and that register.
std::pair<std::string, std::string> indexed(const std::string& base, bool narrow, unsigned mask) {
    const std::string index = "and.b32 %z32, %a, " + std::to_string(mask) + "; ";
    if (narrow) return {index + "add.u32 %z32, %z32, " + base + "; ", "%z32"};
    return {index + "cvt.u64.u32 %z64, %z32; add.u64 %z64, %z64, " + base + "; ", "%z64"};
}

void placed(Operation& operation, unsigned step, unsigned count) {
    operation.constantStep = step;
    operation.constantCount = count;
    operation.usesMemory = true;
}

std::vector<std::string> loadModifiers(const Way& way) {
    if (std::string_view(way.space) == ".global") return {"", ".ca", ".cg", ".cs", ".cv", ".volatile", ".relaxed.gpu"};
    if (std::string_view(way.space) == ".local") return {"", ".ca", ".cs"};
    return {"", ".volatile"};
}
std::vector<std::string> storeModifiers(const Way& way) {
    if (std::string_view(way.space) == ".global") return {"", ".wb", ".cg", ".cs", ".wt", ".volatile", ".relaxed.gpu"};
    return {""};
}

/// The order of modifiers differs: `ld.volatile.global`, but `ld.global.cg`.
std::string opcode(const char* name, const Way& way, const std::string& modifier) {
    if (modifier == ".volatile" || modifier == ".relaxed.gpu") return name + modifier + way.space;
    return name + std::string(way.space) + modifier;
}

void addScalars(Collector& c, const Way& way) {
    for (const IntegerType& t : kAllIntegerTypes) {
        const unsigned bytes = t.bits / 8;
        const std::string type = std::string(".") + t.name;
        const auto get = [way, t, bytes](Evaluation& e) {
            e.out[0] = static_cast<Word>(t.value(load(way.slot(e) + e.constant, bytes)));
        };
        const std::string at = std::string("[") + way.address + "+%k]";
        for (const std::string& modifier : loadModifiers(way))
            placed(c.add(opcode("ld", way, modifier) + type + " %o0, " + at + ";", {t.width()}, {}, get), bytes,
                   kSlotBytes / bytes);
        // A register wider than what is loaded: extended as the type says.
        if (t.bits < 64)
            placed(c.add(opcode("ld", way, "") + type + " %o0, " + at + ";", {Width::b64}, {}, get), bytes,
                   kSlotBytes / bytes);
        const unsigned mask = kSlotBytes - bytes;
        const auto [index, address] = indexed(way.address, way.isNarrow(), mask);
        c.add(index + opcode("ld", way, "") + type + " %o0, [" + address + "];", {t.width()}, {{Width::b32}},
              [way, t, bytes, mask](Evaluation& e) {
                  e.out[0] = static_cast<Word>(t.value(load(way.slot(e) + (e.in[0] & mask), bytes)));
              })
            .usesMemory = true;
        if (t.isSigned) continue;
        const auto put = [way, bytes](Evaluation& e) { store(way.slot(e) + e.constant, bytes, e.in[0]); };
        for (const std::string& modifier : storeModifiers(way))
            placed(c.add(opcode("st", way, modifier) + type + " " + at + ", %a;", {}, {{t.width()}}, put), bytes,
                   kSlotBytes / bytes);
        c.add(index + opcode("st", way, "") + type + " [" + address + "], %b;", {}, {{Width::b32}, {t.width()}},
              [way, bytes, mask](Evaluation& e) { store(way.slot(e) + (e.in[0] & mask), bytes, e.in[1]); })
            .usesMemory = true;
    }
}

void addVectors(Collector& c, const Way& way) {
    struct Vector {
        const char* type;
        unsigned bytes, count;
        Width width;
    };
    constexpr Vector kVectors[] = {{"u8", 1, 2, Width::b32},  {"u8", 1, 4, Width::b32},  {"b16", 2, 2, Width::b16},
                                   {"b16", 2, 4, Width::b16}, {"b32", 4, 2, Width::b32}, {"f32", 4, 4, Width::b32},
                                   {"b64", 8, 2, Width::b64}};
    for (const Vector& v : kVectors) {
        const std::string at = std::string("[") + way.address + "+%k]";
        const std::string type = ".v" + std::to_string(v.count) + "." + v.type;
        const bool four = v.count == 4;
        Operation& loading =
            c.add(opcode("ld", way, "") + type + (four ? " {%o0, %o1, %o2, %o3}, " : " {%o0, %o1}, ") + at + ";",
                  std::vector<Width>(v.count, v.width), {}, [way, v](Evaluation& e) {
                      for (unsigned i = 0; i < v.count; ++i)
                          e.out[i] = load(way.slot(e) + e.constant + i * v.bytes, v.bytes);
                  });
        placed(loading, v.bytes * v.count, kSlotBytes / (v.bytes * v.count));
        loading.misassembled = v.type[0] == 'f';  // as the number where a narrower integer is taken from it
        placed(c.add(opcode("st", way, "") + type + " " + at + (four ? ", {%a, %b, %c, %d};" : ", {%a, %b};"), {},
                     std::vector<Source>(v.count, {v.width}),
                     [way, v](Evaluation& e) {
                         for (unsigned i = 0; i < v.count; ++i)
                             store(way.slot(e) + e.constant + i * v.bytes, v.bytes, e.in[i]);
                     }),
               v.bytes * v.count, kSlotBytes / (v.bytes * v.count));
    }
}

/// An atomic operation: the new value, from the old one and the operands.
struct Atomic {
    std::string name;
    IntegerType type;
    bool commutes;  ///< whoever comes first, the sum is the same
    std::function<Word(const IntegerType&, Word old, Word a, Word b)> next;
    bool swaps = false;  ///< cas, with one operand more

    std::string text() const {
        const char letter =
            name == "add" || name == "min" || name == "max" || name == "inc" || name == "dec" ? type.name[0] : 'b';
        return "." + name + "." + letter + std::to_string(type.bits);
    }
    /// NVIDIA's GPUs have no such instruction: until nobody came between, a load, the operation and a compare-and-swap.
    /// If all threads go round a loop alike, its assembler counts for all of them at once, in that inner loop too.
    bool retries(std::string_view space) const {
        return space == ".shared" && (swaps ? type.bits == 16 : type.bits == 64 && name != "exch");
    }
};

std::vector<Atomic> atomics() {
    std::vector<Atomic> all;
    using T = const IntegerType&;
    for (const IntegerType& t : {kU32, kS32, kU64, kS64}) {
        if (t.bits == 32 || !t.isSigned) all.push_back({"add", t, true, [](T, Word o, Word a, Word) { return o + a; }});
        all.push_back(
            {"min", t, true, [](T type, Word o, Word a, Word) { return type.value(a) < type.value(o) ? a : o; }});
        all.push_back(
            {"max", t, true, [](T type, Word o, Word a, Word) { return type.value(a) > type.value(o) ? a : o; }});
        if (t.isSigned) continue;
        all.push_back({"and", t, true, [](T, Word o, Word a, Word) { return o & a; }});
        all.push_back({"or", t, true, [](T, Word o, Word a, Word) { return o | a; }});
        all.push_back({"xor", t, true, [](T, Word o, Word a, Word) { return o ^ a; }});
        all.push_back({"exch", t, false, [](T, Word, Word a, Word) { return a; }});
        all.push_back({"cas", t, false, [](T, Word o, Word a, Word b) { return o == a ? b : o; }, true});
    }
    all.push_back({"cas", kU16, false, [](T, Word o, Word a, Word b) { return o == a ? b : o; }, true});
    all.push_back({"inc", kU32, false, [](T, Word o, Word a, Word) { return o >= a ? 0 : o + 1; }});
    all.push_back({"dec", kU32, false, [](T, Word o, Word a, Word) { return o == 0 || o > a ? a : o - 1; }});
    return all;
}

void addAtomics(Collector& c, const Way& way) {
    for (const Atomic& atomic : atomics()) {
        const unsigned bytes = atomic.type.bits / 8;
        const auto change = [way, atomic, bytes](Evaluation& e) {
            std::uint8_t* const cell = way.slot(e) + e.constant;
            e.out[0] = load(cell, bytes);
            store(cell, bytes, atomic.next(atomic.type, e.out[0], e.in[0], e.in[1]));
        };
        const Width w = atomic.type.width();
        const std::vector<Source> sources(atomic.swaps ? 2 : 1, {w});
        const std::string at = std::string("[") + way.address + "+%k]", values = atomic.swaps ? ", %a, %b;" : ", %a;";
        const auto add = [&](const std::string& words, const std::vector<Width>& results) {
            Operation& operation = c.add(words + at + values, results, sources, change);
            placed(operation, bytes, kSlotBytes / bytes);
            operation.misassembledInLoops = atomic.retries(way.space);
        };
        add("atom" + std::string(way.space) + atomic.text() + " %o0, ", {w});
        if (!atomic.swaps && atomic.name != "exch") add("red" + std::string(way.space) + atomic.text() + " ", {});
    }
}

void addConstants(Collector& c) {
    for (const IntegerType& t : kAllIntegerTypes) {
        const unsigned bytes = t.bits / 8, mask = kTableBytes - bytes;
        const std::string type = std::string(".") + t.name;
        const auto get = [t, bytes](Word at) { return static_cast<Word>(t.value(load(&constantTable()[at], bytes))); };
        placed(c.add("ld.const" + type + " %o0, [%table+%k];", {t.width()}, {},
                     [get](Evaluation& e) { e.out[0] = get(e.constant); }),
               bytes, kTableBytes / bytes);
        const auto [index, address] = indexed("%table", false, mask);
        c.add(index + "ld.const" + type + " %o0, [" + address + "];", {t.width()}, {{Width::b32}},
              [get, mask](Evaluation& e) { e.out[0] = get(e.in[0] & mask); })
            .usesMemory = true;
    }
}

}  // namespace

Family memoryOperations() {
    Collector c("memory", 14);
    for (const Way& way : kWays) {
        addScalars(c, way);
        addVectors(c, way);
        if (way.hasAtomics) addAtomics(c, way);
    }
    addConstants(c);
    return c.take();
}

/// Between barriers, where nobody else touches a slot: loads from others' slots, and sums into them.
Family crossThreadOperations() {
    Collector c("crossThread", 0);
    struct Base {
        const char* space;
        const char* address;
        std::array<Memory::Slot, kThreads> Memory::*slots;
    };
    constexpr unsigned kAllBytes = kThreads * kSlotBytes;
    for (const Base& base :
         {Base{".shared", "%shared0", &Memory::shared}, Base{".global", "%global0", &Memory::global}}) {
        const auto cell = [base](const Evaluation& e, Word at) {
            return (e.memory->*base.slots)[at / kSlotBytes].data() + at % kSlotBytes;
        };
        const bool narrow = std::string_view(base.space) == ".shared";
        for (const IntegerType& t : kAllIntegerTypes) {
            const unsigned bytes = t.bits / 8, mask = kAllBytes - bytes;
            const auto [index, address] = indexed(base.address, narrow, mask);
            c.add(index + "ld" + base.space + "." + t.name + " %o0, [" + address + "];", {t.width()}, {{Width::b32}},
                  [cell, t, bytes, mask](Evaluation& e) {
                      e.out[0] = static_cast<Word>(t.value(load(cell(e, e.in[0] & mask), bytes)));
                  })
                .crossThread = true;
        }
        for (const Atomic& atomic : atomics()) {
            if (!atomic.commutes) continue;
            const unsigned bytes = atomic.type.bits / 8;
            Operation& operation =
                c.add(std::string("red") + base.space + atomic.text() + " [" + base.address + "+%k], %a;", {},
                      {{atomic.type.width()}}, [cell, atomic, bytes](Evaluation& e) {
                          std::uint8_t* const at = cell(e, e.constant);
                          store(at, bytes, atomic.next(atomic.type, load(at, bytes), e.in[0], 0));
                      });
            placed(operation, bytes, kAllBytes / bytes);
            operation.crossThread = true;
            operation.misassembledInLoops = atomic.retries(base.space);
        }
    }
    return c.take();
}

}  // namespace bulkhead::differential
