#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ptx/control_flow.h"
#include "ptx/module.h"
#include "sim/exec/lowering.h"
#include "sim/exec/program.h"
#include "sim/exec/register_allocation.h"

namespace bulkhead::sim {

/// Broadcast constants, each once.
class ConstantPool {
  public:
    explicit ConstantPool(Program& program) : program_(program) {}

    Slot value(std::uint64_t, unsigned bytes);                ///< lanes of 4 or 8 bytes
    Slot address(std::uint32_t global, std::int64_t addend);  ///< filled in by link

  private:
    std::int32_t append(std::uint64_t, unsigned bytes);

    Program& program_;
    std::map<std::pair<unsigned, std::uint64_t>, std::int32_t> values_;
    std::map<std::pair<std::uint32_t, std::int64_t>, std::int32_t> addresses_;
};

/// Results, then parameters, each at its alignment.
std::vector<Formal> layoutFormals(const std::vector<ptx::Variable>& results, const std::vector<ptx::Variable>& params);

/// What the functions of a module know of each other while they are lowered.
struct ModuleSymbols {
    struct Shared {
        std::uint32_t offset = 0;
        bool isDynamic = false;  ///< begins where the launched kernel's static shared memory ends
    };
    struct Callee {
        std::uint32_t index = 0;  ///< into Program::codes
        Builtin builtin = Builtin::none;
        std::vector<Formal> formals;
    };

    std::unordered_map<std::string, std::uint32_t> globals;  ///< name -> index into Program::globals
    std::unordered_map<std::string, Shared> shared;          ///< by sharedName
    std::unordered_map<std::string, Callee> functions;       ///< defined, or provided by the runtime
};

/// A shared variable's name in ModuleSymbols: those of functions are told apart by their function's.
std::string sharedName(const ptx::Function*, const ptx::Variable&);

constexpr std::uint32_t alignUp(std::uint64_t n, std::uint64_t align) {
    return static_cast<std::uint32_t>((n + align - 1) / align * align);
}

/// What an argument or a result in a register takes of the parameter area.
constexpr std::uint32_t kScratchBytes = 16;

/// The modifiers of ld, st, atom, red and their kin, told apart. What is only a hint leaves no trace.
struct MemoryModifiers {
    ptx::Space space = ptx::Space::none;
    CacheOp cacheOp = CacheOp::none;
    ptx::Type type = ptx::Type::none;
    unsigned elements = 1;
    bool isWide = false;          ///< .b128: `type` and `elements` are those of its halves
    bool hasCachePolicy = false;  ///< an operand more, at the end
    std::string_view operation;   ///< of atom and red
};

/// Lowers one function. Spread over several files by kind of instruction: function_lowering.cpp has operands and what
/// all share, lower_memory.cpp, lower_control.cpp and lower_address.cpp the instructions.
class FunctionLowering final : public Operands {
  public:
    FunctionLowering(const ptx::Module&, const ptx::Function&, const ModuleSymbols&, Program&, ConstantPool&, Code&);
    void run();

    // Operands.
    Slot source(const ptx::Operand&, ptx::Type) override;
    Slot result(const ptx::Operand&, ptx::Type) override;
    Halves wideSource(const ptx::Operand&) override;
    Halves wideResult(const ptx::Operand&) override;
    Slot predicateSource(const ptx::Operand&) override;
    Slot predicateResult(const ptx::Operand&) override;
    Slot carry() override;
    [[noreturn]] void refuse(const ptx::Instruction&, std::string_view why) override;

  private:
    using Instruction = ptx::Instruction;
    using Operand = ptx::Operand;

    /// A .param, .local or formal variable of the function.
    struct Local {
        ptx::Space space;
        std::uint32_t offset, bytes;
        bool isKernelParam = false;
    };
    /// What a symbol's address is.
    struct Address {
        enum class Kind : std::uint8_t {
            constant,       ///< the same in every launch: `value`
            global,         ///< of Program::globals[global] + value
            local,          ///< value + the function's place in the stack
            dynamicShared,  ///< value + the end of the kernel's static shared memory
        };
        Kind kind = Kind::constant;
        ptx::Space space = ptx::Space::none;
        std::int64_t value = 0;
        std::uint32_t global = 0;
        const Local* local = nullptr;
    };

