#include "corun/waiting.h"

#include "experiment/interruption.h"

namespace bulkhead::corun {

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
