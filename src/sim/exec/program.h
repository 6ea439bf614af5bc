#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "arch/device_profile.h"
#include "ptx/module.h"
#include "sim/exec/matrix_type.h"

namespace bulkhead::sim {

using LaneMask = std::uint32_t;
constexpr int kLanes = 32;
constexpr LaneMask kAllLanes = ~LaneMask{0};

struct Instr;
class Warp;

/// Executes one instruction for the lanes in the mask. Registers of lanes outside it keep their values.
using Handler = void (*)(const Instr&, Warp&, LaneMask);

/// Bytes that begin on a cache line, so that lane arrays at multiples of 64 bytes never straddle one needlessly.
template <class T>
struct CacheLineAllocator {
    using value_type = T;
    static constexpr std::align_val_t kAlignment{64};
    CacheLineAllocator() = default;
    template <class U>
    CacheLineAllocator(const CacheLineAllocator<U>&) {}
    T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kAlignment)); }
    void deallocate(T* p, std::size_t) { ::operator delete(p, kAlignment); }
    bool operator==(const CacheLineAllocator&) const { return true; }
};
using AlignedBytes = std::vector<std::uint8_t, CacheLineAllocator<std::uint8_t>>;

/// Where an operand's lane values lie: byte offset into the warp's current register frame, or, complemented, into
/// the program's constant pool. A 32-bit (or smaller) register is 32 x 4 bytes, a 64-bit one 32 x 8 bytes, lane i at
/// index i; a 128-bit one is two of 64 bits, the lower half first; 8- and 16-bit values sit zero-extended in 4 bytes
/// (sign is applied by the reader from the type). A predicate is one LaneMask (4 bytes). Immediates are constants
/// already broadcast over the lanes.
struct Slot {
    std::int32_t offset = 0;
    static Slot reg(std::int32_t byteOffset) { return {byteOffset}; }
    static Slot constant(std::int32_t byteOffset) { return {~byteOffset}; }
    bool isConstant() const { return offset < 0; }
};

enum class Kind : std::uint8_t {
    compute,      ///< run() is all there is to it
    memory,       ///< run() moves the data and leaves Warp::accesses for the timing model
    changePhase,  ///< the same, and may end a phase of an mbarrier object
    awaitPhase,   ///< the same: mbarrier.try_wait; src[2], if there is one: for so many nanoseconds
    branch,
    branchIndexed,
    call,
    callIndirect,
    ret,
    exit,
    trap,
    barrier,      ///< bar, barrier, bar.red
    fence,        ///< membar, fence: waits for the warp's own outstanding accesses
    asyncCommit,  ///< cp.async.commit_group
    asyncWait,    ///< cp.async.wait_group N, wait_all
    bulkCommit,   ///< cp.async.bulk.commit_group
    bulkWait,     ///< cp.async.bulk.wait_group N; extra: for sources to be read, not for results to be written
    clusterArrive,
    clusterWait,
    matrixCommit,   ///< wgmma.commit_group
    matrixWait,     ///< wgmma.wait_group N
    sleep,          ///< nanosleep
    setRegisters,   ///< setmaxnreg; extra: 1 = more, immediate: a thread's
    letDependents,  ///< griddepcontrol.launch_dependents
    awaitEarlier,   ///< griddepcontrol.wait
    nop,            ///< bar.warp.sync, pragma-like instructions
};

enum class CacheOp : std::uint8_t { ca, cg, cs, lu, cv, wb, wt, none };

/// One lowered instruction. Fixed size, no ownership: programs are arrays of these.
struct Instr {
    Handler run = nullptr;
    Kind kind = Kind::compute;
    arch::OpClass opClass = arch::OpClass::integer;
    bool guardNegated = false;
    bool guardIsLast = false;  ///< the last of the registers that must be free is the guard
    std::int32_t guard = -1;   ///< byte offset of the guard predicate in the frame, -1 if none
    Slot dst[4];               ///< results (vector loads have up to 4); setp: dst[0] = p, dst[1] = q
    Slot src[5];               ///< sources; memory: src[0] is the address, data follow
    std::uint8_t dstCount = 0, srcCount = 0;

    // Memory.
    ptx::Space space = ptx::Space::none;  ///< none = generic
    CacheOp cacheOp = CacheOp::none;
    std::uint8_t elementBytes = 0;  ///< of one vector element
    std::uint8_t elements = 1;
    ptx::Type type = ptx::Type::none;  ///< for sign extension of narrow loads and the type of atomics
    bool hasAddress = true;            ///< false: the address is `immediate` alone
    bool addressIs32 = false;          ///< the address lanes are 4 bytes wide (shared memory)
    bool frameRelative = false;        ///< local: add the function's place in the thread's stack
    std::int64_t immediate = 0;        ///< displacement of an address; small immediates of other instructions

