#include "driver/shared_machine.h"
#include "driver/state.h"

namespace bulkhead::driver {
namespace {

/// Gives up the lock of the call that is under way for as long as it lives.
class Unlocked {
  public:
    Unlocked() { state().mutex.unlock(); }
    ~Unlocked() { state().mutex.lock(); }
    Unlocked(const Unlocked&) = delete;
    Unlocked& operator=(const Unlocked&) = delete;
};

}  // namespace

void runHostFunction(const std::function<void()>& function) {
    insideHostFunction() = true;
    function();
    insideHostFunction() = false;
}

void enqueueHostFunction(CUstream stream, std::function<void()> body) {
    Device& device = *stream->context->device;
    if (!device.signals) device.signals = device.gpu->createStream(stream->context->root->id);
    const sim::MarkerId done = device.gpu->createMarker();
    enqueue(stream, 0, [&device, done, body = std::move(body)] {
        device.dueFunctions.push_back({body, done});
        device.gpu->interrupt();
    });
    device.gpu->wait(stream->id, done);
}

bool runDueFunctions(Device& device) {
    if (device.dueFunctions.empty()) return false;
    while (!device.dueFunctions.empty()) {
        const HostFunction function = std::move(device.dueFunctions.front());
        device.dueFunctions.pop_front();
        ++device.runningFunctions;
        {
            const Unlocked unlocked;  // it may wait for threads that call the driver
            runHostFunction(function.body);
        }
        --device.runningFunctions;
        device.gpu->record(*device.signals, function.done);
        state().functionEnded.notify_all();
    }
    return true;
}

void simulate(Device& device, const std::function<bool()>& done, const std::function<void(sim::Machine&)>& run) {
    if (state().machine) return state().machine->simulate(done, run);
    for (;;) {
        device.gpu->expectHost(device.runningFunctions > 0);
        run(*device.gpu);
        if (runDueFunctions(device)) continue;
        if (done() || device.runningFunctions == 0) return;
        // Another thread runs a function that this waits for.
        state().functionEnded.wait(state().mutex);
    }
}

void finishStream(Device& device, sim::StreamId stream) {
    simulate(
        device, [&] { return device.gpu->idle(stream); }, [&](sim::Machine& gpu) { gpu.finishStream(stream); });
}

}  // namespace bulkhead::driver
