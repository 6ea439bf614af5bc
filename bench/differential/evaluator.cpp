#include "evaluator.h"

#include <cstring>
#include <unordered_map>

#include "host_float.h"

namespace bulkhead::differential {
namespace {

constexpr unsigned kMostSteps = 20000;  ///< of a thread

struct Registers {
    std::uint64_t predicates[kAllPredicates] = {}, halves[kHalves] = {}, words[kAllWords] = {}, doubles[kDoubles] = {};

    std::uint64_t& at(Register reg) {
        switch (reg.width) {
            case Width::pred:
                return predicates[reg.index];
            case Width::b16:
                return halves[reg.index];
            case Width::b32:
                return words[reg.index];
            default:
                return doubles[reg.index];
        }
    }
    std::uint64_t value(const Operand& operand) { return operand.isLiteral ? operand.literal : at(operand.reg); }
    bool passes(const Instruction& instruction) {
        return instruction.guard < 0 || (predicates[instruction.guard] != 0) != instruction.guardNegated;
    }
    void read(const Instruction& instruction, Evaluation& e) {
        for (std::size_t i = 0; i < instruction.sources.size(); ++i) e.in[i] = value(instruction.sources[i]);
        e.constant = instruction.constant;
    }
    void write(const Instruction& instruction, const Evaluation& e) {
        for (std::size_t i = 0; i < instruction.results.size(); ++i)
            at(instruction.results[i]) = e.out[i] & maskOf(bitsOf(instruction.results[i].width));
    }
};

void canonicalise(OpenNan open, std::uint64_t& value) {
    if (open == OpenNan::none) return;
    const FloatType type = open == OpenNan::f64   ? FloatType::f64
                           : open == OpenNan::f32 ? FloatType::f32
                                                  : FloatType::f16;
    if (isNan(type, value)) value = canonicalNan(type);
}

void execute(const Instruction& instruction, Registers& registers, unsigned thread, Memory* memory) {
    const Operation& operation = *instruction.operation;
    Evaluation e;
    e.thread = thread;
    e.memory = memory;
    registers.read(instruction, e);
    if (operation.divides && e.in[1] == 0) e.in[1] = 1;
    operation.evaluate(e);
    canonicalise(operation.openNan, e.out[0]);
    registers.write(instruction, e);
}

using Places = std::unordered_map<unsigned, std::size_t>;  ///< of labels

Places placesOf(const Body& body) {
    Places places;
    for (std::size_t i = 0; i < body.size(); ++i) {
        if (body[i].kind == Instruction::Kind::label) places[body[i].labels[0]] = i;
        if (body[i].kind == Instruction::Kind::branchIndexed) places[body[i].labels[4]] = i + 1;
    }
    return places;
}

/// A body being executed by a thread.
struct Walk {
    const Body& body;
    const Places& places;
    Registers& registers;
    std::size_t at = 0;

    void jump(unsigned label) { at = places.at(label); }
    /// Labels and branches; anything else is for the caller.
    bool control() {
        const Instruction& instruction = body[at];
        const bool passes = registers.passes(instruction);
        switch (instruction.kind) {
            case Instruction::Kind::label:
                ++at;
                return true;
            case Instruction::Kind::branch:
                passes ? jump(instruction.labels[0]) : static_cast<void>(++at);
                return true;
            case Instruction::Kind::branchIndexed:
                passes ? jump(instruction.labels[registers.value(instruction.sources[0]) & 3])
                       : static_cast<void>(++at);
                return true;
            default:
                return false;
        }
    }
};

class BlockEvaluation {
  public:
    explicit BlockEvaluation(const Program& program) : program_(program), places_(placesOf(program.body)) {
        for (const Body& function : program.functions) functionPlaces_.push_back(placesOf(function));
        for (unsigned t = 0; t < kThreads; ++t) start(t);
    }

    Data run() {
        for (;;) {
            bool ended = true;
            for (unsigned t = 0; t < kThreads; ++t) {
                advance(t);
                ended = ended && threads_[t].at == program_.body.size();
            }
            if (ended) return output();
            if (!meet()) throw Undefined("threads wait for each other for ever");
        }
    }

  private:
    struct Thread {
        Registers registers;
        std::size_t at = 0;
        unsigned steps = 0;
    };

    void start(unsigned t) {
        const std::uint8_t* const record = &program_.input[std::size_t{t} * Record::kBytes];
        Registers& r = threads_[t].registers;
        const auto get = [&](unsigned at, unsigned bytes) {
            std::uint64_t value = 0;
            std::memcpy(&value, record + at, bytes);
            return value;
        };
        for (unsigned i = 0; i < kDoubles; ++i) r.doubles[i] = get(Record::kDoublesAt + 8 * i, 8);
        for (unsigned i = 0; i < kWords; ++i) r.words[i] = get(Record::kWordsAt + 4 * i, 4);
        for (unsigned i = 0; i < kHalves; ++i) r.halves[i] = get(Record::kHalvesAt + 2 * i, 2);
        for (unsigned i = 0; i < kPredicates; ++i) r.predicates[i] = get(Record::kPredicatesAt, 4) >> i & 1;
        r.at(maskRegister(0)) = 0xffffffff;
        std::memcpy(memory_.shared[t].data(), record + Record::kSharedAt, kSlotBytes);
        std::memcpy(memory_.local[t].data(), record + Record::kLocalAt, kSlotBytes);
        std::memcpy(memory_.global[t].data(), &program_.input[kGlobalAt + std::size_t{t} * kSlotBytes], kSlotBytes);
    }