    // Control.
    std::uint32_t target = 0;      ///< branch: instruction index; call: function index; brx: table index
    std::uint32_t reconverge = 0;  ///< where diverging lanes meet; the function's size = at its end
    std::uint32_t extra = 0;       ///< index into a side table (call sites, printf...), meaning by kind

    // Scoreboard: registers written, then registers read (guard included), as scoreboard ids of this function.
    std::uint16_t registers[16] = {};
    std::uint8_t writes = 0, dependencies = 0;  ///< registers[0, writes) are written; [0, dependencies) must be free
    /// Machine instructions that it counts for. 0: it is part of the next instruction and executed with it, which
    /// follows it directly and is issued when the registers of both are free.
    std::uint8_t slots = 1;
    std::uint8_t passes = 1;  ///< how many times its unit takes the interval of its class
    /// Which machine instruction of the program it is, or the last of those that it is: given by place.
    std::uint32_t place = 0;

    std::int32_t line = 0;  ///< PTX line
};

/// Functions that CUDA's runtime provides and PTX only declares.
enum class Builtin : std::uint8_t { none, vprintf, assertFail };

/// A result or parameter of a function: where it lies in the function's parameter area.
struct Formal {
    std::uint32_t offset, bytes;
    bool isResult;
    bool operator==(const Formal&) const = default;
};

/// How a function's .param results and arguments travel at one call.
struct CallSite {
    struct Copy {
        std::uint32_t from, to, bytes;  ///< byte offsets in the caller's and the callee's parameter areas
    };
    std::vector<Copy> arguments, results;
    Builtin builtin = Builtin::none;
    /// Indirect calls: the signature the caller expects; a function with another may not be called from here.
    std::vector<Formal> formals;
};

/// What a texture or surface instruction asks for. Coordinates lie in slots of 32 bits.
struct ImageSite {
    enum class Detail : std::uint8_t { base, level, gradient };
    enum class Outside : std::uint8_t { trap, clamp, zero };
    enum class Query : std::uint8_t {
        width,
        height,
        depth,
        layers,
        levels,
        samples,
        channelType,
        channelOrder,
        normalizedCoordinates,
        filterMode,
        addressMode,
        memoryLayout,
    };
    Slot handle;
    std::uint8_t dimensions = 1;
    bool layered = false, cube = false;
    bool realCoordinates = false;
    bool formatted = false;  ///< sust.p
    Detail detail = Detail::base;
    Outside outside = Outside::trap;
    Query query = Query::width;
    bool ofSurface = false;
    std::uint8_t which = 0;  ///< the channel of a gather, the dimension of an address mode
    Slot layer, coordinate[3], level, alongX[3], alongY[3];
};

/// What a matrix instruction multiplies, loads or stores, and where its fragments lie.
struct MatrixSite {
    std::uint16_t m = 0, n = 0, k = 0;
    MatrixType a{}, b{}, c{}, d{};
    bool aByColumn = false, bByRow = false;  ///< mma.m8n8k4 in f16
    bool saturates = false, intersects = false;
    bool isSparse = false;
    std::uint8_t selector = 0;  ///< of the lanes that hold the metadata
    Slot metadata;
    std::vector<Slot> aRegisters, bRegisters, cRegisters, dRegisters;

    // wgmma: operands in shared memory. A may lie in registers.
    bool ofWarpgroup = false;
    Slot aDescriptor, bDescriptor;
    enum class Accumulation : std::uint8_t { always, never, where, unless };
    Accumulation accumulation = Accumulation::always;
    Slot accumulates;  ///< a predicate: where it is true, or unless it is, C is added
    bool negatesA = false, negatesB = false, aTransposed = false, bTransposed = false;

    // wmma.load and wmma.store: `d` is the type.
    enum class Role : std::uint8_t { a, b, accumulators };
    Role role = Role::accumulators;
    bool byColumn = false;
    Slot stride;  ///< elements from one row or column to the next
};

enum class BulkWay : std::uint8_t {
    toShared,  ///< of one or several blocks of the cluster; ends at an mbarrier object of each
    toGlobal,  ///< from the block's own shared memory; belongs to a bulk group of the thread
    between,   ///< from the block's own shared memory to that of a block of the cluster
    prefetch,  ///< to L2
};
using BulkReduction = void (*)(std::uint8_t* to, const std::uint8_t* from, std::size_t bytes);

/// What a bulk copy asks for.
struct BulkSite {
    struct Address {
        Slot slot;
        bool is32 = false;
        std::int64_t displacement = 0;
    };
    BulkWay way = BulkWay::toShared;
    Address to, from, mbarrier;
    Slot size, mask;
    bool multicast = false;
    BulkReduction reduce = nullptr;  ///< null: none, or by the elements of the tensor
    // Of tensors:
    std::uint8_t dimensions = 0, offsets = 0;
    bool im2col = false;
    std::string reduction;
    Address map;
    Slot coordinate[5], offset[3];
};

