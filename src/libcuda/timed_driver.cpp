#include "libcuda/timed_driver.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "base/environment.h"
#include "base/files.h"
#include "base/json.h"
#include "gpu/real_driver.h"

namespace bulkhead::libcuda {
namespace {

using namespace driver;

constexpr const char* kVariable = "BULKHEAD_TIMED";
constexpr std::size_t kMostPending = 4096;  // operations whose events are kept

/// From the first operation of its context on, in milliseconds.
struct Span {
    double begin, end;
};

struct Timed {
    CUevent begin = nullptr, end = nullptr;
};

/// Events of different contexts cannot be compared.
struct ContextTimes {
    CUevent first = nullptr;
    std::vector<Timed> pending;
    std::vector<Span> spans;
};

const DriverApi* inner = nullptr;
std::mutex& mutex() {
    static auto* const one = new std::mutex;  // programs may call the driver to the very end
    return *one;
}
std::map<CUcontext, ContextTimes>& contexts() {
    static auto* const all = new std::map<CUcontext, ContextTimes>;
    return *all;
}
TimedWork gone;  ///< of contexts that were destroyed

/// How long at least one of them was under way.
double covered(std::vector<Span> spans) {
    std::ranges::sort(spans, {}, &Span::begin);
    double sum = 0, until = 0;
    for (const Span& span : spans) {
        sum += std::max(0.0, span.end - std::max(span.begin, until));
        until = std::max(until, span.end);
    }
    return sum;
}

/// The context must be current.
void collect(ContextTimes& times) {
    for (const Timed& timed : times.pending) {
        float begin = 0, length = 0;
        if (inner->cuEventSynchronize(timed.end) == CUDA_SUCCESS &&
            inner->cuEventElapsedTime(&begin, times.first, timed.begin) == CUDA_SUCCESS &&
            inner->cuEventElapsedTime(&length, timed.begin, timed.end) == CUDA_SUCCESS)
            times.spans.push_back({begin, double{begin} + length});
        if (timed.begin != times.first) inner->cuEventDestroy(timed.begin);
        inner->cuEventDestroy(timed.end);
    }
    times.pending.clear();
}

TimedWork workOf(const ContextTimes& times) {
    return {covered(times.spans) * 1e-3, times.spans.size()};
}

/// The current context, if the stream of it can be timed: what is captured does not happen now.
CUcontext contextFor(CUstream stream) {
    CUstreamCaptureStatus status = {};
    CUcontext context = nullptr;
    if (inner->cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS || status != CUstreamCaptureStatus{})
        return nullptr;
    return inner->cuCtxGetCurrent(&context) == CUDA_SUCCESS ? context : nullptr;
}

CUevent mark(CUstream stream) {
    CUevent event = nullptr;
    if (inner->cuEventCreate(&event, 0) != CUDA_SUCCESS) return nullptr;
    if (inner->cuEventRecord(event, stream) == CUDA_SUCCESS) return event;
    inner->cuEventDestroy(event);
    return nullptr;
}

template <class Call>
CUresult timeCall(CUstream stream, Call&& call) {
    const CUcontext context = contextFor(stream);
    const CUevent begin = context ? mark(stream) : nullptr;
    const CUresult result = call();
    const CUevent end = begin && result == CUDA_SUCCESS ? mark(stream) : nullptr;
    if (!end) {
        if (begin) inner->cuEventDestroy(begin);
        return result;
    }
    const std::lock_guard lock(mutex());
    ContextTimes& times = contexts()[context];
    if (!times.first) times.first = begin;
    times.pending.push_back({begin, end});
    if (times.pending.size() >= kMostPending) collect(times);
    return result;
}

/// What a call says of its stream: the default one where it says nothing.
CUstream streamOf() {
    return nullptr;
}
template <class First, class... Rest>
CUstream streamOf(First first, Rest... rest) {
    if constexpr (std::is_same_v<First, CUstream>)
        return first;
    else
        return streamOf(rest...);
}

#define BULKHEAD_TIME(name, symbol, variant, parameters, arguments)                               \
    CUresult name parameters {                                                                    \
        return timeCall(streamOf arguments, [&]() -> CUresult { return inner->name arguments; }); \
    }
namespace timed {
BULKHEAD_COPY_CALLS(BULKHEAD_TIME)
CUresult cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                        unsigned blockY, unsigned blockZ, unsigned shared, CUstream stream, void** parameters,
                        void** extra) {
    return timeCall(stream, [&] {
        return inner->cuLaunchKernel(function, gridX, gridY, gridZ, blockX, blockY, blockZ, shared, stream, parameters,
                                     extra);
    });
}
CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                                   unsigned blockY, unsigned blockZ, unsigned shared, CUstream stream,
                                   void** parameters) {
    return timeCall(stream, [&] {
        return inner->cuLaunchCooperativeKernel(function, gridX, gridY, gridZ, blockX, blockY, blockZ, shared, stream,
                                                parameters);
    });
}
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
    return timeCall(config ? config->hStream : nullptr,
                    [&] { return inner->cuLaunchKernelEx(config, function, parameters, extra); });
}
CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
    return timeCall(stream, [&] { return inner->cuGraphLaunch(exec, stream); });
}
}  // namespace timed
#undef BULKHEAD_TIME

