// Streams and events of a tenant.

#include "walls/walled_calls.h"

namespace bulkhead::walls {
namespace {

using namespace driver;

CUresult streamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
    return inside([&](WalledContext& walled) {
        requireOutput(stream);
        *stream = walled.createStream(flags, priority);
    });
}
CUresult streamCreate(CUstream* stream, unsigned flags) {
    return streamCreateWithPriority(stream, flags, 0);
}
CUresult streamDestroy(CUstream stream) {
    return inside([&](WalledContext& walled) { walled.destroyStream(stream); });
}
CUresult streamSynchronize(CUstream stream) {
    return waitingInside([&](WalledContext& walled) { walled.synchronize(stream); });
}
CUresult streamGetCtx(CUstream, CUcontext* context) {
    return call([&] {
        requireOutput(context);
        *context = currentContext()->handle();
    });
}
CUresult streamGetFlags(CUstream stream, unsigned* flags) {
    return inside([&](WalledContext& walled) {
        requireOutput(flags);
        *flags = walled.flagsOf(stream);
    });
}

}  // namespace

void enterStreamCalls(DriverApi& api) {
    passOn<&DriverApi::cuStreamQuery, &DriverApi::cuStreamWaitEvent, &DriverApi::cuStreamAddCallback,
           &DriverApi::cuStreamGetPriority, &DriverApi::cuStreamGetId, &DriverApi::cuStreamGetDevice,
           &DriverApi::cuLaunchHostFunc, &DriverApi::cuEventCreate, &DriverApi::cuEventDestroy,
           &DriverApi::cuEventRecord, &DriverApi::cuEventRecordWithFlags, &DriverApi::cuEventQuery,
           &DriverApi::cuEventSynchronize, &DriverApi::cuEventElapsedTime, &DriverApi::cuEventElapsedTime_v2>(api);
    api.cuStreamCreate = streamCreate;
    api.cuStreamCreateWithPriority = streamCreateWithPriority;
    api.cuStreamDestroy = streamDestroy;
    api.cuStreamSynchronize = streamSynchronize;
    api.cuStreamGetCtx = streamGetCtx;
    api.cuStreamGetFlags = streamGetFlags;
}

}  // namespace bulkhead::walls
