#include "libcuda/beside.h"

#include <fmt/format.h>
#include <unistd.h>

#include <thread>

#include "base/environment.h"
#include "corun/in_process_aggressor.h"

namespace bulkhead::libcuda {
namespace {

/// Never destroyed: programs may call the driver to the very end.
corun::InProcessAggressor* beside = nullptr;
pid_t process = 0;  ///< that which has the GPU: a child of it tells nothing

void finish() {
    try {
        beside->finish();
    } catch (const std::exception& e) {
        fmt::print(stderr, "bulkhead: {}\n", e.what());
    }
}

/// When the library is unloaded, which is after the program's own static objects are gone. So is what the driver keeps
/// for the main thread: it takes another one to call it.
[[gnu::destructor]] void finishBeside() {
    if (beside && process == ::getpid()) std::thread(finish).join();
}

}  // namespace

bool openBeside() {
    const std::string text = environment(corun::kInProcessVariable);
    if (text.empty()) return false;
    beside = new corun::InProcessAggressor(corun::inProcessFromText(text));
    process = ::getpid();
    return true;
}

}  // namespace bulkhead::libcuda
