#include "shrink.h"

#include <algorithm>

#include "evaluator.h"

namespace bulkhead::differential {
namespace {

bool isDefined(const Program& program) {
    try {
        evaluate(program);
        return true;
    } catch (const Undefined&) {
        return false;
    }
}

bool crossesThreads(const Body& body) {
    return std::any_of(body.begin(), body.end(), [](const Instruction& instruction) {
        return instruction.operation && instruction.operation->crossThread;
    });
}

/// Labels cost nothing, and barriers keep threads out of each other's way where they share memory.
bool mayDrop(const Instruction& instruction, bool crosses) {
    return instruction.kind != Instruction::Kind::label && !(crosses && instruction.kind == Instruction::Kind::barrier);
}

class Shrinking {
  public:
    Shrinking(Program program, const std::function<bool(const Program&)>& differs)
        : program_(std::move(program)), differs_(differs) {}

    Program run() {
        for (bool changed = true; changed;) {
            changed = shrinkBody(program_.body);
            for (Body& function : program_.functions) changed = shrinkBody(function) || changed;
        }
        dropFunctions();
        dropLabels(program_.body);
        for (Body& function : program_.functions) dropLabels(function);
        return std::move(program_);
    }

  private:
    /// Half of it, regions, and so on to single instructions.
    bool shrinkBody(Body& body) {
        bool changed = false;
        for (std::size_t size = std::max<std::size_t>(body.size() / 2, 1); size > 0; size /= 2)
            for (std::size_t at = 0; at < body.size();) {
                if (drop(body, at, size))
                    changed = true;
                else
                    at += size;
            }
        return changed;
    }

    bool drop(Body& body, std::size_t at, std::size_t size) {
        const Body before = body;
        const bool crosses = crossesThreads(body);
        const auto from = body.begin() + static_cast<std::ptrdiff_t>(at);
        const auto to = body.begin() + static_cast<std::ptrdiff_t>(std::min(at + size, body.size()));
        body.erase(std::remove_if(from, to, [&](const Instruction& i) { return mayDrop(i, crosses); }), to);
        if (body.size() < before.size() && isDefined(program_) && differs_(program_)) return true;
        body = before;
        return false;
    }

    void dropFunctions() {
        const bool called = std::any_of(program_.body.begin(), program_.body.end(),
                                        [](const Instruction& i) { return i.kind == Instruction::Kind::call; });
        if (!called) program_.functions.clear();
    }

    void dropLabels(Body& body) {
        const auto isTarget = [&](unsigned label) {
            return std::any_of(body.begin(), body.end(), [&](const Instruction& i) {
                return i.kind != Instruction::Kind::label &&
                       std::find(i.labels.begin(), i.labels.end(), label) != i.labels.end();
            });
        };
        std::erase_if(
            body, [&](const Instruction& i) { return i.kind == Instruction::Kind::label && !isTarget(i.labels[0]); });
    }

    Program program_;
    const std::function<bool(const Program&)>& differs_;
};

}  // namespace

Program shrink(Program program, const std::function<bool(const Program&)>& differs) {
    return Shrinking(std::move(program), differs).run();
}

}  // namespace bulkhead::differential
