#include <algorithm>
#include <optional>

#include "sim/exec/function_lowering.h"
#include "sim/exec/matrix_access.h"
#include "sim/exec/matrix_fragment.h"
#include "sim/exec/matrix_multiply.h"

// wmma, mma, wgmma, ldmatrix, stmatrix and movmatrix.

namespace bulkhead::sim {

using ptx::Space;
using ptx::Type;

namespace {

struct NamedMatrixType {
    std::string_view name;
    MatrixType type;
};
constexpr NamedMatrixType kMatrixTypes[] = {
    {"f64", MatrixType::f64},   {"f32", MatrixType::f32},   {"tf32", MatrixType::tf32}, {"f16", MatrixType::f16},
    {"bf16", MatrixType::bf16}, {"e4m3", MatrixType::e4m3}, {"e5m2", MatrixType::e5m2}, {"s32", MatrixType::s32},
    {"s8", MatrixType::s8},     {"u8", MatrixType::u8},     {"s4", MatrixType::s4},     {"u4", MatrixType::u4},
    {"b1", MatrixType::b1},
};

std::optional<MatrixType> matrixTypeNamed(std::string_view name) {
    for (const NamedMatrixType& t : kMatrixTypes)
        if (t.name == name) return t.type;
    return std::nullopt;
}

/// "m16n8k16".
std::optional<MatrixShape> shapeNamed(std::string_view name) {
    std::uint32_t numbers[3] = {};
    std::size_t at = 0;
    for (int i = 0; i < 3; ++i) {
        if (at >= name.size() || name[at++] != "mnk"[i]) return std::nullopt;
        const std::size_t from = at;
        while (at < name.size() && name[at] >= '0' && name[at] <= '9' && at - from < 4)
            numbers[i] = numbers[i] * 10 + static_cast<std::uint32_t>(name[at++] - '0');
        if (at == from) return std::nullopt;
    }
    if (at != name.size()) return std::nullopt;
    return MatrixShape{static_cast<std::uint16_t>(numbers[0]), static_cast<std::uint16_t>(numbers[1]),
                       static_cast<std::uint16_t>(numbers[2])};
}

/// Types that have the same shapes.
enum class Family : std::uint8_t { f64, tf32, f16, bf16, quarter, byte, nibble, bit, none };
Family familyOf(MatrixType type) {
    switch (type) {
        case MatrixType::f64:
            return Family::f64;
        case MatrixType::tf32:
            return Family::tf32;
        case MatrixType::f16:
            return Family::f16;
        case MatrixType::bf16:
            return Family::bf16;
        case MatrixType::e4m3:
        case MatrixType::e5m2:
            return Family::quarter;
        case MatrixType::s8:
        case MatrixType::u8:
            return Family::byte;
        case MatrixType::s4:
        case MatrixType::u4:
            return Family::nibble;
        case MatrixType::b1:
            return Family::bit;
        default:
            return Family::none;
    }
}
struct AllowedProduct {
    Family family;
    MatrixShape shape;
};
constexpr AllowedProduct kDense[] = {
    {Family::f16, {8, 8, 4}},       {Family::f16, {16, 8, 8}},    {Family::f16, {16, 8, 16}},
    {Family::bf16, {16, 8, 8}},     {Family::bf16, {16, 8, 16}},  {Family::tf32, {16, 8, 4}},
    {Family::tf32, {16, 8, 8}},     {Family::f64, {8, 8, 4}},     {Family::f64, {16, 8, 4}},
    {Family::f64, {16, 8, 8}},      {Family::f64, {16, 8, 16}},   {Family::quarter, {16, 8, 16}},
    {Family::quarter, {16, 8, 32}}, {Family::byte, {8, 8, 16}},   {Family::byte, {16, 8, 16}},
    {Family::byte, {16, 8, 32}},    {Family::nibble, {8, 8, 32}}, {Family::nibble, {16, 8, 32}},
    {Family::nibble, {16, 8, 64}},  {Family::bit, {8, 8, 128}},   {Family::bit, {16, 8, 128}},
    {Family::bit, {16, 8, 256}},
};
constexpr AllowedProduct kSparse[] = {
    {Family::f16, {16, 8, 16}},     {Family::f16, {16, 8, 32}},     {Family::bf16, {16, 8, 16}},
    {Family::bf16, {16, 8, 32}},    {Family::tf32, {16, 8, 8}},     {Family::tf32, {16, 8, 16}},
    {Family::byte, {16, 8, 32}},    {Family::byte, {16, 8, 64}},    {Family::nibble, {16, 8, 64}},
    {Family::nibble, {16, 8, 128}}, {Family::quarter, {16, 8, 64}},
};
constexpr AllowedProduct kWmma[] = {
    {Family::f16, {16, 16, 16}},  {Family::f16, {8, 32, 16}},  {Family::f16, {32, 8, 16}},
    {Family::bf16, {16, 16, 16}}, {Family::bf16, {8, 32, 16}}, {Family::bf16, {32, 8, 16}},
    {Family::byte, {16, 16, 16}}, {Family::byte, {8, 32, 16}}, {Family::byte, {32, 8, 16}},
    {Family::tf32, {16, 16, 8}},  {Family::f64, {8, 8, 4}},    {Family::nibble, {8, 8, 32}},
    {Family::bit, {8, 8, 128}},
};

template <std::size_t n>
bool isAllowed(const AllowedProduct (&table)[n], MatrixType type, MatrixShape shape) {
    return std::any_of(std::begin(table), std::end(table),
                       [&](const AllowedProduct& a) { return a.family == familyOf(type) && a.shape == shape; });
}

/// Which accumulators go with factors.
bool mayAccumulate(MatrixType factor, MatrixType accumulator) {
    switch (familyOf(factor)) {
        case Family::f64:
            return accumulator == MatrixType::f64;
        case Family::tf32:
        case Family::bf16:
            return accumulator == MatrixType::f32;
        case Family::f16:
        case Family::quarter:
            return accumulator == MatrixType::f32 || accumulator == MatrixType::f16;
        case Family::none:
            return false;
        default:
            return accumulator == MatrixType::s32;
    }
}

bool isInteger(MatrixType type) {
    const Family family = familyOf(type);
    return family == Family::byte || family == Family::nibble;
}

Type registerType(MatrixType type) {
    return type == MatrixType::f64 ? Type::b64 : Type::b32;
}

}  // namespace

/// The modifiers of a matrix instruction, told apart.
struct FunctionLowering::MatrixModifiers {
    std::optional<MatrixShape> shape;
    std::vector<MatrixType> types;
    std::vector<bool> byColumn;
    bool saturates = false, isSparse = false, intersects = false, differs = false, transposes = false;
    unsigned matrices = 0;
    Space space = Space::none;
    bool isM8n8 = false, isB16 = false;
};

FunctionLowering::MatrixModifiers FunctionLowering::matrixModifiers() {
    static constexpr std::string_view kSaidAsWell[] = {"sync", "aligned", "popc",  "rn",
                                                       "mma",  "load",    "store", "mma_async"};
    MatrixModifiers result;
    for (const std::string& m : current_->modifiers) {
        if (const auto type = matrixTypeNamed(m))
            result.types.push_back(*type);
        else if (const auto shape = shapeNamed(m))
            result.shape = shape;
        else if (m == "row" || m == "col")
            result.byColumn.push_back(m == "col");
        else if (m == "satfinite")
            result.saturates = true;
        else if (m == "sp" || m == "sp::ordered_metadata")
            result.isSparse = true;
        else if (m == "xor")
            result.differs = true;
        else if (m == "and")
            result.intersects = true;
        else if (m == "x1" || m == "x2" || m == "x4")
            result.matrices = static_cast<unsigned>(m[1] - '0');
        else if (m == "trans")
            result.transposes = true;
        else if (m == "m8n8")
            result.isM8n8 = true;
        else if (m == "b16")
            result.isB16 = true;
        else if (m == "shared" || m == "shared::cta")
            result.space = Space::shared;
        else if (m == "global")
            result.space = Space::global;
        else if (m != "a" && m != "b" && m != "c" && m != "d" &&
                 std::find(std::begin(kSaidAsWell), std::end(kSaidAsWell), m) == std::end(kSaidAsWell))
            refuse(fmt::format("unknown modifier '.{}'", m));
    }
    return result;
}

bool FunctionLowering::lowerMatrix(Instr& i) {
    const std::string& opcode = current_->opcode;
    if (opcode == "mma") {
        lowerMma(i);
    } else if (opcode == "wmma") {
        if (current_->has("load") || current_->has("store"))
            lowerFragment(i);
        else
            lowerWmma(i);
    } else if (opcode == "wgmma") {
        lowerWarpgroup(i);
    } else if (opcode == "ldmatrix" || opcode == "stmatrix") {
        lowerMatrices(i);
    } else if (opcode == "movmatrix") {
        expectOperands(2, 2);
        if (!current_->has("m8n8") || !current_->has("trans") || !current_->has("b16"))
            refuse("only movmatrix.sync.aligned.m8n8.trans.b16 is there");
        i.opClass = arch::OpClass::shuffle;
        i.run = runTransposeMatrix;
        i.dst[0] = result(current_->operands[0], Type::b32);
        i.src[0] = source(current_->operands[1], Type::b32);
        i.dstCount = i.srcCount = 1;
    } else {
        return false;
    }
    return true;
}

std::vector<Slot> FunctionLowering::fragmentSources(const Operand& operand, MatrixType type, unsigned count) {
    std::vector<Slot> slots;
    for (const Operand& element : elementsOf(operand, count)) slots.push_back(source(element, registerType(type)));
    return slots;
}

std::vector<Slot> FunctionLowering::fragmentResults(const Operand& operand, MatrixType type, unsigned count) {
    std::vector<Slot> slots;
    for (const Operand& element : elementsOf(operand, count)) slots.push_back(result(element, registerType(type)));
    return slots;
}

namespace {

/// What a tensor core has to do for it, in multiply-adds of 16-bit numbers: fewer for narrow numbers. What an H200 does
/// in several instructions counts as long as it takes there (results/h200/tensor-cores.json).
std::uint32_t workOf(const MatrixSite& site) {
    const std::uint32_t products = std::uint32_t{site.m} * site.n * site.k / (site.isSparse ? 2 : 1);
    constexpr std::uint32_t kCycle = 512;
    if (site.a == MatrixType::f64) return products;
    if (site.ofWarpgroup) return products / 4 * bitsOf(site.a) / 16;
    switch (familyOf(site.a)) {
        case Family::nibble:
            return (site.m == 8 ? 110 : site.k <= 32 ? 160 : 316) * kCycle;
        case Family::quarter:
            return (site.k <= 16 ? 16 : site.k <= 32 ? 24 : 48) * kCycle;
        case Family::bit:
            if (!site.intersects && site.m > 8) return (site.k <= 128 ? 35 : 47) * kCycle;
            break;
        default:
            break;
    }
    return products * bitsOf(site.a) / 16;
}

/// Bytes of shared memory that the warps of a warpgroup read together.
std::uint32_t sharedBytesOf(const MatrixSite& site) {
    if (!site.ofWarpgroup) return 0;
    const std::uint32_t a = site.aRegisters.empty() ? site.m * site.k / (site.isSparse ? 2u : 1u) : 0;
    return (a * bitsOf(site.a) + std::uint32_t{site.n} * site.k * bitsOf(site.b)) / 8;
}

}  // namespace

void FunctionLowering::addProduct(Instr& i, MatrixSite site) {
    i.opClass = site.ofWarpgroup ? arch::OpClass::tensorGroup : arch::OpClass::tensor;
    i.run = runMatrixMultiply;
    i.target = workOf(site);
    i.reconverge = sharedBytesOf(site);
    i.type = site.a == MatrixType::f64 ? Type::f64 : Type::none;
    const bool ofOctets = site.a == MatrixType::f16 && site.m == 8 && site.n == 8;
    i.elements = ofOctets ? 0 : site.isSparse ? 2 : 1;
    addMatrixSite(i, std::move(site));
}

void FunctionLowering::addMatrixSite(Instr& i, MatrixSite site) {
    i.extra = static_cast<std::uint32_t>(code_.matrixSites.size());
    code_.matrixSites.push_back(std::move(site));
}

/// MatrixShape, types and what the operation does, without operands.
MatrixSite FunctionLowering::productSite(const MatrixModifiers& m) {
    MatrixSite site;
    if (!m.shape) refuse("the instruction has no shape");
    if (m.types.size() != 4) refuse("four types are wanted: of D, A, B and C");
    site.m = m.shape->m;
    site.n = m.shape->n;
    site.k = m.shape->k;
    site.d = m.types[0];
    site.a = m.types[1];
    site.b = m.types[2];
    site.c = m.types[3];
    site.saturates = m.saturates;
    site.isSparse = m.isSparse;
    site.intersects = m.intersects;
    if (familyOf(site.a) != familyOf(site.b)) refuse("A and B have types that do not go together");
    if (!mayAccumulate(site.a, site.d) || !mayAccumulate(site.a, site.c))
        refuse("the accumulators have a type that does not go with A and B");
    if (m.saturates && !isInteger(site.a) && site.a != MatrixType::f16) refuse("'.satfinite' is for integers");
    if (site.a == MatrixType::b1 && m.intersects == m.differs) refuse("'.xor.popc' or '.and.popc' is wanted");
    return site;
}

void FunctionLowering::lowerMma(Instr& i) {
    const MatrixModifiers m = matrixModifiers();
    MatrixSite site = productSite(m);
    if (site.isSparse ? !isAllowed(kSparse, site.a, *m.shape) : !isAllowed(kDense, site.a, *m.shape))
        refuse("there is no product of this shape and these types");
    if (m.byColumn.size() != 2) refuse("the layouts of A and B are wanted");
    const bool ofOctets = site.a == MatrixType::f16 && site.m == 8;
    if (!ofOctets && (m.byColumn[0] || !m.byColumn[1])) refuse("A is wanted by rows and B by columns");
    if (site.c != site.d && !(ofOctets && site.d == MatrixType::f32)) refuse("C and D have different types");
    site.aByColumn = m.byColumn[0];
    site.bByRow = !m.byColumn[1];
    const auto& operands = current_->operands;
    expectOperands(site.isSparse ? 6 : 4, site.isSparse ? 6 : 4);
    const int parts = ofOctets ? 4 : 1, stored = storedDepth(site);
    const auto registersOf = [](int elements, MatrixType type) {
        return static_cast<unsigned>(distinctRegisters(elements, type));
    };
    site.dRegisters = fragmentResults(operands[0], site.d, registersOf(site.m * site.n * parts, site.d));
    site.aRegisters = fragmentSources(operands[1], site.a, registersOf(site.m * stored * parts, site.a));
    site.bRegisters = fragmentSources(operands[2], site.b, registersOf(site.k * site.n * parts, site.b));
    site.cRegisters = fragmentSources(operands[3], site.c, registersOf(site.m * site.n * parts, site.c));
    if (site.isSparse) readSparsity(site, operands[4], operands[5]);
    addProduct(i, std::move(site));
}

/// Where the indices of a sparse A's elements are: 16, 32 or 64 bits a row, of one, two or all four lanes.
void FunctionLowering::readSparsity(MatrixSite& site, const Operand& metadata, const Operand& selector) {
    const int bits = metadataBits(site);
    const std::int64_t most = bits == 16 ? 3 : bits == 32 ? 1 : 0;
    if (selector.kind != Operand::Kind::integer || selector.integer < 0 || selector.integer > most)
        refuse(fmt::format("the sparsity selector is a number from 0 to {}", most));
    site.selector = static_cast<std::uint8_t>(selector.integer);
    site.metadata = source(metadata, Type::b32);
}

namespace {

/// Registers of a fragment of A or B as wmma has them: halves are held twice.
unsigned fragmentRegisters(int elements, MatrixType type) {
    return type == MatrixType::f16 ? 8 : static_cast<unsigned>(distinctRegisters(elements, type));
}

}  // namespace

void FunctionLowering::lowerWmma(Instr& i) {
    MatrixModifiers m = matrixModifiers();
    // In f16 only D and C are named.
    if (m.types.size() == 2) m.types = {m.types[0], MatrixType::f16, MatrixType::f16, m.types[1]};
    MatrixSite site = productSite(m);
    if (!isAllowed(kWmma, site.a, *m.shape)) refuse("there is no product of this shape and these types");
    if (site.a != site.b) refuse("A and B have different types");
    if (m.byColumn.size() != 2) refuse("the layouts of A and B are wanted");
    const auto& operands = current_->operands;
    expectOperands(4, 4);
    const auto registersOf = [&](MatrixType type) {
        return static_cast<unsigned>(distinctRegisters(site.m * site.n, type));
    };
    site.dRegisters = fragmentResults(operands[0], site.d, registersOf(site.d));
    site.aRegisters = fragmentSources(operands[1], site.a, fragmentRegisters(site.m * site.k, site.a));
    site.bRegisters = fragmentSources(operands[2], site.b, fragmentRegisters(site.k * site.n, site.b));
    site.cRegisters = fragmentSources(operands[3], site.c, registersOf(site.c));
    addProduct(i, std::move(site));
}

/// wmma.load and wmma.store: an access for each register, or for each element where they do not lie side by side.
void FunctionLowering::lowerFragment(Instr& i) {
    const MatrixModifiers m = matrixModifiers();
    const bool stores = current_->has("store");
    MatrixSite site;
    if (!m.shape || m.types.size() != 1 || m.byColumn.size() != 1) refuse("a shape, a layout and a type are wanted");
    site.m = m.shape->m;
    site.n = m.shape->n;
    site.k = m.shape->k;
    site.d = m.types[0];
    site.byColumn = m.byColumn[0];
    using Role = MatrixSite::Role;
    site.role = current_->has("a") ? Role::a : current_->has("b") ? Role::b : Role::accumulators;
    if (stores != current_->has("d")) refuse("fragments a, b and c are loaded, and d is stored");
    const bool isFactor = site.role != Role::accumulators;
    if (isFactor ? !isAllowed(kWmma, site.d, *m.shape)
                 : site.d != MatrixType::f16 && site.d != MatrixType::f32 && site.d != MatrixType::s32 &&
                       site.d != MatrixType::f64)
        refuse("there is no fragment of this shape and type");
    if (!isFactor &&
        std::none_of(std::begin(kWmma), std::end(kWmma), [&](const AllowedProduct& a) { return a.shape == *m.shape; }))
        refuse("there is no fragment of this shape and type");
    if (isFactor && bitsOf(site.d) < 8 && site.byColumn != (site.role == Role::b))
        refuse("A is wanted by rows and B by columns");
    expectOperands(2, 3);
    const auto& operands = current_->operands;
    const Operand &registers = operands[stores ? 1 : 0], &address = operands[stores ? 0 : 1];
    const int rows = site.role == Role::b ? site.k : site.m, columns = site.role == Role::a ? site.k : site.n;
    const unsigned count = isFactor ? fragmentRegisters(rows * columns, site.d)
                                    : static_cast<unsigned>(distinctRegisters(rows * columns, site.d));
    i.kind = Kind::memory;
    i.opClass = arch::OpClass::memory;
    i.space = m.space;
    if (memoryAddress(address, 4, i)) refuse("fragments are not among parameters");
    if (operands.size() > 2) {
        site.stride = source(operands[2], Type::u32);
    } else {
        site.stride = constants_.value(static_cast<std::uint64_t>(site.byColumn ? rows : columns), 4);
    }
    const std::vector<Operand> elements = elementsOf(registers, count);
    // Along the depth of A and B, and along rows of accumulators, a register holds neighbours.
    const bool alongRows = site.role != Role::b;
    const bool isPiece = packed(site.d) == 1 || bitsOf(site.d) < 8 || alongRows != site.byColumn;
    const unsigned inRegister = static_cast<unsigned>(packed(site.d)), accesses = isPiece ? 1 : inRegister;
    i.elementBytes = static_cast<std::uint8_t>(bitsOf(site.d) == 64 ? 8 : isPiece ? 4 : bitsOf(site.d) / 8);
    const MatrixType type = site.d;
    addMatrixSite(i, std::move(site));
    i.run = stores ? runStoreFragment : runLoadFragment;
    const std::vector<std::uint16_t> common = reads_;
    for (unsigned r = 0; r < count; ++r) {
        reads_ = common;
        writes_.clear();
        if (stores)
            i.src[1] = source(elements[r], registerType(type));
        else
            i.dst[0] = result(elements[r], registerType(type));
        i.srcCount = stores ? 2 : 1;
        i.dstCount = stores ? 0 : 1;
        i.target = r;
        for (unsigned e = 0; e < accesses; ++e) {
            i.reconverge = e;
            finish(*current_, i);
        }
    }
    consumed_ = true;
}

void FunctionLowering::lowerMatrices(Instr& i) {
    const MatrixModifiers m = matrixModifiers();
    const bool stores = current_->opcode == "stmatrix";
    if (!m.isM8n8 || !m.isB16 || m.matrices == 0)
        refuse("matrices of .m8n8 and .b16 are there, one, two or four of them");
    expectOperands(2, 2);
    const Operand &registers = current_->operands[stores ? 1 : 0], &address = current_->operands[stores ? 0 : 1];
    i.kind = Kind::memory;
    i.opClass = arch::OpClass::memory;
    i.space = m.space;
    i.elementBytes = 16;
    i.srcCount = 1;
    if (memoryAddress(address, 16, i)) refuse("matrices are not among parameters");
    i.target = m.transposes ? 1 : 0;
    const std::vector<Operand> elements = elementsOf(registers, m.matrices);
    for (const Operand& element : elements) {
        if (stores)
            i.src[i.srcCount++] = source(element, Type::b32);
        else
            i.dst[i.dstCount++] = result(element, Type::b32);
    }
    i.run = stores ? runStoreMatrices : runLoadMatrices;
}

namespace {

bool isWarpgroupWidth(MatrixType type, unsigned n) {
    if (n < 8 || n > 256 || n % 8 != 0) return false;
    return isTensorFloat(type) || n <= 32 || n % 16 == 0;
}
unsigned warpgroupDepth(MatrixType type) {
    return type == MatrixType::b1 ? 256 : 256 / bitsOf(type);
}

}  // namespace

void FunctionLowering::lowerWarpgroup(Instr& i) {
    i.opClass = arch::OpClass::control;
    if (current_->has("fence") || current_->has("commit_group")) {
        i.kind = current_->has("fence") ? Kind::nop : Kind::matrixCommit;
        expectOperands(0, 0);
    } else if (current_->has("wait_group")) {
        expectOperands(1, 1);
        const Operand& groups = current_->operands[0];
        if (groups.kind != Operand::Kind::integer || groups.integer < 0 || groups.integer > 7)
            refuse("a number of groups from 0 to 7 is wanted");
        i.kind = Kind::matrixWait;
        i.immediate = groups.integer;
    } else if (current_->has("mma_async")) {
        lowerWarpgroupProduct(i);
    } else {
        refuse("the instruction has no operation");
    }
}

void FunctionLowering::lowerWarpgroupProduct(Instr& i) {
    MatrixModifiers m = matrixModifiers();
    if (m.types.size() != 3) refuse("three types are wanted: of D, A and B");
    m.types.push_back(m.types[0]);
    MatrixSite site = productSite(m);
    site.ofWarpgroup = true;
    if (site.m != 64 || !isWarpgroupWidth(site.a, site.n) ||
        site.k != warpgroupDepth(site.a) * (site.isSparse ? 2 : 1) || site.a == MatrixType::f64 ||
        bitsOf(site.a) == 4 || (site.a == MatrixType::b1 && (site.isSparse || !site.intersects)))
        refuse("there is no product of this shape and these types");
    const bool scales = isTensorFloat(site.a), transposes = bitsOf(site.a) == 16;
    const auto& operands = current_->operands;
    if (operands.size() < 4) refuse("too few operands");
    const bool aInRegisters = operands[1].kind == Operand::Kind::vector;
    const std::size_t expected =
        4 + (site.isSparse ? 2 : 0) + (scales ? 2 : 0) + (transposes ? (aInRegisters ? 1 : 2) : 0);
    expectOperands(expected, expected);
    const unsigned accumulators = static_cast<unsigned>(distinctRegisters(16 * site.n, site.d));
    site.cRegisters = fragmentSources(operands[0], site.c, accumulators);
    site.dRegisters = site.cRegisters;
    if (aInRegisters)
        site.aRegisters = fragmentSources(operands[1], site.a,
                                          static_cast<unsigned>(distinctRegisters(16 * storedDepth(site), site.a)));
    else
        site.aDescriptor = source(operands[1], Type::b64);
    site.bDescriptor = source(operands[2], Type::b64);
    std::size_t next = 3;
    if (site.isSparse) {
        readSparsity(site, operands[3], operands[4]);
        next = 5;
    }
    const Operand& accumulate = operands[next++];
    if (accumulate.kind == Operand::Kind::integer) {
        site.accumulation =
            accumulate.integer != 0 ? MatrixSite::Accumulation::always : MatrixSite::Accumulation::never;
    } else {
        site.accumulates = predicateSource(accumulate);
        site.accumulation = accumulate.negated ? MatrixSite::Accumulation::unless : MatrixSite::Accumulation::where;
    }
    const auto number = [&](std::int64_t one, std::int64_t other) {
        const Operand& operand = operands[next++];
        if (operand.kind != Operand::Kind::integer || (operand.integer != one && operand.integer != other))
            refuse(fmt::format("{} or {} is wanted", one, other));
        return operand.integer == other;
    };
    if (scales) {
        site.negatesA = number(1, -1);
        site.negatesB = number(1, -1);
    }
    if (transposes) {
        if (!aInRegisters) site.aTransposed = number(0, 1);
        site.bTransposed = number(0, 1);
    }
    addProduct(i, std::move(site));
}

}  // namespace bulkhead::sim
