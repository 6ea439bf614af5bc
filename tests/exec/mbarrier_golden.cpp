// Programs on mbarrier objects against what an H200 answered (golden/mbarriers_on_gpu.cpp wrote the file): random ones
// of 48 instructions, of every form, within the bounds that the PTX ISA sets on counts and bytes.

#include <gtest/gtest.h>

#include <fstream>

#include "golden/mbarrier_programs.h"
#include "runner.h"

namespace bulkhead::sim {
namespace {

TEST(Mbarrier, AnswersAsAnH200Does) {
    std::ifstream file(std::string(BULKHEAD_SOURCE_DIR) + "/tests/exec/golden/h200-mbarriers.txt");
    int programs = 0;
    for (std::string line; std::getline(file, line); ++programs) {
        const auto program = golden::programOf(line);
        Runner runner(golden::moduleOf(program));
        const VirtualAddress out = runner.upload(std::vector<std::uint32_t>(program.size(), 99));
        runner.launch("k", {{}, {1}}, out, out);
        const auto answers = runner.download<std::uint32_t>(out, program.size());
        for (std::size_t n = 0; n < program.size(); ++n)
            ASSERT_EQ(answers[n], program[n].answer) << "step " << n << " of " << line;
    }
    EXPECT_EQ(programs, 100);
}

}  // namespace
}  // namespace bulkhead::sim
