#include "corun/waiting.h"

#include "driver/simulator_api.h"
#include "experiment/interruption.h"
#include "sim/gpu.h"

namespace bulkhead::corun {
namespace {

const sim::Gpu* machineOf(gpu::Context& context) {
    if (&context.api() != &driver::simulatedDriver()) return nullptr;
    context.makeCurrent();
    driver::CUdevice device = 0;
    context.api().cuCtxGetDevice(&device);
    return driver::simulator().machine(device);
}

}  // namespace

Deadline::Deadline(gpu::Context& context, double seconds) : machine_(machineOf(context)), end_(now() + seconds) {}

double Deadline::now() const {
    if (const auto* machine = static_cast<const sim::Gpu*>(machine_)) return machine->seconds(machine->now());
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool Deadline::passed() const {
    return now() >= end_;
}

bool waitFor(gpu::Context& context, gpu::Stream& stream, double limitSeconds, const std::function<void()>& meanwhile) {
    const Deadline deadline(context, limitSeconds);
    while (true) {
        experiment::throwIfInterrupted();
        context.makeCurrent();
        const driver::CUresult result = context.api().cuStreamQuery(stream.handle());
        if (result != driver::CUDA_ERROR_NOT_READY) break;
        if (deadline.passed()) return false;
        if (meanwhile) meanwhile();
    }
    stream.synchronize();  // says what went wrong, if anything did
    return true;
}

}  // namespace bulkhead::corun
