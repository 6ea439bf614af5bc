#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

/// Random PTX programs, what they must give by the definitions of the PTX manual, and what a GPU gives. Nothing here
/// shares code with the simulator: an Operation is a line of PTX and, beside it, its meaning for one thread.
namespace bulkhead::differential {

constexpr unsigned kLanes = 32;
constexpr unsigned kThreads = 64;    ///< of the one block of a program
constexpr unsigned kSlotBytes = 32;  ///< that a thread has in each of shared, local and global memory
constexpr unsigned kTableBytes = 256;

enum class Width : std::uint8_t { pred, b16, b32, b64 };
constexpr unsigned bitsOf(Width width) {
    return width == Width::pred ? 1 : width == Width::b16 ? 16 : width == Width::b32 ? 32 : 64;
}

/// What an operand may be besides a register.
enum class Literal : std::uint8_t { none, integer, f32, f64 };

struct Source {
    Width width;
    Literal literal = Literal::none;
};

/// The memory of a block. `table` is the same in every program.
struct Memory {
    using Slot = std::array<std::uint8_t, kSlotBytes>;
    std::array<Slot, kThreads> shared{}, local{}, global{};
};
const std::array<std::uint8_t, kTableBytes>& constantTable();

/// One thread at an operation.
struct Evaluation {
    std::uint64_t in[5] = {}, out[4] = {};  ///< zero-extended; results are cut to their registers afterwards
    std::uint64_t constant = 0;
    unsigned thread = 0;
    Memory* memory = nullptr;
};

/// The threads of a warp that meet at an operation, by lane.
struct WarpEvaluation {
    std::uint32_t members = 0;
    std::array<Evaluation, kLanes> lanes;
};

/// A float format whose NaN an instruction leaves open: the program replaces it by the canonical one.
enum class OpenNan : std::uint8_t { none, f16, f32, f64 };

struct Operation {
    /// PTX over sources %a, %b, %c, %d, results %o0, %o1, %o2, %o3, and %k, a constant of the instruction.
    std::string body;
    std::vector<Width> results;
    std::vector<Source> sources;
    std::function<void(Evaluation&)> evaluate;
    /// For what threads of a warp do together; the last source is the mask of those that do.
    std::function<void(WarpEvaluation&)> evaluateWarp;
    std::uint32_t constantStep = 0, constantCount = 0;  ///< %k is a multiple of the step below step * count
    OpenNan openNan = OpenNan::none;
    bool divides = false;       ///< by %b, which must not be zero
    bool usesMemory = false;    ///< of its thread
    bool crossThread = false;   ///< reads or changes other threads' memory
    bool ownResults = false;    ///< results must not share registers with sources
    bool wholeWarp = false;     ///< every thread of the warp must take part
    bool noGuard = false;       ///< NVIDIA's assembler guards only a part of what it makes of it
    bool misassembled = false;  ///< by NVIDIA's assembler, beside others: such programs are for simulated GPUs
    bool misassembledInLoops = false;
    bool twoSources = false;  ///< it takes `min x, x` for x, also where that is a NaN
};

/// Operations of one family; each is as likely as the others of its family.
struct Family {
    std::string name;
    unsigned weight;
    std::vector<Operation> operations;
};

Family integerOperations();
Family bitOperations();
Family compareOperations();
Family floatOperations();
Family halfOperations();
Family convertOperations();
Family memoryOperations();
Family crossThreadOperations();
Family warpOperations();
Family specialOperations();

/// All of them; crossThread and warp families are the last two.
const std::vector<Family>& families();
const Family& family(const std::string& name);

inline std::uint64_t maskOf(unsigned bits) {
    return bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}
inline std::int64_t signExtend(std::uint64_t value, unsigned bits) {
    const std::uint64_t top = std::uint64_t{1} << (bits - 1);
    return static_cast<std::int64_t>(((value & maskOf(bits)) ^ top) - top);
}

/// An integer type of PTX.
struct IntegerType {
    const char* name;
    unsigned bits;
    bool isSigned;

    Width width() const { return bits == 64 ? Width::b64 : bits == 16 ? Width::b16 : Width::b32; }
    Source source() const { return {width(), Literal::integer}; }
    __extension__ using Value = __int128;
    Value value(std::uint64_t word) const {
        return isSigned ? Value{signExtend(word, bits)} : static_cast<Value>(word & maskOf(bits));
    }
    Value least() const { return isSigned ? -(Value{1} << (bits - 1)) : 0; }
    Value greatest() const { return (Value{1} << (isSigned ? bits - 1 : bits)) - 1; }
    Value clamp(Value v) const { return v < least() ? least() : v > greatest() ? greatest() : v; }
};
constexpr IntegerType kU8{"u8", 8, false}, kS8{"s8", 8, true}, kU16{"u16", 16, false}, kS16{"s16", 16, true},
    kU32{"u32", 32, false}, kS32{"s32", 32, true}, kU64{"u64", 64, false}, kS64{"s64", 64, true};
constexpr IntegerType kIntegerTypes[] = {kU16, kS16, kU32, kS32, kU64, kS64};
constexpr IntegerType kAllIntegerTypes[] = {kU8, kS8, kU16, kS16, kU32, kS32, kU64, kS64};

/// Collects a family.
class Collector {
  public:
    Collector(std::string name, unsigned weight) : family_{std::move(name), weight, {}} {}

    Operation& add(std::string body, std::vector<Width> results, std::vector<Source> sources,
                   std::function<void(Evaluation&)> evaluate) {
        Operation operation;
        operation.body = std::move(body);
        operation.results = std::move(results);
        operation.sources = std::move(sources);
        operation.evaluate = std::move(evaluate);
        family_.operations.push_back(std::move(operation));
        return family_.operations.back();
    }
    /// `name %o0, %a, %b, ...;` whose result is a function of its sources.
    Operation& op(const std::string& name, Width result, std::vector<Source> sources,
                  std::function<std::uint64_t(const std::uint64_t*)> value);
    Family take() { return std::move(family_); }

  private:
    Family family_;
};

}  // namespace bulkhead::differential
