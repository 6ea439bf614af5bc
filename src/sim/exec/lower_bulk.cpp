#include <algorithm>

#include "sim/exec/bulk_copy.h"
#include "sim/exec/function_lowering.h"
#include "sim/exec/tensor_map.h"

// Bulk copies: cp.async.bulk and cp.reduce.async.bulk, of bytes and of tensors, and their groups.

namespace bulkhead::sim {

using ptx::Space;
using ptx::Type;

namespace {

constexpr std::string_view kReductions[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};
constexpr std::string_view kBulkTypes[] = {"f16", "bf16", "b32", "u32", "s32", "b64", "u64", "s64", "f32", "f64"};
constexpr std::string_view kBulkWords[] = {"async",
                                           "bulk",
                                           "reduce",
                                           "tensor",
                                           "global",
                                           "shared::cta",
                                           "shared::cluster",
                                           "bulk_group",
                                           "mbarrier::complete_tx::bytes",
                                           "multicast::cluster",
                                           "noftz",
                                           "prefetch",
                                           "L2",
                                           "tile",
                                           "im2col",
                                           "im2col_no_offs",
                                           "1d",
                                           "2d",
                                           "3d",
                                           "4d",
                                           "5d"};

template <std::size_t n>
bool hasWord(const std::string_view (&names)[n], std::string_view name) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

Type bulkTypeNamed(std::string_view name) {
    for (const Type type : {Type::f16, Type::bf16, Type::b32, Type::u32, Type::s32, Type::b64, Type::u64, Type::s64,
                            Type::f32, Type::f64})
        if (nameOf(type) == name) return type;
    return Type::none;
}

}  // namespace

bool FunctionLowering::lowerBulk(Instr& i) {
    const std::string& opcode = current_->opcode;
    if (opcode == "prefetch" && current_->has("tensormap")) {
        i.kind = Kind::nop;
        i.opClass = arch::OpClass::control;
        for (const Operand& operand : current_->operands)
            if (operand.baseIsReg) readRegister(operand);
        return true;
    }
    if (opcode == "tensormap" && current_->has("replace")) {
        lowerReplaceField(i);
        return true;
    }
    if (opcode == "tensormap" && current_->has("cp_fenceproxy")) {
        lowerCopyTensorMap(i);
        return true;
    }
    if (opcode != "cp" || !current_->has("bulk")) return false;
    if (current_->has("commit_group") || current_->has("wait_group")) {
        i.opClass = arch::OpClass::control;
        i.kind = current_->has("commit_group") ? Kind::bulkCommit : Kind::bulkWait;
        if (i.kind == Kind::bulkCommit) return true;
        expectOperands(1, 1);
        const Operand& groups = current_->operands[0];
        if (groups.kind != Operand::Kind::integer || groups.integer < 0) refuse("a number of groups is wanted");
        i.immediate = groups.integer;
        i.extra = current_->has("read") ? 1 : 0;
        return true;
    }
    lowerBulkCopy(i);
    return true;
}

BulkSite::Address FunctionLowering::bulkAddress(const Operand& operand, Space space) {
    Instr i;
    i.space = space;
    Operand address = operand;
    address.parts.clear();
    if (memoryAddress(address, 0, i)) refuse("a parameter of a call is not an address for a bulk copy");
    if (!i.hasAddress) {
        if (i.frameRelative) refuse("local memory is not copied");
        return {constants_.value(static_cast<std::uint64_t>(i.immediate), 8), false, 0};
    }
    return {i.src[0], i.addressIs32, i.immediate};
}

/// The map's generic address: a register, a kernel's parameter or a variable.
BulkSite::Address FunctionLowering::tensorMapAddress(const Operand& operand) {
    if (operand.baseIsReg) return bulkAddress(operand, Space::none);
    const Address a = addressOf(operand.name, operand.integer);
    const std::uint64_t window = a.space == Space::param ? kParamWindow : 0;
    return {addressSlot(a, 8, window), false, 0};
}

void FunctionLowering::bulkModifiers(BulkSite& site, Type& type) {
    bool toGlobal = false, fromGlobal = false, sawSpace = false;
    for (const std::string& m : current_->modifiers) {
        if (hasWord(kReductions, m) && current_->has("reduce"))
            site.reduction = m;
        else if (hasWord(kBulkTypes, m) && current_->has("reduce"))
            type = bulkTypeNamed(m);
        else if (m.starts_with("tile::") || m.starts_with("im2col::"))
            refuse(fmt::format("the mode '.{}' is of sm_100", m));
        else if (!hasWord(kBulkWords, m) && !m.starts_with("L2::"))
            refuse(fmt::format("unknown modifier '.{}'", m));
        if (m == "global" || m == "shared::cta" || m == "shared::cluster") {
            (sawSpace ? fromGlobal : toGlobal) = m == "global";
            sawSpace = true;
        }
        if (m.size() == 2 && m[1] == 'd') site.dimensions = static_cast<std::uint8_t>(m[0] - '0');
    }
    site.way = current_->has("prefetch") ? BulkWay::prefetch
               : toGlobal                ? BulkWay::toGlobal
               : fromGlobal              ? BulkWay::toShared
                                         : BulkWay::between;
    const bool completes = current_->has("mbarrier::complete_tx::bytes"), groups = current_->has("bulk_group");
    if (site.way != BulkWay::prefetch && (completes == groups || groups != (site.way == BulkWay::toGlobal)))
        refuse("copies to global memory have .bulk_group, those to shared memory .mbarrier::complete_tx::bytes");
    site.multicast = current_->has("multicast::cluster");
    if (site.multicast && site.way != BulkWay::toShared) refuse("only copies from global memory go to several blocks");
    if (current_->has("reduce") && (site.reduction.empty() || site.way == BulkWay::toShared))
        refuse("there is no such reduction");
    if (current_->has("tensor") != (site.dimensions != 0)) refuse("a tensor has .1d to .5d");
    site.im2col = current_->has("im2col") || current_->has("im2col_no_offs");
}

void FunctionLowering::lowerBulkCopy(Instr& i) {
    BulkSite site;
    Type type = Type::none;
    bulkModifiers(site, type);
    const std::vector<Operand>& operands = current_->operands;
    std::size_t next = 0;
    const auto take = [&]() -> const Operand& {
        if (next >= operands.size()) refuse("operands are missing");
        return operands[next++];
    };
    const bool isTensor = site.dimensions != 0;
    const auto tensor = [&](const Operand& operand) { tensorOperand(operand, site); };
    switch (site.way) {
        case BulkWay::toShared:
        case BulkWay::between:
            site.to = bulkAddress(take(), Space::shared);
            if (isTensor)
                tensor(take());
            else
                site.from = bulkAddress(take(), site.way == BulkWay::toShared ? Space::global : Space::shared);
            break;
        case BulkWay::toGlobal:
            if (isTensor)
                tensor(take());
            else
                site.to = bulkAddress(take(), Space::global);
            site.from = bulkAddress(take(), Space::shared);
            break;
        case BulkWay::prefetch:
            if (isTensor)
                tensor(take());
            else
                site.from = bulkAddress(take(), Space::global);
            break;
    }
    if (!isTensor) site.size = source(take(), Type::u32);
    if (site.way == BulkWay::toShared || site.way == BulkWay::between)
        site.mbarrier = bulkAddress(take(), Space::shared);
    if (current_->has("im2col") && site.dimensions > 2 && site.way != BulkWay::toGlobal) {
        const std::vector<Operand> offsets = elementsOf(take(), site.dimensions - 2u);
        for (std::size_t d = 0; d < offsets.size(); ++d) site.offset[d] = source(offsets[d], Type::u16);
        site.offsets = static_cast<std::uint8_t>(offsets.size());
    }
    if (site.multicast) site.mask = source(take(), Type::u16);
    if (current_->has("L2::cache_hint")) source(take(), Type::b64);
    if (next != operands.size()) refuse(fmt::format("{} operands expected, {} given", next, operands.size()));
    if (!site.reduction.empty() && !isTensor) {
        site.reduce = bulkReduction(site.reduction, type);
        if (!site.reduce) refuse(fmt::format("there is no reduction .{}.{}", site.reduction, nameOf(type)));
    }
    i.kind = Kind::memory;
    i.opClass = arch::OpClass::memory;
    i.run = runBulkCopy;
    i.extra = static_cast<std::uint32_t>(code_.bulkSites.size());
    code_.bulkSites.push_back(std::move(site));
}

void FunctionLowering::lowerReplaceField(Instr& i) {
    struct Field {
        std::string_view name;
        TensorField field;
        bool hasDimension;
    };
    static constexpr Field kFields[] = {
        {"global_address", TensorField::address, false}, {"rank", TensorField::rank, false},
        {"box_dim", TensorField::boxExtent, true},       {"global_dim", TensorField::extent, true},
        {"global_stride", TensorField::stride, true},    {"element_stride", TensorField::elementStride, true},
        {"elemtype", TensorField::element, false},       {"interleave_layout", TensorField::interleave, false},
        {"swizzle_mode", TensorField::swizzle, false},   {"fill_mode", TensorField::fill, false},
    };
    const Field* field = nullptr;
    bool isShared = false;
    for (const std::string& m : current_->modifiers) {
        const auto found =
            std::find_if(std::begin(kFields), std::end(kFields), [&](const Field& f) { return f.name == m; });
        if (found != std::end(kFields))
            field = found;
        else if (m == "shared::cta")
            isShared = true;
        else if (m != "replace" && m != "tile" && m != "global" && m != "b1024" && m != "b32" && m != "b64")
            refuse(fmt::format("unknown modifier '.{}'", m));
    }
    if (!field) refuse("a field of a tensor map is wanted");
    const std::vector<Operand>& operands = current_->operands;
    const std::size_t count = field->hasDimension ? 3 : 2;
    expectOperands(count, count);
    const BulkSite::Address address = bulkAddress(operands[0], isShared ? Space::shared : Space::none);
    unsigned dimension = 0;
    if (field->hasDimension) {
        if (operands[1].kind != Operand::Kind::integer || operands[1].integer < 0 || operands[1].integer > 4)
            refuse("a dimension is a number from 0 to 4");
        dimension = static_cast<unsigned>(operands[1].integer);
    }
    const bool isWide = current_->has("b64");
    i.kind = Kind::memory;
    i.opClass = arch::OpClass::memory;
    i.run = runReplaceField;
    i.space = isShared ? Space::shared : Space::none;
    i.src[0] = address.slot;
    i.addressIs32 = address.is32;
    i.immediate = address.displacement;
    i.src[1] = source(operands.back(), isWide ? Type::b64 : Type::b32);
    i.srcCount = 2;
    i.elementBytes = isWide ? 8 : 4;
    i.extra = static_cast<std::uint32_t>(field->field) | dimension << 8;
}

/// A warp makes a map in shared memory, and has it copied to where copy engines may read it.
void FunctionLowering::lowerCopyTensorMap(Instr& i) {
    static constexpr std::string_view kWords[] = {"cp_fenceproxy", "global", "shared::cta", "tensormap::generic",
                                                  "release",       "cta",    "cluster",     "gpu",
                                                  "sys",           "sync",   "aligned"};
    for (const std::string& m : current_->modifiers)
        if (!hasWord(kWords, m)) refuse(fmt::format("unknown modifier '.{}'", m));
    expectOperands(3, 3);
    const std::vector<Operand>& operands = current_->operands;
    if (operands[2].kind != Operand::Kind::integer || operands[2].integer != TensorMap::kBytes)
        refuse("a tensor map has 128 bytes");
    const BulkSite::Address to = bulkAddress(operands[0], Space::global),
                            from = bulkAddress(operands[1], Space::shared);
    i.kind = Kind::memory;
    i.opClass = arch::OpClass::memory;
    i.run = runCopyTensorMap;
    i.space = Space::none;
    i.src[0] = to.slot;
    i.addressIs32 = to.is32;
    i.immediate = to.displacement;
    i.src[1] = from.slot;
    i.srcCount = 2;
    i.elementBytes = from.is32 ? 4 : 8;
    i.extra = static_cast<std::uint32_t>(from.displacement);
}

/// [map, {coordinates}]
void FunctionLowering::tensorOperand(const Operand& operand, BulkSite& site) {
    if (operand.kind != Operand::Kind::address || operand.parts.empty())
        refuse("a tensor map and coordinates are wanted");
    site.map = tensorMapAddress(operand);
    const std::vector<Operand> coordinates =
        operand.parts.size() == 1 ? elementsOf(operand.parts[0], site.dimensions) : operand.parts;
    if (coordinates.size() != site.dimensions)
        refuse(fmt::format("{} coordinates expected, {} given", site.dimensions, coordinates.size()));
    for (unsigned d = 0; d < site.dimensions; ++d) site.coordinate[d] = source(coordinates[d], Type::s32);
}

}  // namespace bulkhead::sim