    void count(Thread& thread) {
        if (++thread.steps > kMostSteps) throw Undefined("a thread takes too many steps");
    }

    /// Until the thread ends or has to wait for others.
    void advance(unsigned t) {
        Thread& thread = threads_[t];
        Walk walk{program_.body, places_, thread.registers, thread.at};
        while (walk.at < program_.body.size()) {
            count(thread);
            if (walk.control()) continue;
            const Instruction& instruction = program_.body[walk.at];
            if (instruction.kind == Instruction::Kind::barrier) break;
            if (instruction.kind == Instruction::Kind::call) {
                call(instruction, t);
            } else if (instruction.operation->evaluateWarp) {
                break;
            } else if (thread.registers.passes(instruction)) {
                execute(instruction, thread.registers, t, &memory_);
            }
            ++walk.at;
        }
        thread.at = walk.at;
    }

    void call(const Instruction& instruction, unsigned t) {
        Thread& thread = threads_[t];
        Registers inside;
        inside.words[0] = thread.registers.value(instruction.sources[0]);
        inside.words[1] = thread.registers.value(instruction.sources[1]);
        inside.doubles[0] = thread.registers.value(instruction.sources[2]);
        const Body& body = program_.functions[instruction.function];
        Walk walk{body, functionPlaces_[instruction.function], inside};
        while (walk.at < body.size()) {
            count(thread);
            if (walk.control()) continue;
            if (inside.passes(body[walk.at])) execute(body[walk.at], inside, t, nullptr);
            ++walk.at;
        }
        thread.registers.at(instruction.results[0]) = inside.doubles[0];
    }

    const Instruction* waitsAt(unsigned t) const {
        return threads_[t].at < program_.body.size() ? &program_.body[threads_[t].at] : nullptr;
    }

    /// Lets those go on who wait for nobody else. False if there are none.
    bool meet() {
        bool moved = false;
        for (unsigned warp = 0; warp < kThreads; warp += kLanes)
            for (unsigned lane = 0; lane < kLanes; ++lane) moved = meetInWarp(warp, lane) || moved;
        return moved || meetAtBarrier();
    }

    bool meetAtBarrier() {
        for (unsigned t = 0; t < kThreads; ++t)
            if (threads_[t].at != threads_[0].at) return false;
        const Instruction* at = waitsAt(0);
        if (!at || at->kind != Instruction::Kind::barrier) return false;
        for (Thread& thread : threads_) ++thread.at;
        return true;
    }

    bool meetInWarp(unsigned warp, unsigned lane) {
        const Instruction* at = waitsAt(warp + lane);
        if (!at || at->kind != Instruction::Kind::operation || !at->operation->evaluateWarp) return false;
        const std::uint64_t members = threads_[warp + lane].registers.value(at->sources.back());
        if (!(members >> lane & 1)) throw Undefined("a thread is not in its own mask");
        if (at->operation->wholeWarp && members != 0xffffffff) throw Undefined("a shuffle in a part of a warp");
        WarpEvaluation e;
        e.members = static_cast<std::uint32_t>(members);
        for (unsigned other = 0; other < kLanes; ++other) {
            if (!(members >> other & 1)) continue;
            if (waitsAt(warp + other) != at) return false;
            Registers& registers = threads_[warp + other].registers;
            if (registers.value(at->sources.back()) != members) throw Undefined("masks differ");
            e.lanes[other].thread = warp + other;
            registers.read(*at, e.lanes[other]);
        }
        at->operation->evaluateWarp(e);
        for (unsigned other = 0; other < kLanes; ++other) {
            if (!(members >> other & 1)) continue;
            threads_[warp + other].registers.write(*at, e.lanes[other]);
            ++threads_[warp + other].at;
        }
        return true;
    }

    Data output() {
        Data data(kDataBytes);
        for (unsigned t = 0; t < kThreads; ++t) {
            std::uint8_t* const record = &data[std::size_t{t} * Record::kBytes];
            const Registers& r = threads_[t].registers;
            for (unsigned i = 0; i < kDoubles; ++i) std::memcpy(record + Record::kDoublesAt + 8 * i, &r.doubles[i], 8);
            for (unsigned i = 0; i < kWords; ++i) std::memcpy(record + Record::kWordsAt + 4 * i, &r.words[i], 4);
            for (unsigned i = 0; i < kHalves; ++i) std::memcpy(record + Record::kHalvesAt + 2 * i, &r.halves[i], 2);
            std::uint32_t predicates = 0;
            for (unsigned i = 0; i < kPredicates; ++i) predicates |= static_cast<std::uint32_t>(r.predicates[i]) << i;
            std::memcpy(record + Record::kPredicatesAt, &predicates, 4);
            std::memcpy(record + Record::kSharedAt, memory_.shared[t].data(), kSlotBytes);
            std::memcpy(record + Record::kLocalAt, memory_.local[t].data(), kSlotBytes);
            std::memcpy(&data[kGlobalAt + std::size_t{t} * kSlotBytes], memory_.global[t].data(), kSlotBytes);
        }
        return data;
    }

    const Program& program_;
    Places places_;
    std::vector<Places> functionPlaces_;
    std::array<Thread, kThreads> threads_;
    Memory memory_;
};

}  // namespace

Data evaluate(const Program& program) {
    return BlockEvaluation(program).run();
}

}  // namespace bulkhead::differential
