#include "sdk/shell.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace bulkhead {

Outcome run(const std::vector<std::string>& command) {
    int pipe[2];
    if (::pipe(pipe) != 0) return {};
    std::vector<std::string> words = command;
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
        ::dup2(pipe[1], STDOUT_FILENO);
        ::dup2(pipe[1], STDERR_FILENO);
        ::close(pipe[0]);
        ::close(pipe[1]);
        ::execvp(pointers[0], pointers.data());
        ::_exit(127);
    }
    ::close(pipe[1]);
    Outcome outcome;
    char buffer[4096];
    for (ssize_t got; (got = ::read(pipe[0], buffer, sizeof buffer)) > 0;)
        outcome.output.append(buffer, static_cast<std::size_t>(got));
    ::close(pipe[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status)) outcome.exitCode = WEXITSTATUS(status);
    return outcome;
}

std::string findNvcc() {
    const char* path = std::getenv("PATH");
    std::istringstream folders(std::string(path ? path : "") + ":/usr/local/cuda/bin");
    for (std::string folder; std::getline(folders, folder, ':');) {
        const auto nvcc = std::filesystem::path(folder) / "nvcc";
        if (::access(nvcc.c_str(), X_OK) == 0) return nvcc.string();
    }
    return {};
}

}  // namespace bulkhead