/// Its events go with it.
void forget(CUcontext context) {
    const std::lock_guard lock(mutex());
    const auto found = contexts().find(context);
    if (found == contexts().end()) return;
    CUcontext before = nullptr;
    inner->cuCtxGetCurrent(&before);
    if (inner->cuCtxSetCurrent(context) == CUDA_SUCCESS) collect(found->second);
    inner->cuCtxSetCurrent(before);
    const TimedWork work = workOf(found->second);
    gone.seconds += work.seconds;
    gone.operations += work.operations;
    contexts().erase(found);
}

CUresult destroyContext(CUcontext context) {
    forget(context);
    return inner->cuCtxDestroy(context);
}
/// Whose primary one it is, is not said: all that were timed are looked at.
void forgetAll() {
    std::vector<CUcontext> all;
    {
        const std::lock_guard lock(mutex());
        for (const auto& [context, times] : contexts()) all.push_back(context);
    }
    for (CUcontext context : all) forget(context);
}
CUresult releasePrimary(CUdevice device) {
    forgetAll();
    return inner->cuDevicePrimaryCtxRelease(device);
}
CUresult resetPrimary(CUdevice device) {
    forgetAll();
    return inner->cuDevicePrimaryCtxReset(device);
}

std::string& accountFile() {
    static auto* const file = new std::string;
    return *file;
}
pid_t process = 0;  ///< that which was asked: a child of it tells nothing

void writeAccount() {
    try {
        const TimedWork work = timedWork();
        writeFile(accountFile(), jsonText(nlohmann::json{{"seconds", work.seconds}, {"operations", work.operations}}));
    } catch (const std::exception& e) {
        fmt::print(stderr, "bulkhead: {}\n", e.what());
    }
}

/// What a driver keeps for the main thread is gone by now: it takes another one to call it.
void accountAtEnd() {
    if (process == ::getpid()) std::thread(writeAccount).join();
}

}  // namespace

const DriverApi& timedDriver(const DriverApi& behind) {
    static DriverApi table;
    inner = &behind;
    table = behind;
#define BULKHEAD_ENTER(name, symbol, variant, parameters, arguments) \
    if (behind.name) table.name = timed::name;
    BULKHEAD_COPY_CALLS(BULKHEAD_ENTER)
#undef BULKHEAD_ENTER
    table.cuLaunchKernel = timed::cuLaunchKernel;
    table.cuLaunchCooperativeKernel = timed::cuLaunchCooperativeKernel;
    if (behind.cuLaunchKernelEx) table.cuLaunchKernelEx = timed::cuLaunchKernelEx;
    if (behind.cuGraphLaunch) table.cuGraphLaunch = timed::cuGraphLaunch;
    table.cuCtxDestroy = destroyContext;
    table.cuDevicePrimaryCtxRelease = releasePrimary;
    table.cuDevicePrimaryCtxReset = resetPrimary;
    if (behind.cuCtxDestroy_v1) table.cuCtxDestroy_v1 = destroyContext;
    if (behind.cuDevicePrimaryCtxRelease_v1) table.cuDevicePrimaryCtxRelease_v1 = releasePrimary;
    if (behind.cuDevicePrimaryCtxReset_v1) table.cuDevicePrimaryCtxReset_v1 = resetPrimary;
    return table;
}

TimedWork timedWork() {
    forgetAll();
    const std::lock_guard lock(mutex());
    return gone;
}

const DriverApi* openTimed() {
    const std::string file = environment(kVariable);
    if (file.empty()) return nullptr;
    // Programs that this one starts are not asked.
    ::unsetenv(kVariable);
    accountFile() = file;
    const DriverApi& table = timedDriver(gpu::realDriver());
    process = ::getpid();
    // After the driver has begun, so that it has not ended yet.
    std::atexit(accountAtEnd);
    return &table;
}

}  // namespace bulkhead::libcuda