struct Code {
    std::string name;
    bool isKernel = false;
    std::vector<Instr> instrs;
    std::uint32_t frameBytes = 0;  ///< register block of one warp
    std::uint32_t scoreboardIds = 0;
    std::uint32_t firstPlace = 0, endPlace = 0;  ///< of its machine instructions in the program
    std::uint32_t paramBytes = 0;                ///< per lane: formal parameters, results and local .param variables
    std::uint32_t kernelParamBytes = 0;          ///< kernels: size of the parameter block
    struct Param {
        std::string name;
        ptx::Type type;
        std::uint32_t offset, bytes;
        bool isPointer;
    };
    std::vector<Param> params;              ///< kernels: where each argument goes in the block
    std::uint32_t localBytes = 0;           ///< per thread, this function's own frame
    std::uint32_t stackBytes = 0;           ///< per thread, with everything it can call
    std::int32_t stackSlot = -1;            ///< where a frame has what each lane's alloca has taken; -1: it has none
    std::uint32_t sharedBytes = 0;          ///< static
    std::uint32_t registersPerThread = 0;   ///< estimated by liveness, for occupancy
    std::uint32_t maxThreadsPerBlock = 0;   ///< from .maxntid/.reqntid, 0 = no limit
    std::uint32_t requiredCluster[3] = {};  ///< .reqnctapercluster; 0 = not given
    std::uint32_t maxClusterRank = 0;       ///< .maxclusterrank; 0 = not given
    bool explicitCluster = false;           ///< may be launched with a cluster only
    bool changesRegisters = false;          ///< it, or a function that it can call, has setmaxnreg
    bool hasRegisterPool = false;           ///< and registersPerThread is what its directives say
    bool readsTimeOrPlace = false;          ///< it, or a function that it can call, reads %clock, %smid or the like
    bool blocksCommunicate = false;         ///< by it, or a function that it can call; or they print
    std::vector<Formal> formals;            ///< device functions: results, then parameters
    std::vector<CallSite> callSites;
    std::vector<ImageSite> imageSites;    ///< of texture and surface instructions, by Instr::extra
    std::vector<MatrixSite> matrixSites;  ///< of matrix instructions, by Instr::extra
    std::vector<BulkSite> bulkSites;      ///< of bulk copies, by Instr::extra
    std::vector<std::string_view> texts;  ///< each instruction as written, for messages; views into Program::source
    std::vector<std::vector<std::uint32_t>> branchTables;  ///< brx.idx
};

/// A module made executable. Immutable; shared by every launch. Addresses of module-scope .global and .const
/// variables are only known once the module is loaded into a context: `link` patches them.
struct Program {
    std::string name;
    std::vector<Code> codes;
    std::unordered_map<std::string, std::uint32_t> codeByName;
    bool hasClusterBarriers = false;
    std::uint64_t codeAddress = 0;  ///< physical, of the first machine instruction: given by who places it
    AlignedBytes constants;         ///< broadcast immediates
    std::shared_ptr<const std::string> source;

    struct Global {
        std::string name;
        ptx::Space space;  ///< global or constant
        std::uint64_t bytes, align;
        std::vector<std::uint8_t> initial;
        std::vector<ptx::Relocation> relocations;
        std::uint64_t address = 0;      ///< given by link
        bool isManaged = false;         ///< the host reads and writes it at the same address
        std::uint64_t hostAddress = 0;  ///< not 0: memory of the host's, to which the variable has been relocated
    };
    std::vector<Global> globals;

    const Code* kernel(std::string_view name) const;  ///< nullptr if there is none
    std::vector<std::string> kernelNames() const;

    /// Constant-pool places that hold a symbol's address, to be filled by link.
    struct Patch {
        std::uint32_t constantOffset;  ///< 32 lanes x 8 bytes
        std::uint32_t global;
        std::int64_t addend;
    };
    std::vector<Patch> patches;
};

/// Gives every machine instruction its place: functions one after the other, each from a multiple of `alignment` on.
/// Returns how many places there are.
std::uint32_t place(Program&, std::uint32_t alignment);

/// Fills the places that hold addresses of variables, once every Global::address is set.
void link(Program&);

/// What a variable holds when its module is loaded, with the addresses of other symbols filled in: `bytes` long.
/// Every Global::address must be set.
std::vector<std::uint8_t> initialBytes(const Program&, const Program::Global&);

/// Checks and translates every instruction: what the simulator does not support is refused here, with line, column
/// and the instruction quoted (ptx::PtxError).
std::unique_ptr<Program> lower(const ptx::Module&);

}  // namespace bulkhead::sim
