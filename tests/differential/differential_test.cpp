#include <gtest/gtest.h>

#include <regex>

#include "evaluator.h"
#include "generator.h"
#include "runner.h"
#include "shrink.h"

// Random programs on the simulator, against the evaluator.

namespace bulkhead::differential {
namespace {

class Differential : public testing::TestWithParam<const char*> {};

TEST_P(Differential, simulatorGivesWhatProgramsMust) {
    constexpr std::uint64_t kSeed = 20, kBatch = 100, kPrograms = 1000;
    Runner runner("sim:h200", {GetParam()});
    for (std::uint64_t first = 0; first < kPrograms; first += kBatch) {
        std::vector<Program> programs;
        for (std::uint64_t i = 0; i < kBatch; ++i) programs.push_back(generate(kSeed, first + i));
        const std::vector<Outcome> outcomes = runner.run(programs);
        for (std::uint64_t i = 0; i < kBatch; ++i)
            ASSERT_EQ(differenceOf(evaluate(programs[i]), outcomes[i]), "")
                << "bulkhead_differential --seed " << kSeed << " --first " << first + i << " --programs 1";
    }
}

INSTANTIATE_TEST_SUITE_P(AsWrittenAndAsAnAssemblerLeavesIt, Differential,
                         testing::Values("compiler.optimise=false", "compiler.optimise=true"));

/// What is between a label and a branch back to it.
std::vector<std::string> loopsIn(const std::string& text) {
    static const std::regex head("\\n(L[0-9]+):");
    std::vector<std::string> loops;
    for (std::sregex_iterator label(text.begin(), text.end(), head), end; label != end; ++label) {
        const std::string back = " bra " + label->str(1) + ";";
        const auto begin = static_cast<std::size_t>(label->position());
        if (const std::size_t branch = text.find(back, begin); branch != std::string::npos)
            loops.push_back(text.substr(begin, branch - begin));
    }
    return loops;
}

TEST(DifferentialPrograms, leavesOutOfRealGpusWhatTheirAssemblerMakesEndlessLoopsOf) {
    static const std::regex retried(R"((atom|red)\.shared\.((add|min|max|and|or|xor)\.[usb]64|cas\.b16))");
    unsigned found = 0;
    for (std::uint64_t i = 0; i < 2000; ++i) {
        const Program program = generate(1, i);
        for (const std::string& loop : loopsIn(textOf(program, "k0")))
            if (std::regex_search(loop, retried)) {
                ++found;
                EXPECT_TRUE(program.isMisassembled()) << "program " << i;
            }
    }
    EXPECT_GT(found, 10u);
    EXPECT_TRUE(generate(1, 542).isMisassembled());  // an H200 does not come to the end of it
}

const Operation& operationNamed(const std::string& familyName, const std::string& body) {
    for (const Operation& operation : family(familyName).operations)
        if (operation.body == body) return operation;
    throw std::logic_error("no operation " + body);
}

bool uses(const Program& program, const Operation& operation) {
    for (const Instruction& instruction : program.body)
        if (instruction.operation == &operation) return true;
    return false;
}

TEST(Shrink, leavesTheInstructionThatDiffers) {
    const Operation& guilty = operationNamed("integer", "sad.s32 %o0, %a, %b, %c;");
    unsigned found = 0;
    for (std::uint64_t i = 0; i < 3000 && found < 5; ++i) {
        const Program program = generate(1, i);
        if (!uses(program, guilty)) continue;
        ++found;
        const Program small = shrink(program, [&](const Program& candidate) { return uses(candidate, guilty); });
        ASSERT_EQ(small.body.size(), 1u);
        EXPECT_EQ(small.body[0].operation, &guilty);
    }
    EXPECT_EQ(found, 5u);
}

TEST(Evaluator, refusesThreadsThatWaitForEver) {
    // The upper half of each warp votes with everybody, the lower half has gone.
    Program program;
    program.input.resize(kDataBytes);
    for (unsigned t = 0; t < kThreads; ++t) program.input[t * Record::kBytes + Record::kPredicatesAt] = t % 32 < 16;
    Instruction leave, vote, end;
    leave.kind = Instruction::Kind::branch;
    leave.labels = {0};
    leave.guard = 0;
    vote.operation = &operationNamed("warp", "vote.sync.any.pred %o0, %a, %b;");
    vote.results = {{Width::pred, 1}};
    vote.sources = {{false, {Width::pred, 0}, 0}, {false, maskRegister(0), 0}};
    end.kind = Instruction::Kind::label;
    end.labels = {0};
    program.body = {leave, vote, end};
    EXPECT_THROW(evaluate(program), Undefined);
    program.body = {vote, leave, end};
    EXPECT_NO_THROW(evaluate(program));
}

}  // namespace
}  // namespace bulkhead::differential
