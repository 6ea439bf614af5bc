#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>
#include <set>
#include <sstream>
#include <string>

#include "base/files.h"

namespace {

using Names = std::set<std::string>;

/// The list that a library's sources keep of what it exports.
Names listed(const std::string& library) {
    Names names;
    std::istringstream lines(bulkhead::readFile(BULKHEAD_SOURCE_DIR "/src/" + library + "/symbols.txt"));
    for (std::string line; std::getline(lines, line);) names.insert(line);
    return names;
}

/// The dynamic symbols that a library defines, with the version that nm prints after @@.
Names exported(const std::string& library) {
    const std::string command = std::string("nm -D --defined-only '") + BULKHEAD_LIBRARY_FOLDER + "/" + library + "'";
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
    Names names;
    std::array<char, 1024> line;
    while (std::fgets(line.data(), line.size(), pipe.get())) {
        std::istringstream words(line.data());
        std::string address, kind, name;
        words >> address >> kind >> name;
        if (kind != "A") names.insert(name);  // A is the version's own
    }
    return names;
}

TEST(Symbols, TheRuntimeExportsWhatCuda13Does) {
    Names versioned;
    for (const std::string& name : listed("cudart")) versioned.insert(name + "@@libcudart.so.13");
    EXPECT_EQ(versioned.size(), 422u);
    EXPECT_EQ(exported("libcudart.so.13"), versioned);
}

TEST(Symbols, TheRuntimeForCuda12ExportsWhatCuda12Does) {
    Names versioned;
    for (const std::string& name : listed("cudart/cuda12")) versioned.insert(name + "@@libcudart.so.12");
    EXPECT_EQ(versioned.size(), 435u);
    EXPECT_EQ(exported("libcudart.so.12"), versioned);
}

TEST(Symbols, TheDriverExportsWhatNvidiasDoes) {
    EXPECT_EQ(exported("libcuda.so.1"), listed("libcuda"));
}

TEST(Symbols, AProgramFindsTheRuntimeByItsVersion) {
    void* library = ::dlopen(BULKHEAD_LIBRARY_FOLDER "/libcudart.so.13", RTLD_NOW);
    ASSERT_NE(library, nullptr) << ::dlerror();
    EXPECT_NE(::dlvsym(library, "cudaMalloc", "libcudart.so.13"), nullptr);
    EXPECT_EQ(::dlvsym(library, "cudaMalloc", "libcudart.so.12"), nullptr);
}

}  // namespace
