#include <set>

#include "support.h"

namespace bulkhead::ptx {
namespace {

const std::filesystem::path kBroken = kTestFolder / "broken";

TEST(Broken, EveryFileIsRefusedAtItsLine) {
    std::istringstream expected(readFile(kBroken / "expected.txt"));
    std::set<std::string> named;
    for (std::string line; std::getline(expected, line);) {
        if (line.empty() || line[0] == '#') continue;
        std::istringstream fields(line);
        std::string file, words;
        int number = 0;
        fields >> file >> number >> std::ws;
        std::getline(fields, words);
        named.insert(file);
        SCOPED_TRACE(file);
        try {
            parse(readFile(kBroken / file), file);
            ADD_FAILURE() << "accepted";
        } catch (const PtxError& error) {
            std::string message = error.what();
            EXPECT_EQ(error.position.line, number) << message;
            EXPECT_GE(error.position.column, 1) << message;
            EXPECT_EQ(message.find(fmt::format("{}:{}:{}: ", file, number, error.position.column)), 0u) << message;
            EXPECT_NE(message.find(words), std::string::npos) << message;
            EXPECT_EQ(message.find('\n'), std::string::npos) << message;
        }
    }
    for (const auto& file : ptxFilesIn(kBroken)) {
        EXPECT_TRUE(named.count(file.filename().string())) << file << " is not in expected.txt";
    }
    EXPECT_GE(named.size(), 40u);
}

TEST(Broken, AModuleCutInsideAFunctionIsRefused) {
    std::string text = readFile(kTestFolder / "fixtures" / "nvcc" / "structs.sm_90.ptx");
    int depth = 0;
    for (std::size_t length = 0; length < text.size(); ++length) {
        std::string error = errorOf([&] { parse(text.substr(0, length), "prefix.ptx"); });
        if (depth > 0) {
            ASSERT_NE(error, "") << text.substr(0, length);
        }
        depth += text[length] == '{' ? 1 : text[length] == '}' ? -1 : 0;
    }
}

}  // namespace
}  // namespace bulkhead::ptx