    /// Results and parameters of a function: where they lie, and their types, none for an array.
    struct Signature {
        std::vector<Formal> formals;
        std::vector<ptx::Type> types;
    };
    /// A register that a call's result goes to by way of the parameter area.
    struct RegisterResult {
        int reg;
        std::uint32_t offset;
    };

    // Layout of what the function declares.
    void layOut();
    void layOutCallParams(std::uint32_t formals);
    /// At `from` or behind it in the parameter area; returns its end.
    std::uint32_t placeCallParam(const ptx::Variable&, std::uint32_t from);
    void receiveRegisterFormals();

    // One instruction.
    void lowerInstruction(int index);
    Instr begin(const Instruction&) const;
    void finish(const Instruction&, Instr);
    void emit(const Instruction&, Instr, const std::vector<std::uint16_t>& writes,
              const std::vector<std::uint16_t>& reads);
    void awaitRegisters(const Instruction&, std::vector<std::uint16_t>& ids, std::size_t kept);
    [[noreturn]] void refuse(std::string_view why) { refuse(*current_, why); }
    void expectOperands(std::size_t least, std::size_t most);
    void separateParts();

    bool lowerAddress(Instr&);
    bool lowerMemory(Instr&);
    bool lowerImage(Instr&);
    bool lowerControl(Instr&);
    bool lowerStack(Instr&);

    // lower_address.cpp
    Address addressOf(const std::string& symbol, std::int64_t addend);
    /// A slot that holds it: a constant, or computed just before the instruction.
    Slot addressSlot(const Address&, unsigned bytes, std::uint64_t window);
    /// Makes the instruction write the address to dst[0].
    void takeAddress(Instr&, const Address&, unsigned bytes, std::uint64_t window);
    bool lowerMove(Instr&);
    void lowerCvta(Instr&);
    void lowerIsSpace(Instr&);

    // lower_memory.cpp
    MemoryModifiers memoryModifiers(std::size_t fixedOperands);
    /// Sets the instruction's address. True: it lies in the parameter area of a call, at `immediate`.
    bool memoryAddress(const Operand&, unsigned bytes, Instr&);
    std::vector<Operand> elementsOf(const Operand&, unsigned count);
    void lowerLoad(Instr&);
    void lowerStore(Instr&);
    void lowerAtomic(Instr&);
    void wideAtomicOperands(Instr&, bool isCas);
    void lowerAsync(Instr&);
    void lowerAsyncCopy(Instr&);
    void asyncCopyAddresses(Instr&);
    void asyncCopyLimit(Instr&, const Operand&);
    unsigned widthOf(const std::vector<Operand>& elements, ptx::Type);
    Slot dataSource(const Operand&, ptx::Type, unsigned registerBits);
    Slot dataResult(const Operand&);

    // lower_bulk.cpp
    bool lowerBulk(Instr&);
    void lowerBulkCopy(Instr&);
    void bulkModifiers(BulkSite&, ptx::Type&);
    BulkSite::Address bulkAddress(const Operand&, ptx::Space);
    BulkSite::Address tensorMapAddress(const Operand&);
    void tensorOperand(const Operand&, BulkSite&);
    void lowerReplaceField(Instr&);
    void lowerCopyTensorMap(Instr&);

    // lower_cluster.cpp
    bool lowerCluster(Instr&);
    void lowerClusterBarrier(Instr&);
    void lowerMapAddress(Instr&);
    void lowerRankOfAddress(Instr&);
    void completeBytesOf(Instr& store);
    Slot clusterAddress(const Operand&, bool isShared, unsigned bytes);

    // lower_mbarrier.cpp
    bool lowerMbarrier(Instr&);
    void mbarrierObject(Instr&, const Operand&);
    void lowerMbarrierTest(Instr&);
    void lowerMbarrierArrival(Instr&);
    void lowerArrivalOfCopies(Instr&);

