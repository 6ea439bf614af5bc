#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "ptx/module.h"
#include "sim/exec/program.h"

namespace bulkhead::sim {
namespace {

std::string readText(const std::filesystem::path& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

/// Everything both compilers made of ordinary CUDA C++ is supported.
TEST(Fixtures, EveryOneIsLowered) {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(BULKHEAD_SOURCE_DIR "/tests/ptx/fixtures")) {
        if (entry.path().extension() != ".ptx") continue;
        ++count;
        try {
            const auto program = lower(ptx::parse(readText(entry.path()), entry.path().filename()));
            EXPECT_FALSE(program->codes.empty()) << entry.path();
            for (const Code& code : program->codes) {
                EXPECT_EQ(code.instrs.size(), code.texts.size()) << code.name;
                for (const Instr& i : code.instrs) {
                    EXPECT_LE(i.writes, i.dependencies);
                    for (unsigned k = 0; k < i.dependencies; ++k) EXPECT_LT(i.registers[k], code.scoreboardIds);
                }
            }
        } catch (const Error& e) {
            ADD_FAILURE() << e.what();
        }
    }
    EXPECT_GT(count, 0u);
}

}  // namespace
}  // namespace bulkhead::sim
