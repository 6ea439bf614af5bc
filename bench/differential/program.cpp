#include "program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace bulkhead::differential {

namespace {

bool any(const Body& body, bool Operation::*property) {
    return std::ranges::any_of(body, [&](const Instruction& i) { return i.operation && i.operation->*property; });
}

/// The instructions between labels and the branches back to them, those of called functions included.
Body inLoops(const Program& program) {
    Body found;
    for (auto branch = program.body.begin(); branch != program.body.end(); ++branch) {
        if (branch->kind != Instruction::Kind::branch) continue;
        const auto head = std::find_if(program.body.begin(), branch, [&](const Instruction& i) {
            return i.kind == Instruction::Kind::label && i.labels == branch->labels;
        });
        for (auto i = head; i != branch; ++i) {
            found.push_back(*i);
            if (i->kind != Instruction::Kind::call) continue;
            const Body& function = program.functions[i->function];
            found.insert(found.end(), function.begin(), function.end());
        }
    }
    return found;
}

}  // namespace

bool Program::isMisassembled() const {
    const auto has = [](const Body& list) { return any(list, &Operation::misassembled); };
    return has(body) || std::ranges::any_of(functions, has) || any(inLoops(*this), &Operation::misassembledInLoops);
}

std::size_t Program::instructions() const {
    std::size_t count = 0;
    const auto add = [&](const Body& list) {
        for (const Instruction& instruction : list) count += instruction.kind != Instruction::Kind::label;
    };
    add(body);
    for (const Body& function : functions) add(function);
    return count;
}

std::string nameOf(Register reg) {
    constexpr const char* kPrefixes[] = {"%p", "%h", "%r", "%d"};
    return fmt::format("{}{}", kPrefixes[static_cast<int>(reg.width)], reg.index);
}

std::string firstDifference(const Data& one, const Data& other) {
    struct Field {
        const char* name;
        unsigned at, bytes, count;
    };
    constexpr Field kFields[] = {{"%d", Record::kDoublesAt, 8, kDoubles},
                                 {"%r", Record::kWordsAt, 4, kWords},
                                 {"%h", Record::kHalvesAt, 2, kHalves},
                                 {"predicates ", Record::kPredicatesAt, 4, 1},
                                 {"shared word ", Record::kSharedAt, 4, kSlotBytes / 4},
                                 {"local word ", Record::kLocalAt, 4, kSlotBytes / 4}};
    const auto at = [](const Data& data, std::size_t place, unsigned bytes) {
        std::uint64_t value = 0;
        std::memcpy(&value, &data[place], bytes);
        return value;
    };
    const auto describe = [&](unsigned thread, const char* name, unsigned i, std::size_t place, unsigned bytes) {
        return fmt::format("thread {}, {}{}: {:0{}x} and {:0{}x}", thread, name, i, at(one, place, bytes), 2 * bytes,
                           at(other, place, bytes), 2 * bytes);
    };
    for (unsigned thread = 0; thread < kThreads; ++thread) {
        for (const Field& field : kFields)
            for (unsigned i = 0; i < field.count; ++i) {
                const std::size_t place = std::size_t{thread} * Record::kBytes + field.at + i * field.bytes;
                if (std::memcmp(&one[place], &other[place], field.bytes) != 0)
                    return describe(thread, field.name, i, place, field.bytes);
            }
        for (unsigned i = 0; i < kSlotBytes / 4; ++i) {
            const std::size_t place = kGlobalAt + std::size_t{thread} * kSlotBytes + i * 4;
            if (std::memcmp(&one[place], &other[place], 4) != 0) return describe(thread, "global word ", i, place, 4);
        }
    }
    return {};
}

}  // namespace bulkhead::differential
