#include "sim/host_threads.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <thread>

#include "base/environment.h"
#include "base/error.h"

namespace bulkhead::sim {
namespace {

constexpr const char* kVariable = "BULKHEAD_THREADS";

unsigned processors() {
    return std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace

unsigned hostThreads() {
    const std::string text = environment(kVariable);
    if (text.empty()) return processors();
    unsigned threads = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), threads);
    if (error != std::errc() || end != text.data() + text.size() || threads == 0)
        throw Error("{} is '{}': give a number of threads from 1 on", kVariable, text);
    return threads;
}

void useHostThreads(unsigned threads) {
    ::setenv(kVariable, std::to_string(threads).c_str(), 1);
}

void offerHostThreads(unsigned threads) {
    if (environment(kVariable).empty()) useHostThreads(std::max(1u, threads));
}

void shareHostThreads(unsigned processes) {
    offerHostThreads(processors() / std::max(1u, processes));
}

}  // namespace bulkhead::sim