    // lower_matrix.cpp
    struct MatrixModifiers;
    bool lowerMatrix(Instr&);
    MatrixModifiers matrixModifiers();
    std::vector<Slot> fragmentSources(const Operand&, MatrixType, unsigned count);
    std::vector<Slot> fragmentResults(const Operand&, MatrixType, unsigned count);
    void addMatrixSite(Instr&, MatrixSite);
    void addProduct(Instr&, MatrixSite);
    MatrixSite productSite(const MatrixModifiers&);
    void readSparsity(MatrixSite&, const Operand& metadata, const Operand& selector);
    void lowerMma(Instr&);
    void lowerWmma(Instr&);
    void lowerFragment(Instr&);
    void lowerMatrices(Instr&);
    void lowerWarpgroup(Instr&);
    void lowerWarpgroupProduct(Instr&);

    // lower_image.cpp
    void imageHandle(const Operand& address, ImageSite&);
    void imageCoordinates(const Operand&, ptx::Type, ImageSite&);
    void imageVector(const Operand&, unsigned count, ptx::Type, Slot*);
    void lowerTexture(Instr&);
    void lowerGather(Instr&);
    void lowerImageQuery(Instr&);
    void lowerSurface(Instr&);
    void lowerSurfaceReduction(Instr&);

    // lower_stack.cpp
    void lowerAlloca(Instr&);
    ptx::Type stackType();

    // lower_control.cpp
    void lowerBranch(Instr&);
    void lowerIndexedBranch(Instr&);
    void lowerCall(Instr&);
    static Signature signatureOf(const std::vector<ptx::Variable>& results, const std::vector<ptx::Variable>& params);
    Signature callByName(Instr&, const std::string& name, CallSite&);
    Signature callByAddress(Instr&, const Operand& callee, CallSite&);
    std::vector<RegisterResult> takeResults(std::span<const Operand> results, const std::vector<Formal>&, CallSite&,
                                            std::uint32_t& scratch);
    void lowerReturn(Instr&);
    void lowerRegisterCount(Instr&);
    void lowerBarrier(Instr&);
    std::uint32_t passArgument(const Operand&, const Formal&, ptx::Type, std::uint32_t& scratch);
    void moveFormal(const Instruction&, int reg, ptx::Type, std::uint32_t offset, bool intoRegister);
    [[noreturn]] void refuseUnsupported();

    /// What reads a special register as a value of a type.
    Handler specialRegister(const Operand&, ptx::Type);
    Slot readRegister(const Operand&);
    Slot writeRegister(const Operand&);
    Slot temporary(std::uint16_t& id);
    Slot scratch();  ///< for results nobody wants
    const ptx::Register& registerOf(const Operand&) const;

    const ptx::Module& module_;
    const ptx::Function& function_;
    const ModuleSymbols& symbols_;
    Program& program_;
    ConstantPool& constants_;
    Code& code_;
    ptx::ControlFlow flow_;
    ptx::Liveness liveness_;
    std::optional<RegisterAllocation> registers_;
    std::unordered_map<std::string, Local> locals_;
    std::unordered_map<std::string, std::uint32_t> branchTables_;  ///< name -> index into Code::branchTables
    std::uint32_t registerArguments_ = 0;  ///< where in the parameter area arguments given in registers go

    // Beyond the allocated registers: the carry flag, what alloca has taken (Code::stackSlot), a place for
    // results nobody wants, temporaries.
    std::uint32_t extraOffset_ = 0;
    std::uint16_t carryId_ = 0;
    unsigned temporaries_ = 0, mostTemporaries_ = 0;

    const Instruction* current_ = nullptr;
    int currentIndex_ = 0;
    bool consumed_ = false;                      ///< the instruction has emitted itself
    std::vector<std::uint16_t> writes_, reads_;  ///< of the current instruction
    std::vector<std::uint32_t> firstInstr_;      ///< per PTX instruction, and one more for the end
};

}  // namespace bulkhead::sim
