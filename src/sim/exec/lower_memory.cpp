#include <algorithm>

#include "sim/exec/atomics.h"
#include "sim/exec/function_lowering.h"
#include "sim/exec/instruction_details.h"
#include "sim/exec/memory_access.h"

// ld, st, atom, red, cp.async and what only hints at future accesses.

namespace bulkhead::sim {

using ptx::Space;
using ptx::Type;

namespace {

template <class T>
struct Named {
    std::string_view name;
    T value;
};

constexpr Named<Space> kSpaces[] = {
    {"global", Space::global},      {"shared", Space::shared},
    {"shared::cta", Space::shared}, {"shared::cluster", Space::shared},
    {"local", Space::local},        {"const", Space::constant},
    {"param", Space::param},        {"param::entry", Space::param},
    {"param::func", Space::param},
};
constexpr Named<CacheOp> kCacheOps[] = {
    {"ca", CacheOp::ca}, {"cg", CacheOp::cg}, {"cs", CacheOp::cs}, {"lu", CacheOp::lu},
    {"cv", CacheOp::cv}, {"wb", CacheOp::wb}, {"wt", CacheOp::wt},
};
constexpr Named<Type> kTypes[] = {
    {"b8", Type::b8},     {"b16", Type::b16},     {"b32", Type::b32},   {"b64", Type::b64},       {"u8", Type::u8},
    {"u16", Type::u16},   {"u32", Type::u32},     {"u64", Type::u64},   {"s8", Type::s8},         {"s16", Type::s16},
    {"s32", Type::s32},   {"s64", Type::s64},     {"f32", Type::f32},   {"f64", Type::f64},       {"f16", Type::f16},
    {"bf16", Type::bf16}, {"f16x2", Type::f16x2}, {"b128", Type::b128}, {"bf16x2", Type::bf16x2},
};
constexpr std::string_view kOperations[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas"};

/// How an access orders with others (execution is in order), who sees it (everybody), and what caches should do with
/// the line: nothing that changes values, and the timing model has its own replacement.
constexpr std::string_view kIgnored[] = {"weak", "relaxed", "acquire", "release", "acq_rel", "volatile", "mmio",
                                         "cta",  "cluster", "gpu",     "sys",     "nc",      "unified",  "noftz"};

template <class T, std::size_t n>
const T* find(const Named<T> (&table)[n], std::string_view name) {
    for (const Named<T>& e : table)
        if (e.name == name) return &e.value;
    return nullptr;
}

template <std::size_t n>
bool contains(const std::string_view (&table)[n], std::string_view name) {
    return std::find(std::begin(table), std::end(table), name) != std::end(table);
}

}  // namespace

MemoryModifiers FunctionLowering::memoryModifiers(std::size_t fixedOperands) {
    MemoryModifiers result;
    const bool isAtomic = current_->opcode == "atom" || current_->opcode == "red";
    const bool isAsync = current_->has("async") && current_->opcode != "cp";
    for (const std::string& m : current_->modifiers) {
        if (isAsync && (m == "async" || m == "mbarrier::complete_tx::bytes")) continue;
        if (const Space* space = find(kSpaces, m))
            result.space = *space;
        else if (const Type* type = find(kTypes, m))
            result.type = *type;
        else if (m == "v2" || m == "v4" || m == "v8")
            result.elements = m == "v2" ? 2 : m == "v4" ? 4 : 8;
        else if (isAtomic && contains(kOperations, m))
            result.operation = m;
        else if (const CacheOp* op = find(kCacheOps, m); op && !isAtomic)
            result.cacheOp = *op;
        else if (m == "L2::cache_hint")
            result.hasCachePolicy = true;
        else if (!contains(kIgnored, m) && !m.starts_with("L1::") && !m.starts_with("L2::"))
            refuse(fmt::format("unknown modifier '.{}'", m));
    }
    if (result.type == Type::none) refuse("the instruction has no type");
    const unsigned bytes = ptx::bitsOf(result.type) / 8 * result.elements;
    if (bytes > 16) refuse("accesses of more than 16 bytes are not supported");
    if (result.elements > 4) refuse("vectors have 2 or 4 elements");
    if (result.type == Type::b128) {
        result.isWide = true;
        result.type = Type::b64;
        result.elements = 2;
    }
    const std::size_t operands = fixedOperands + (result.hasCachePolicy ? 1 : 0);
    expectOperands(operands, operands);
    if (result.hasCachePolicy) source(current_->operands.back(), Type::b64);
    return result;
}

bool FunctionLowering::memoryAddress(const Operand& operand, unsigned bytes, Instr& i) {
    if (operand.kind != Operand::Kind::address || !operand.parts.empty()) refuse("an address in brackets is wanted");
    i.immediate = operand.integer;
    if (operand.baseIsReg) {
        const unsigned bits = ptx::bitsOf(operand.type);
        if (bits != 32 && bits != 64)
            refuse(fmt::format("'{}' is .{}, not an address", operand.name, nameOf(operand.type)));
        i.addressIs32 = bits == 32;
        i.src[0] = readRegister(operand);
        return false;
    }
    if (operand.name.empty()) {
        // A number. Local addresses are written like this only in error, but mean what they say.
        i.src[0] = constants_.value(static_cast<std::uint64_t>(operand.integer), 8);
        i.immediate = 0;
        return false;
    }
    const Address a = addressOf(operand.name, operand.integer);
    if (a.space == Space::none) refuse(fmt::format("'{}' is a function", operand.name));
    if (i.space == Space::none) i.space = a.space;
    if (i.space != a.space)
        refuse(fmt::format("'{}' is a .{} variable, not .{}", operand.name, nameOf(a.space), nameOf(i.space)));
    switch (a.kind) {
        case Address::Kind::constant: {
            i.hasAddress = false;
            i.immediate = a.value;
            if (!a.local) return false;
            const std::int64_t within = operand.integer;
            if (within < 0 || within + bytes > a.local->bytes)
                refuse(fmt::format("{} bytes at {} are not inside the {} bytes of '{}'", bytes, within, a.local->bytes,
                                   operand.name));
            if (a.local->isKernelParam) return false;
            i.immediate -= static_cast<std::int64_t>(kCallParamBase);
            return true;
        }
        case Address::Kind::local:
            i.hasAddress = false;
            i.frameRelative = true;
            i.immediate = a.value;
            return false;
        case Address::Kind::global:
        case Address::Kind::dynamicShared:
            i.src[0] = addressSlot(a, 8, 0);
            i.immediate = 0;
            return false;
    }
    return false;
}

/// {a, b}, a vector register, or a single value.
std::vector<FunctionLowering::Operand> FunctionLowering::elementsOf(const Operand& operand, unsigned count) {
    std::vector<Operand> elements;
    if (operand.kind == Operand::Kind::vector) {
        elements = operand.parts;
    } else if (operand.kind == Operand::Kind::reg && operand.element < 0 && registerOf(operand).vector > 1) {
        for (unsigned e = 0; e < registerOf(operand).vector; ++e) {
            elements.push_back(operand);
            elements.back().element = static_cast<int>(e);
        }
    } else {
        elements.push_back(operand);
    }
    if (elements.size() != count) refuse(fmt::format("{} elements expected, {} given", count, elements.size()));
    return elements;
}

/// How wide the registers are that hold the elements. All have the same width; a number has the type's.
unsigned FunctionLowering::widthOf(const std::vector<Operand>& elements, Type type) {
    unsigned bits = 0;
    for (const Operand& e : elements) {
        if (e.kind != Operand::Kind::reg) continue;
        if (e.type == Type::pred) refuse(fmt::format("'{}' is a predicate", e.name));
        const unsigned own = ptx::bitsOf(e.type);
        if (own == 128)
            refuse(fmt::format("'{}' is .{}, but the instruction wants .{}", e.name, nameOf(e.type), nameOf(type)));
        // Only one store serves all elements: those in 4-byte lanes are alike.
        if (bits != 0 && (own == 64) != (bits == 64)) refuse("the elements have registers of different widths");
        bits = std::max(bits, own);
    }
    return bits ? bits : std::max(ptx::bitsOf(type), 16u);
}

Slot FunctionLowering::dataResult(const Operand& operand) {
    if (operand.kind == Operand::Kind::sink) return scratch();
    if (operand.kind != Operand::Kind::reg) refuse("the result must be a register");
    return writeRegister(operand);
}

Slot FunctionLowering::dataSource(const Operand& operand, Type type, unsigned registerBits) {
    if (operand.kind == Operand::Kind::reg) {
        if (operand.negated) refuse(fmt::format("'-{}': a register cannot be negated here", operand.name));
        return readRegister(operand);
    }
    if (registerBits == 64 && ptx::bitsOf(type) < 64) refuse("numbers cannot stand beside 64-bit registers here");
    return source(operand, type);
}

bool FunctionLowering::lowerMemory(Instr& i) {
    const std::string& opcode = current_->opcode;
    if (opcode == "ld" || opcode == "ldu") {
        lowerLoad(i);
    } else if (opcode == "st") {
        if (current_->has("bulk")) return false;
        lowerStore(i);
        if (current_->has("async")) completeBytesOf(i);
    } else if (opcode == "atom" || opcode == "red") {
        lowerAtomic(i);
        if (current_->has("async")) completeBytesOf(i);
    } else if (opcode == "mbarrier") {
        return lowerMbarrier(i);
    } else if (opcode == "cp" && current_->has("async") && !current_->has("bulk") && !current_->has("reduce")) {
        lowerAsync(i);
    } else if (opcode == "prefetch" || opcode == "prefetchu" || opcode == "discard" || opcode == "applypriority") {
        // Hints about lines that hold no data of their own in the functional model.
        if (current_->has("tensormap")) return false;
        i.kind = Kind::nop;
        i.opClass = arch::OpClass::control;
        for (const Operand& operand : current_->operands)
            if (operand.baseIsReg) readRegister(operand);
    } else if (opcode == "createpolicy") {
        // The policy is only ever handed to accesses that ignore it.
        i.dst[0] = result(current_->operands.at(0), Type::b64);
        i.src[0] = constants_.value(0, 8);
        i.dstCount = i.srcCount = 1;
        i.run = [](const Instr& instr, Warp& w, LaneMask mask) {
            std::uint64_t* d = w.lanes<std::uint64_t>(instr.dst[0]);
            for (LaneMask m = mask; m; m &= m - 1) d[std::countr_zero(m)] = 0;
        };
    } else {
        return false;
    }
    return true;
}

void FunctionLowering::lowerLoad(Instr& i) {
    const MemoryModifiers m = memoryModifiers(2);
    const std::vector<Operand> elements = elementsOf(current_->operands[0], m.isWide ? 1 : m.elements);
    const unsigned width = m.isWide ? 64 : widthOf(elements, m.type), bytes = ptx::bitsOf(m.type) / 8 * m.elements;
    i.kind = Kind::memory;
    i.opClass = arch::OpClass::memory;
    i.space = m.space;
    i.cacheOp = m.cacheOp;
    i.type = m.type;
    i.elementBytes = static_cast<std::uint8_t>(ptx::bitsOf(m.type) / 8);
    i.elements = static_cast<std::uint8_t>(m.elements);
    const bool isCallParam = memoryAddress(current_->operands[1], bytes, i);
    i.run = isCallParam ? loadCallParamHandler(m.type, width) : loadHandler(m.type, width);
    if (isCallParam) {
        i.kind = Kind::compute;
        i.opClass = arch::OpClass::integer;
    }
    if (!i.run) refuse(fmt::format(".{} does not fit in registers of {} bits", nameOf(m.type), width));
    if (m.isWide) {
        const Halves to = wideResult(elements[0]);
        i.dst[0] = to.low;
        i.dst[1] = to.high;
    } else {
        for (unsigned e = 0; e < m.elements; ++e) i.dst[e] = dataResult(elements[e]);
    }
    i.dstCount = static_cast<std::uint8_t>(m.elements);
    i.srcCount = 1;
}

void FunctionLowering::lowerStore(Instr& i) {
    const MemoryModifiers m = memoryModifiers(current_->has("async") ? 3 : 2);
    const std::vector<Operand> elements = elementsOf(current_->operands[1], m.isWide ? 1 : m.elements);
    const unsigned width = m.isWide ? 64 : widthOf(elements, m.type), bytes = ptx::bitsOf(m.type) / 8 * m.elements;
    if (m.space == Space::constant) refuse("constant memory cannot be written");
    i.kind = Kind::memory;
    i.opClass = arch::OpClass::memory;
    i.space = m.space;
    i.cacheOp = m.cacheOp;
    i.type = m.type;
    i.elementBytes = static_cast<std::uint8_t>(ptx::bitsOf(m.type) / 8);
    i.elements = static_cast<std::uint8_t>(m.elements);
    const Operand& to = current_->operands[0];
    const bool isCallParam = memoryAddress(to, bytes, i);
    if (const auto local = locals_.find(to.name);
        !to.baseIsReg && local != locals_.end() && local->second.isKernelParam)
        refuse("a kernel's parameters cannot be written");
    i.run = isCallParam ? storeCallParamHandler(m.type, width) : storeHandler(m.type, width);
    if (isCallParam) {
        i.kind = Kind::compute;
        i.opClass = arch::OpClass::integer;
    }
    if (!i.run) refuse(fmt::format("registers of {} bits are too narrow for .{}", width, nameOf(m.type)));
    if (m.isWide) {
        const Halves from = wideSource(elements[0]);
        i.src[1] = from.low;
        i.src[2] = from.high;
    } else {
        for (unsigned e = 0; e < m.elements; ++e) i.src[1 + e] = dataSource(elements[e], m.type, width);
    }
    i.srcCount = static_cast<std::uint8_t>(1 + m.elements);
}

void FunctionLowering::lowerAtomic(Instr& i) {
    const bool isReduction = current_->opcode == "red";
    const bool isCas = current_->has("cas");
    const std::size_t first = isReduction ? 0 : 1;
    const MemoryModifiers m = memoryModifiers(first + (isCas || current_->has("async") ? 3 : 2));
    if (m.operation.empty()) refuse("the instruction has no operation");
    if (m.space != Space::none && m.space != Space::global && m.space != Space::shared)
        refuse(fmt::format("there are no atomics on .{} memory", nameOf(m.space)));
    const Type type = m.isWide ? Type::b128 : m.type;
    i.run = atomicHandler(m.operation, type);
    if (!i.run || (isReduction && (isCas || m.operation == "exch")))
        refuse(fmt::format("there is no {}.{}.{}", current_->opcode, m.operation, nameOf(type)));
    i.kind = Kind::memory;
    i.opClass = arch::OpClass::memory;
    i.space = m.space;
    i.type = m.type;
    i.elementBytes = static_cast<std::uint8_t>(ptx::bitsOf(m.type) / 8);
    i.elements = static_cast<std::uint8_t>(m.elements);
    const auto& operands = current_->operands;
    if (memoryAddress(operands[first], i.elementBytes * m.elements, i)) refuse("there are no atomics on parameters");
    if (i.space == Space::constant || i.space == Space::local || i.space == Space::param)
        refuse(fmt::format("there are no atomics on .{} memory", nameOf(i.space)));
    if (m.isWide) return wideAtomicOperands(i, isCas);
    const std::vector<Operand> values = elementsOf(operands[first + 1], m.elements);
    for (unsigned e = 0; e < m.elements; ++e) i.src[1 + e] = source(values[e], m.type);
    i.srcCount = static_cast<std::uint8_t>(1 + m.elements);
    if (isCas) i.src[i.srcCount++] = source(operands[first + 2], m.type);
    if (isReduction || operands[0].kind == Operand::Kind::sink) return;
    const std::vector<Operand> results = elementsOf(operands[0], m.elements);
    for (unsigned e = 0; e < m.elements; ++e) i.dst[e] = result(results[e], m.type);
    i.dstCount = static_cast<std::uint8_t>(m.elements);
}

/// atom.exch.b128 and atom.cas.b128: the halves of each value side by side.
void FunctionLowering::wideAtomicOperands(Instr& i, bool isCas) {
    const auto& operands = current_->operands;
    i.srcCount = 1;
    for (std::size_t value = 2; value < (isCas ? 4u : 3u); ++value) {
        const Halves from = wideSource(operands[value]);
        i.src[i.srcCount++] = from.low;
        i.src[i.srcCount++] = from.high;
    }
    if (operands[0].kind == Operand::Kind::sink) return;
    const Halves to = wideResult(operands[0]);
    i.dst[0] = to.low;
    i.dst[1] = to.high;
    i.dstCount = 2;
}

void FunctionLowering::lowerAsync(Instr& i) {
    if (current_->has("mbarrier")) return lowerArrivalOfCopies(i);
    i.opClass = arch::OpClass::control;
    if (current_->has("commit_group")) {
        i.kind = Kind::asyncCommit;
    } else if (current_->has("wait_group")) {
        const auto& operands = current_->operands;
        expectOperands(1, 1);
        if (operands[0].kind != Operand::Kind::integer || operands[0].integer < 0)
            refuse("a number of groups is wanted");
        i.kind = Kind::asyncWait;
        i.immediate = operands[0].integer;
    } else if (current_->has("wait_all")) {
        // Also waits for what has not been committed: a commit, then a wait for every group.
        i.kind = Kind::asyncCommit;
        emit(*current_, i, {}, {});
        i.kind = Kind::asyncWait;
        i.immediate = 0;
    } else {
        lowerAsyncCopy(i);
    }
}

void FunctionLowering::lowerAsyncCopy(Instr& i) {
    const auto& operands = current_->operands;
    bool ca = false, hasPolicy = false;
    for (const std::string& m : current_->modifiers) {
        ca |= m == "ca";
        hasPolicy |= m == "L2::cache_hint";
        if (m != "async" && m != "ca" && m != "cg" && m != "global" && m != "shared" && m != "shared::cta" &&
            m != "shared::cluster" && !m.starts_with("L2::"))
            refuse(fmt::format("unknown modifier '.{}'", m));
    }
    const std::size_t policies = hasPolicy ? 1 : 0;
    expectOperands(3 + policies, 4 + policies);
    if (operands[2].kind != Operand::Kind::integer) refuse("the size of a copy is a number");
    const std::int64_t bytes = operands[2].integer;
    if (bytes != 16 && !(ca && (bytes == 4 || bytes == 8)))
        refuse(ca ? "cp.async.ca copies 4, 8 or 16 bytes" : "cp.async.cg copies 16 bytes");

    i.cacheOp = ca ? CacheOp::ca : CacheOp::cg;
    i.elementBytes = static_cast<std::uint8_t>(bytes);
    i.run = runAsyncCopy;
    asyncCopyAddresses(i);
    if (operands.size() > 3 + policies) asyncCopyLimit(i, operands[3]);
    if (hasPolicy) source(operands.back(), Type::b64);
}

/// To shared memory (the first operand) from global memory (the second).
void FunctionLowering::asyncCopyAddresses(Instr& i) {
    Instr from = i;
    from.space = Space::global;
    memoryAddress(current_->operands[1], i.elementBytes, from);
    if (from.addressIs32) refuse("global addresses have 64 bits");
    if (from.immediate != static_cast<std::int32_t>(from.immediate)) refuse("the displacement is too large");
    i.kind = Kind::memory;
    i.opClass = arch::OpClass::memory;
    i.space = Space::shared;
    memoryAddress(current_->operands[0], i.elementBytes, i);
    if (!i.hasAddress) {
        // Both addresses of a copy are registers or constants: only one can live in the instruction.
        i.src[0] = constants_.value(static_cast<std::uint64_t>(i.immediate), 8);
        i.immediate = 0;
        i.hasAddress = true;
    }
    i.src[1] = from.src[0];
    i.extra = static_cast<std::uint32_t>(from.immediate);
    i.srcCount = 2;
}

/// How many bytes are read, the rest being zeros; or a predicate that says whether any are.
void FunctionLowering::asyncCopyLimit(Instr& i, const Operand& limit) {
    if (limit.kind == Operand::Kind::reg && limit.type == Type::pred) {
        i.src[2] = constants_.value(i.elementBytes, 4);
        i.src[3] = predicateSource(limit);
        i.srcCount = 4;
        if (limit.negated) i.type = Type::pred;
    } else {
        i.src[2] = source(limit, Type::u32);
        i.srcCount = 3;
    }
}

}  // namespace bulkhead::sim
