#include "experiment/process_pool.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "experiment/interruption.h"

namespace bulkhead::experiment {
namespace {

constexpr int kListenMs = 200;

struct Worker {
    std::size_t index = 0;
    int words = -1;     ///< read end of the pipe through which a child says what it found, or why it failed
    std::string heard;  ///< so far
};

bool writeAll(int file, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t n = write(file, bytes.data(), bytes.size());
        if (n < 0 && errno != EINTR) return false;
        if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
}

/// Never returns.
[[noreturn]] void workAndLeave(std::size_t index, int words, pid_t parent,
                               const std::function<std::string(std::size_t)>& work) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);  // it ended before we could ask to end with it
    for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, SIG_DFL);  // the parent's to note
    std::string told;
    bool good = true;
    try {
        told = work(index);
    } catch (const Interrupted&) {  // noted by the parent before we came to be
        _exit(1);
    } catch (const std::exception& error) {
        told = error.what();
        good = false;
    }
    good = writeAll(words, told) && good;
    // The parent's open files and its objects are not the child's to close.
    _exit(good ? 0 : 1);
}

Worker start(std::size_t index, const std::function<std::string(std::size_t)>& work, pid_t& child) {
    int ends[2];
    // Programs that a child starts must not keep it open.
    if (pipe2(ends, O_CLOEXEC) != 0) throw Error("cannot create a pipe: {}", std::strerror(errno));
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
    return {index, ends[0], ""};
}

/// What is there to be heard; false at the end.
bool hear(Worker& worker) {
    std::array<char, 65536> some;
    const ssize_t n = read(worker.words, some.data(), some.size());
    if (n < 0) return errno == EINTR;
    worker.heard.append(some.data(), static_cast<std::size_t>(n));
    return n > 0;
}

WorkResult resultOf(Worker& worker, pid_t child) {
    close(worker.words);
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) throw Error("cannot wait for a process: {}", std::strerror(errno));
    if (WIFSIGNALED(status))
        return {"", fmt::format("its process was ended by signal {}", WTERMSIG(status)), WTERMSIG(status)};
    if (WEXITSTATUS(status) == 0) return {std::move(worker.heard), "", 0};
    return {"", worker.heard.empty() ? "its process ended too early" : std::move(worker.heard), 0};
}

/// Children that have something to tell; none after a while in which nobody has.
std::vector<pid_t> talkative(const std::map<pid_t, Worker>& running) {
    std::vector<pollfd> files;
    files.reserve(running.size());
    for (const auto& [child, worker] : running) files.push_back({worker.words, POLLIN, 0});
    if (poll(files.data(), files.size(), kListenMs) < 0 && errno != EINTR)
        throw Error("cannot wait for processes: {}", std::strerror(errno));
    std::vector<pid_t> children;
    std::size_t i = 0;
    for (const auto& [child, worker] : running)
        if (files[i++].revents != 0) children.push_back(child);
    return children;
}

void endAll(std::map<pid_t, Worker>& running) {
    for (const auto& [child, worker] : running) kill(child, SIGKILL);
    for (auto& [child, worker] : running) resultOf(worker, child);
    running.clear();
}

}  // namespace

void inProcesses(std::size_t count, unsigned jobs, const std::function<std::string(std::size_t)>& work,
                 const std::function<void(std::size_t, const WorkResult&)>& ended) {
    std::map<pid_t, Worker> running;
    std::size_t next = 0;
    while (next < count || !running.empty()) {
        while (next < count && running.size() < std::max(jobs, 1u)) {
            pid_t child = 0;
            Worker worker = start(next++, work, child);
            running[child] = std::move(worker);
        }
        const std::vector<pid_t> heard = talkative(running);
        if (isInterrupted()) {
            endAll(running);
            throw Interrupted();
        }
        for (const pid_t child : heard) {
            const auto found = running.find(child);
            if (hear(found->second)) continue;
            Worker worker = std::move(found->second);
            running.erase(found);
            const WorkResult result = resultOf(worker, child);
            ended(worker.index, result);
        }
    }
}

unsigned processors() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    return static_cast<unsigned>(std::max(CPU_COUNT(&set), 1));
}

}  // namespace bulkhead::experiment
