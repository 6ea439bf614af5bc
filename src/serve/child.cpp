#include "serve/child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/read.hpp>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace bulkhead::serve {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr auto kPatience = std::chrono::seconds(5);
constexpr std::size_t kLongestLine = 4096;
constexpr int kFiles = 4096;  // more than a server with its few connections opens

/// No signal comes while it lives. A child begins with its parent's handlers, and with them would tell the parent of
/// signals of its own.
class SignalsHeld {
  public:
    SignalsHeld() {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~SignalsHeld() { release(); }
    SignalsHeld(const SignalsHeld&) = delete;
    SignalsHeld& operator=(const SignalsHeld&) = delete;
    void release() const { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  private:
    sigset_t before_;
};

/// In the child: never returns.
[[noreturn]] void become(const std::vector<std::string>& command, int output, int errors, const SignalsHeld& held) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    const int nothing = ::open("/dev/null", O_RDONLY);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(errors, STDERR_FILENO);
    // Connections of browsers are among them.
    if (::close_range(STDERR_FILENO + 1, ~0u, 0) != 0)
        for (int file = STDERR_FILENO + 1; file < kFiles; ++file) ::close(file);
    for (const int signal : {SIGINT, SIGTERM, SIGCHLD, SIGPIPE}) std::signal(signal, SIG_DFL);
    held.release();
    ::setenv("BULKHEAD_PROGRESS", "json", 1);
    ::setenv("NO_COLOR", "1", 1);
    std::vector<char*> words;
    words.reserve(command.size() + 1);
    for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    ::execv(words[0], words.data());
    ::_exit(127);
}

}  // namespace

Child::Child(asio::io_context& context, std::size_t mostOutput, Listener listener)
    : output_(context), errors_(context), patience_(context), listener_(std::move(listener)), mostOutput_(mostOutput) {}

Child::~Child() {
    if (process_ > 0 && status_ < 0) ::kill(-process_, SIGKILL);
}

void Child::start(const std::vector<std::string>& command) {
    int out[2], err[2];
    if (::pipe2(out, O_CLOEXEC) != 0) throw Error("cannot start a process: {}", std::strerror(errno));
    output_.assign(out[0]);
    if (::pipe2(err, O_CLOEXEC) != 0) {
        ::close(out[1]);
        throw Error("cannot start a process: {}", std::strerror(errno));
    }
    errors_.assign(err[0]);
    const SignalsHeld held;
    process_ = ::fork();
    if (process_ == 0) become(command, out[1], err[1], held);
    const int reason = errno;
    ::close(out[1]);
    ::close(err[1]);
    if (process_ < 0) throw Error("cannot start a process: {}", std::strerror(reason));
    ::setpgid(process_, process_);  // also here: whoever is first
    readOutput();
    readErrors();
}

void Child::readOutput() {
    output_.async_read_some(asio::buffer(outputPart_), [self = shared_from_this()](error_code failed, std::size_t n) {
        if (failed) {
            --self->open_;
            return self->end();
        }
        const std::size_t room = self->mostOutput_ - std::min(self->mostOutput_, self->heard_.size());
        self->tooMuch_ = self->tooMuch_ || n > room;
        self->heard_.append(self->outputPart_.data(), std::min(n, room));
        self->readOutput();
    });
}

void Child::readErrors() {
    errors_.async_read_some(asio::buffer(errorPart_), [self = shared_from_this()](error_code failed, std::size_t n) {
        if (failed) {
            --self->open_;
            return self->end();
        }
        self->takeErrors(n);
        self->readErrors();
    });
}

void Child::takeErrors(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const char c = errorPart_[i];
        if (c != '\n' && line_.size() < kLongestLine) line_ += c;
        if (c != '\n') continue;
        if (listener_.said) listener_.said(line_);
        line_.clear();
    }
}

void Child::finish(int status) {
    status_ = status;
    patience_.cancel();
    // Whoever it left behind goes too, and with them what keeps the pipes open.
    ::kill(-process_, SIGKILL);
    end();
}

void Child::end() {
    if (status_ < 0 || open_ > 0 || !listener_.ended) return;
    if (!line_.empty() && listener_.said) listener_.said(line_);
    std::exchange(listener_.ended, nullptr)(status_, heard_);
}

void Child::interrupt() {
    urge(SIGINT, SIGTERM);
}

void Child::urge(int signal, int nextSignal) {
    if (status_ >= 0) return;
    ::kill(-process_, signal);
    if (signal == SIGKILL) return;
    patience_.expires_after(kPatience);
    patience_.async_wait([self = shared_from_this(), nextSignal](error_code failed) {
        if (!failed) self->urge(nextSignal, SIGKILL);
    });
}

Children::Children(asio::io_context& context) : context_(context), ended_(context, SIGCHLD) {
    wait();
}

std::shared_ptr<Child> Children::start(const std::vector<std::string>& command, std::size_t mostOutput,
                                       Child::Listener listener) {
    auto child = std::make_shared<Child>(context_, mostOutput, std::move(listener));
    child->start(command);
    running_.push_back(child);
    return child;
}

void Children::wait() {
    ended_.async_wait([this](error_code failed, int) {
        if (failed) return;
        reap();
        wait();
    });
}

/// One signal may stand for several that ended.
void Children::reap() {
    std::vector<std::pair<std::shared_ptr<Child>, int>> gone;
    for (const std::shared_ptr<Child>& child : running_) {
        int status = 0;
        if (::waitpid(child->process_, &status, WNOHANG) == child->process_)
            gone.emplace_back(child, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    }
    for (const auto& [child, status] : gone) {
        std::erase(running_, child);
        child->finish(status);
    }
}

void Children::interruptAll() {
    for (const std::shared_ptr<Child>& child : running_) child->interrupt();
}

void Children::killAll() {
    for (const std::shared_ptr<Child>& child : running_) ::kill(-child->process_, SIGKILL);
}

}  // namespace bulkhead::serve
