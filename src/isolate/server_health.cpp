#include "isolate/server_health.h"

#include <thread>

#include "base/error.h"
#include "experiment/mps_control.h"
#include "experiment/process_pool.h"
#include "gpu/gpu.h"
#include "gpu/real_driver.h"

namespace bulkhead::isolate {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kPause(100);

/// What is wrong with it, seen by a process that ends afterwards; empty where nothing is.
std::string faultOf(const std::string& name) {
    std::string fault;
    experiment::inProcesses(
        1, 1,
        [&](std::size_t) {
            gpu::Gpu gpu = gpu::Gpu::open(name);
            gpu.context().allocate(1);
            gpu.context().synchronize();
            return std::string();
        },
        [&](std::size_t, const experiment::WorkResult& result) { fault = result.why; });
    return fault;
}

/// Empty once the GPU works.
std::string faultAfter(const std::string& name, std::chrono::milliseconds patience) {
    const auto end = Clock::now() + patience;
    std::string fault = faultOf(name);
    while (!fault.empty() && Clock::now() < end) {
        std::this_thread::sleep_for(kPause);
        fault = faultOf(name);
    }
    return fault;
}

/// Whether the server itself says that it takes clients in, which is known in a tenth of the time that a process takes
/// to try. Where there is none yet, the daemon starts one with the first client.
bool saysItWorks() {
    try {
        const experiment::MpsServer server = experiment::askMpsServer();
        return server.process.empty() || server.status == "ACTIVE";
    } catch (const Error&) {
        return false;  // nobody answers: a process that tries gets to know why
    }
}

}  // namespace

void waitForServer(const std::string& gpu, bool suspect, std::chrono::milliseconds patience) {
    if (!gpu::capabilitiesOf(gpu).sharedByProcesses || !gpu::underMps() || (!suspect && saysItWorks())) return;
    std::string fault = faultAfter(gpu, patience);
    if (fault.empty()) return;
    const experiment::MpsServer server = experiment::askMpsServer();
    if (server.process.empty()) throw Error("{}", fault);
    if (!server.clients.empty())
        throw Error("{}; MPS server {} is in state {} and waits for its clients to end: process {}", fault,
                    server.process, server.status, fmt::join(server.clients, ", "));
    experiment::replaceMpsServer(server);
    fault = faultAfter(gpu, patience);
    if (!fault.empty()) throw Error("{}; MPS server {} was replaced, which did not help", fault, server.process);
}

}  // namespace bulkhead::isolate
