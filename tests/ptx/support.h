#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "ptx/control_flow.h"
#include "ptx/module.h"

namespace bulkhead::ptx {

inline const std::filesystem::path kTestFolder = std::filesystem::path(BULKHEAD_SOURCE_DIR) / "tests" / "ptx";

inline std::string readFile(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    EXPECT_TRUE(file) << path;
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

inline std::vector<std::filesystem::path> ptxFilesIn(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        if (entry.path().extension() == ".ptx") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    EXPECT_FALSE(files.empty()) << folder;
    return files;
}

inline Module parseModule(const std::string& text) {
    return parse(".version 7.8\n.target sm_80\n.address_size 64\n" + text, "test.ptx");
}

/// A function that keeps the text its instructions quote.
struct Body : Function {
    std::shared_ptr<const std::string> source;
};

/// The statements as the body of a kernel that has some registers of each kind.
inline Body parseBody(const std::string& statements) {
    Module module = parseModule(
        ".global .align 4 .u32 table[8];\n"
        ".visible .entry kernel(.param .u64 kernel_param_0) {\n"
        ".reg .pred %p<8>; .reg .b16 %rs<8>; .reg .b32 %r<16>; .reg .b64 %rd<8>; .reg .f32 %f<8>; .reg .f64 %fd<8>;\n" +
        statements + "\n}");
    return {std::move(module.functions.at(0)), module.source};
}

/// The message of the PtxError that parsing the statements gives, or an empty string.
template <class Parse>
std::string errorOf(Parse&& parse) {
    try {
        parse();
    } catch (const PtxError& error) {
        return error.what();
    }
    return {};
}

}  // namespace bulkhead::ptx
