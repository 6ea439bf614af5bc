#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

namespace bulkhead {

/// A test of several processes, which all end with it.
class ChildProcesses : public testing::Test {
  protected:
    /// What they tell each other.
    struct Told {
        std::atomic<int> step = 0;
        std::array<double, 8> numbers = {};
    };
    Told* const told =
        new (::mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Told;

    void waitFor(int step) const {
        for (int left = 100'000; told->step < step; --left) {
            if (left == 0) throw std::runtime_error("another process of the test has not come so far");
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
    pid_t process(const std::function<int()>& body) {
        const pid_t id = ::fork();
        if (id == 0) {
            int code = 99;
            try {
                code = body();
            } catch (const std::exception& error) {
                std::fprintf(stderr, "%s\n", error.what());
            }
            std::fflush(nullptr);
            ::_exit(code);
        }
        children_.push_back(id);
        return id;
    }
    /// The code that it ends with; 128 and the signal's number.
    int end(pid_t id) {
        int status = 0;
        ::waitpid(id, &status, 0);
        std::erase(children_, id);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    static void kill(pid_t id) { ::kill(id, SIGKILL); }
    ~ChildProcesses() override {
        for (const pid_t child : std::vector(children_)) {
            kill(child);
            end(child);
        }
        ::munmap(told, sizeof(Told));
    }

  private:
    std::vector<pid_t> children_;
};

}  // namespace bulkhead
