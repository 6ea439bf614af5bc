#include "cli/command.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/files.h"

namespace bulkhead::cli {

namespace {

/// An unnamed-enough file for one stream of the child.
std::string temporaryFile() {
    std::string name = (std::filesystem::temp_directory_path() / "bulkhead-test-XXXXXX").string();
    const int file = ::mkstemp(name.data());
    if (file >= 0) ::close(file);
    return name;
}

}  // namespace

Outcome run(const std::vector<std::string>& arguments) {
    const std::string out = temporaryFile(), err = temporaryFile();
    std::vector<std::string> words = {BULKHEAD_PROGRAM};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);

    const pid_t child = ::fork();
    if (child == 0) {
        ::dup2(::open(out.c_str(), O_WRONLY), STDOUT_FILENO);
        ::dup2(::open(err.c_str(), O_WRONLY), STDERR_FILENO);
        ::execv(pointers[0], pointers.data());
        ::_exit(127);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    Outcome outcome{WIFEXITED(status) ? WEXITSTATUS(status) : -1, readFile(out), readFile(err)};
    std::filesystem::remove(out);
    std::filesystem::remove(err);
    return outcome;
}

void expectRefused(const std::vector<std::string>& arguments, const std::string& part) {
    const Outcome o = run(arguments);
    EXPECT_EQ(o.exitCode, 2) << o.err;
    EXPECT_EQ(o.out, "");
    EXPECT_TRUE(o.err.starts_with("bulkhead: ")) << o.err;
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
    EXPECT_NE(o.err.find(part), std::string::npos) << "expected " << part << "\n" << o.err;
}

}  // namespace bulkhead::cli
