#include "experiment/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/error.h"
#include "experiment/interruption.h"

namespace bulkhead::experiment {
namespace {

constexpr double kGraceSeconds = 5;
constexpr int kPollMs = 100;

using Clock = std::chrono::steady_clock;

Clock::time_point after(double seconds) {
    constexpr double kForEver = 1e9;  // more does not fit the clock
    return Clock::now() +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(seconds, kForEver)));
}

/// In the child: never returns.
[[noreturn]] void become(const std::vector<std::string>& command, const ChildProcess::Environment& environment,
                         int input, int output, ChildProcess::Says says, ChildProcess::Dies dies) {
    if (dies == ChildProcess::Dies::withUs) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
    } else {
        setsid();
    }
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    dup2(input, 0);
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(says == ChildProcess::Says::nothing ? nowhere : output, 1);
    if (says != ChildProcess::Says::all) dup2(nowhere, 2);
    std::vector<char*> arguments;
    arguments.reserve(command.size() + 1);
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    _exit(127);
}

/// write, where a reader that has gone shows in the result and in no signal. SIGPIPE stays as it is otherwise: a
/// program that this one becomes has it from here.
ssize_t writeWithoutSignal(int to, const char* bytes, std::size_t count) {
    sigset_t broken, before;
    sigemptyset(&broken);
    sigaddset(&broken, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &broken, &before);
    const ssize_t written = write(to, bytes, count);
    const int error = errno;
    const timespec now{};
    if (written < 0 && error == EPIPE) sigtimedwait(&broken, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    errno = error;
    return written;
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& command, const Environment& environment, Says says,
                           Dies dies)
    : name_(command.front()) {
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
        throw Error("cannot start {}: {}", name_, std::strerror(errno));
    pid_ = fork();
    if (pid_ < 0) throw Error("cannot start {}: {}", name_, std::strerror(errno));
    if (pid_ == 0) become(command, environment, in[0], out[1], says, dies);
    close(in[0]);
    close(out[1]);
    input_ = in[1];
    output_ = out[0];
}

ChildProcess::~ChildProcess() {
    wait(kGraceSeconds);
    if (output_ >= 0) close(output_);
}

void ChildProcess::closeInput() {
    if (input_ >= 0) close(input_);
    input_ = -1;
}

bool ChildProcess::ended() {
    if (status_ >= 0) return true;
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) != pid_) return false;
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return true;
}

void ChildProcess::signal(int number) {
    if (!ended()) kill(pid_, number);
}

int ChildProcess::wait(double limitSeconds) {
    closeInput();
    for (const Clock::time_point end = after(limitSeconds); !ended() && Clock::now() < end;)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    for (const int signal : {SIGTERM, SIGKILL}) {
        if (ended()) break;
        kill(pid_, signal);
        for (const Clock::time_point end = after(kGraceSeconds); !ended() && Clock::now() < end;)
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return status_;
}

void ChildProcess::writeLine(const std::string& line) {
    const std::string bytes = line + "\n";
    for (std::size_t done = 0; done < bytes.size();) {
        const ssize_t n = writeWithoutSignal(input_, bytes.data() + done, bytes.size() - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) throw Error("{} has ended", name_);
        done += static_cast<std::size_t>(n);
    }
}

std::string ChildProcess::readLine(double limitSeconds) {
    const Clock::time_point end = after(limitSeconds);
    while (true) {
        if (const std::size_t at = pending_.find('\n'); at != std::string::npos) {
            std::string line = pending_.substr(0, at);
            pending_.erase(0, at + 1);
            return line;
        }
        throwIfInterrupted();
        if (Clock::now() >= end) throw Error("{} did not answer within {} s", name_, limitSeconds);
        pollfd ready = {output_, POLLIN, 0};
        if (poll(&ready, 1, kPollMs) <= 0) {
            check_();
            continue;
        }
        char buffer[4096];
        const ssize_t n = read(output_, buffer, sizeof buffer);
        if (n <= 0) {
            throwIfInterrupted();  // Ctrl-C of a terminal comes to the child too
            throw Error("{} ended", name_);
        }
        pending_.append(buffer, static_cast<std::size_t>(n));
    }
}

}  // namespace bulkhead::experiment
