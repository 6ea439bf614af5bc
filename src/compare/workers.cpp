#include "compare/workers.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>

#include "base/error.h"

namespace bulkhead::compare {
namespace {

struct Worker {
    std::size_t index = 0;
    int words = -1;  ///< read end of the pipe through which a child says why it failed
};

/// Never returns.
[[noreturn]] void workAndLeave(std::size_t index, int words, pid_t parent,
                               const std::function<void(std::size_t)>& work) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);  // it ended before we could ask to end with it
    std::string why;
    try {
        work(index);
    } catch (const std::exception& error) {
        why = error.what();
        if (why.empty()) why = "failed without a reason";
    }
    // A pipe holds 4 KB at least, so this waits for nobody.
    why.resize(std::min<std::size_t>(why.size(), 4000));
    const bool told = why.empty() || write(words, why.data(), why.size()) == static_cast<ssize_t>(why.size());
    // The parent's open files and its objects are not the child's to close.
    _exit(why.empty() && told ? 0 : 1);
}

Worker start(std::size_t index, const std::function<void(std::size_t)>& work, pid_t& child) {
    int ends[2];
    if (pipe(ends) != 0) throw Error("cannot make a pipe: {}", std::strerror(errno));
    const pid_t parent = getpid();
    child = fork();
    if (child < 0) {
        const int reason = errno;
        close(ends[0]);
        close(ends[1]);
        throw Error("cannot start a process: {}", std::strerror(reason));
    }
    if (child == 0) {
        close(ends[0]);
        workAndLeave(index, ends[1], parent, work);
    }
    close(ends[1]);
    return {index, ends[0]};
}

std::string reasonOf(const Worker& worker, int status) {
    std::array<char, 4096> words{};
    const ssize_t length = read(worker.words, words.data(), words.size());
    close(worker.words);
    if (WIFSIGNALED(status)) return fmt::format("its process was ended by signal {}", WTERMSIG(status));
    if (WEXITSTATUS(status) == 0) return "";
    return length > 0 ? std::string(words.data(), static_cast<std::size_t>(length)) : "its process ended too early";
}

}  // namespace

void inProcesses(std::size_t count, unsigned jobs, const std::function<void(std::size_t)>& work,
                 const std::function<void(std::size_t, const std::string& why)>& ended) {
    std::map<pid_t, Worker> running;
    std::size_t next = 0;
    while (next < count || !running.empty()) {
        while (next < count && running.size() < std::max(jobs, 1u)) {
            pid_t child = 0;
            const Worker worker = start(next++, work, child);
            running[child] = worker;
        }
        int status = 0;
        const pid_t child = waitpid(-1, &status, 0);
        if (child < 0 && errno == EINTR) continue;
        if (child < 0) throw Error("cannot wait for a process: {}", std::strerror(errno));
        const auto found = running.find(child);
        if (found == running.end()) continue;  // somebody else's child
        const Worker worker = found->second;
        running.erase(found);
        ended(worker.index, reasonOf(worker, status));
    }
}

unsigned processors() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    return static_cast<unsigned>(std::max(CPU_COUNT(&set), 1));
}

}  // namespace bulkhead::compare
