#include "cli/command.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "base/files.h"

namespace bulkhead::cli {

namespace {

/// It is read only once the program has ended, so it must hold all that is said.
constexpr int kMostErr = 1 << 20;

/// An unnamed-enough file for one stream of the child.
std::string temporaryFile() {
    std::string name = (std::filesystem::temp_directory_path() / "bulkhead-test-XXXXXX").string();
    const int file = ::mkstemp(name.data());
    if (file >= 0) ::close(file);
    return name;
}

/// Of the child, before it becomes the program.
void enter(const Surroundings& around) {
    if (around.out && around.out->empty()) ::close(STDOUT_FILENO);
    if (around.out && !around.out->empty()) ::dup2(::open(around.out->c_str(), O_WRONLY), STDOUT_FILENO);
    if (around.patienceS) ::alarm(*around.patienceS);
    if (!around.diskBytes) return;
    // A write beyond the limit fails like one to a full disk once the signal for it is out of the way.
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit most = {*around.diskBytes, *around.diskBytes};
    ::setrlimit(RLIMIT_FSIZE, &most);
}

}  // namespace

Outcome run(const std::vector<std::string>& arguments, const Surroundings& around) {
    const std::string out = temporaryFile();
    int err[2];
    if (::pipe2(err, O_NONBLOCK | O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    ::fcntl(err[1], F_SETPIPE_SZ, kMostErr);
    ::fcntl(err[1], F_SETFL, 0);
    std::vector<std::string> words = {BULKHEAD_PROGRAM};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);

    const pid_t child = ::fork();
    if (child == 0) {
        ::dup2(::open(out.c_str(), O_WRONLY), STDOUT_FILENO);
        ::dup2(err[1], STDERR_FILENO);
        enter(around);
        ::execv(pointers[0], pointers.data());
        ::_exit(127);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    Outcome outcome{WIFEXITED(status) ? WEXITSTATUS(status) : -1, readFile(out), ""};
    char some[4096];
    for (ssize_t count = 0; (count = ::read(err[0], some, sizeof some)) > 0;)
        outcome.err.append(some, static_cast<std::size_t>(count));
    ::close(err[0]);
    ::close(err[1]);
    std::filesystem::remove(out);
    return outcome;
}

void expectRefused(const std::vector<std::string>& arguments, const std::string& part, const Surroundings& around) {
    std::string command = "bulkhead";
    for (const std::string& argument : arguments) command += " '" + argument + "'";
    SCOPED_TRACE(command);
    const Outcome o = run(arguments, around);
    EXPECT_EQ(o.exitCode, 2) << o.err;
    EXPECT_EQ(o.out, "");
    EXPECT_TRUE(o.err.starts_with("bulkhead: ")) << o.err;
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
    EXPECT_NE(o.err.find(part), std::string::npos) << "expected " << part << "\n" << o.err;
}

}  // namespace bulkhead::cli
