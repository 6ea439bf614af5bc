#include "gpu/gpu.h"

#include <dlfcn.h>

#include <chrono>
#include <filesystem>

#include "arch/device_profile.h"
#include "base/error.h"
#include "driver/simulated_driver.h"
#include "driver/simulator_api.h"
#include "far_driver/far_driver.h"
#include "gpu/gpu_name.h"
#include "gpu/launch_log.h"
#include "gpu/launch_timer.h"
#include "gpu/page_colors.h"
#include "gpu/real_driver.h"
#include "gpu/simulated_device.h"
#include "sim/machine.h"

namespace bulkhead::gpu {

using driver::CUcontext;
using driver::CUdeviceptr;
using driver::CUresult;
using driver::DriverApi;

/// A device for as long as anything is made on it.
struct DeviceHold {
    const DriverApi* api = nullptr;
    driver::CUdevice ordinal = 0;
    sim::Machine* machine = nullptr;                  ///< of a simulated one of this process
    std::unique_ptr<const arch::DeviceProfile> kept;  ///< of a simulated one that another process has

    DeviceHold(const DriverApi& a, driver::CUdevice device, sim::Machine* simulated)
        : api(&a), ordinal(device), machine(simulated) {}
    bool isSimulated() const { return machine || kept; }
    DeviceHold(const DeviceHold&) = delete;
    DeviceHold& operator=(const DeviceHold&) = delete;
    ~DeviceHold() {
        if (machine) driver::simulatorApi().removeDevice(ordinal);
    }
};

struct ContextState {
    enum class Kind { primary, created, green };
    std::shared_ptr<DeviceHold> device;
    DeviceInfo info;
    Kind kind = Kind::primary;
    CUcontext handle = nullptr;
    driver::CUgreenCtx green = nullptr;
    const DriverApi* table = nullptr;  ///< of an adopted one
    std::function<std::string()> explain;
    LaunchTimer* timer = nullptr;

    ContextState() = default;
    ContextState(const ContextState&) = delete;
    ContextState& operator=(const ContextState&) = delete;
    ~ContextState() {
        if (kind == Kind::primary) api().cuDevicePrimaryCtxRelease(device->ordinal);
        if (kind == Kind::created) api().cuCtxDestroy(handle);
        if (kind == Kind::green && green) api().cuGreenCtxDestroy(green);
    }

    const DriverApi& api() const { return table ? *table : *device->api; }
    /// A simulated driver says what happened in more words than a code has.
    void check(CUresult result, const std::string& what) const {
        if (result == driver::CUDA_SUCCESS) return;
        std::string why = explain ? explain() : "";
        if (why.empty() && device->isSimulated()) why = lastError();
        if (why.empty()) gpu::check(api(), result, what.c_str());
        const char* name = nullptr;
        api().cuGetErrorName(result, &name);
        throw Error("{}: {} ({})", what, why, name ? name : std::to_string(result));
    }
    void makeCurrent() const { check(api().cuCtxSetCurrent(handle), "cannot use the context"); }
};

namespace {

/// A handle with what it stands on; destroyed in its own context.
template <class Handle>
std::shared_ptr<Handle> own(const ContextRef& context, Handle* handle, CUresult (*destroy)(Handle*)) {
    return {handle, [context, destroy](Handle* h) {
                if (context->api().cuCtxSetCurrent(context->handle) == driver::CUDA_SUCCESS) destroy(h);
            }};
}

ContextRef makeContext(std::shared_ptr<DeviceHold> device) {
    auto state = std::make_shared<ContextState>();
    state->device = std::move(device);
    const DriverApi& api = state->api();
    state->info = describeDevice(api, state->device->ordinal);
    check(api, api.cuDevicePrimaryCtxRetain(&state->handle, state->device->ordinal), "cannot make a context");
    return state;
}

/// A new device of the simulated driver: its ordinal.
driver::CUdevice addSimulated(const std::string& name, const SimulationOptions& options,
                              std::function<void(const sim::Machine&)> heartbeat = {}) {
    arch::DeviceProfile profile = arch::findProfile(name);
    arch::applySettings(profile, options.settings);
    sim::Machine::Options simulation;
    simulation.scheduler = options.scheduler;
    simulation.observer = options.observer;
    simulation.timing = options.timing;
    simulation.separate = options.separate;
    simulation.heartbeat = std::move(heartbeat);
    const driver::CUdevice ordinal = driver::simulatorApi().addDevice(std::move(profile), std::move(simulation));
    driver::simulatorApi().setSharing(ordinal, options.concurrentContexts);
    return ordinal;
}

}  // namespace

LaunchCounters addDevice(const std::string& name, const SimulationOptions& options) {
    std::function<void(const sim::Machine&)> heartbeat;
    if (options.heartbeat)
        heartbeat = [tell = options.heartbeat](const sim::Machine& machine) { tell(LaunchCounters(machine)); };
    return LaunchCounters(*driver::simulatorApi().machine(addSimulated(name, options, std::move(heartbeat))));
}

void relaxBounds(std::function<void(const std::string&)> tell) {
    driver::simulatorApi().relaxBounds(std::move(tell));
}

void workWhileHostWaits(bool on) {
    driver::simulatorApi().workWhileHostWaits(on);
}

std::string lastError() {
    return driver::simulatorApi().lastError();
}

Stream::Stream(ContextRef context) : context_(std::move(context)) {
    context_->makeCurrent();
    driver::CUstream stream = nullptr;
    const DriverApi& api = context_->api();
    constexpr unsigned kNonBlocking = 1;
    if (context_->green) {
        context_->check(api.cuGreenCtxStreamCreate(&stream, context_->green, kNonBlocking, 0), "cannot make a stream");
    } else {
        context_->check(api.cuStreamCreate(&stream, kNonBlocking), "cannot make a stream");
    }
    handle_ = own(context_, stream, api.cuStreamDestroy);
}

void Stream::synchronize() {
    context_->makeCurrent();
    context_->check(context_->api().cuStreamSynchronize(handle()), "a kernel failed");
}

Event::Event(ContextRef context) : context_(std::move(context)) {
    context_->makeCurrent();
    driver::CUevent event = nullptr;
    context_->check(context_->api().cuEventCreate(&event, 0), "cannot make an event");
    handle_ = own(context_, event, context_->api().cuEventDestroy);
}

void Event::record(const Stream& stream) {
    context_->makeCurrent();
    context_->check(context_->api().cuEventRecord(handle_.get(), stream.handle()), "cannot record an event");
}

void Event::synchronize() {
    context_->makeCurrent();
    context_->check(context_->api().cuEventSynchronize(handle_.get()), "a kernel failed");
}

double Event::secondsSince(const Event& start) const {
    context_->makeCurrent();
    float milliseconds = 0;
    context_->check(context_->api().cuEventElapsedTime(&milliseconds, start.handle_.get(), handle_.get()),
                    "cannot tell the time between events");
    return static_cast<double>(milliseconds) * 1e-3;
}

Buffer::Buffer(ContextRef context, std::size_t bytes) : context_(std::move(context)), bytes_(bytes) {
    if (bytes == 0) return;
    context_->makeCurrent();
    context_->check(context_->api().cuMemAlloc(&address_, bytes), fmt::format("cannot allocate {} bytes", bytes));
    owner_ = {nullptr, [context = context_, address = address_](void*) {
                  if (context->api().cuCtxSetCurrent(context->handle) == driver::CUDA_SUCCESS)
                      context->api().cuMemFree(address);
              }};
}

void Buffer::copyIn(const void* from, std::size_t bytes, std::size_t offset) {
    if (bytes == 0) return;
    if (offset > bytes_ || bytes > bytes_ - offset)
        throw Error("{} bytes do not fit into a buffer of {}", bytes, bytes_);
    context_->makeCurrent();
    context_->check(context_->api().cuMemcpyHtoD(address_ + offset, from, bytes), "cannot copy to the GPU");
    // A copy from pageable memory may return while its last part is on the way, and our streams do not wait for it.
    context_->check(context_->api().cuStreamSynchronize(nullptr), "cannot copy to the GPU");
}

void Buffer::copyOut(void* to, std::size_t bytes, std::size_t offset) const {
    if (bytes == 0) return;
    if (offset > bytes_ || bytes > bytes_ - offset) throw Error("{} bytes are not in a buffer of {}", bytes, bytes_);
    context_->makeCurrent();
    context_->check(context_->api().cuMemcpyDtoH(to, address_ + offset, bytes), "cannot copy from the GPU");
}

void Buffer::fill(std::uint8_t value) {
    if (bytes_ == 0) return;
    context_->makeCurrent();
    context_->check(context_->api().cuMemsetD8(address_, value, bytes_), "cannot fill memory");
    // The host does not wait for a fill, and our streams do not either.
    context_->check(context_->api().cuStreamSynchronize(nullptr), "cannot fill memory");
}

void Buffer::fill(std::uint8_t value, const Stream& stream) {
    if (bytes_ == 0) return;
    context_->makeCurrent();
    context_->check(context_->api().cuMemsetD8Async(address_, value, bytes_, stream.handle()), "cannot fill memory");
}

void Buffer::copyFrom(const Buffer& from, std::size_t bytes, const Stream& stream) {
    if (bytes == 0) return;
    if (bytes > bytes_ || bytes > from.bytes_)
        throw Error("cannot copy {} bytes from a buffer of {} to one of {}", bytes, from.bytes_, bytes_);
    context_->makeCurrent();
    context_->check(context_->api().cuMemcpyDtoDAsync(address_, from.address_, bytes, stream.handle()),
                    "cannot copy on the GPU");
}

Module::Module(ContextRef context, const char* image) : context_(std::move(context)) {
    context_->makeCurrent();
    driver::CUmodule module = nullptr;
    context_->check(context_->api().cuModuleLoadData(&module, image), "cannot load device code");
    handle_ = own(context_, module, context_->api().cuModuleUnload);
}

Kernel Module::kernel(const std::string& name) const {
    const DriverApi& api = context_->api();
    context_->makeCurrent();
    Kernel kernel;
    kernel.context_ = context_;
    kernel.module_ = handle_;
    kernel.name_ = name;
    context_->check(api.cuModuleGetFunction(&kernel.handle_, handle_.get(), name.c_str()),
                    fmt::format("no kernel {}", name));
    std::size_t offset = 0, bytes = 0;
    if (api.cuFuncGetParamInfo) {
        kernel.parametersKnown_ = true;
        while (api.cuFuncGetParamInfo(kernel.handle_, kernel.parameterBytes_.size(), &offset, &bytes) ==
               driver::CUDA_SUCCESS)
            kernel.parameterBytes_.push_back(bytes);
    }
    return kernel;
}

std::pair<CUdeviceptr, std::size_t> Module::variable(const std::string& name) const {
    context_->makeCurrent();
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    context_->check(context_->api().cuModuleGetGlobal(&address, &bytes, handle_.get(), name.c_str()),
                    fmt::format("no variable {}", name));
    return {address, bytes};
}

void Kernel::launchWith(const Stream& stream, Dim3 grid, Dim3 block, std::size_t sharedBytes,
                        std::vector<Argument>& arguments) {
    if (parametersKnown_) {
        if (arguments.size() != parameterBytes_.size())
            throw Error("kernel {} has {} parameters, not {}", name_, parameterBytes_.size(), arguments.size());
        for (std::size_t i = 0; i < arguments.size(); ++i)
            if (arguments[i].bytes != parameterBytes_[i])
                throw Error("parameter {} of kernel {} has {} bytes, not {}", i, name_, parameterBytes_[i],
                            arguments[i].bytes);
    }
    std::vector<void*> pointers;
    pointers.reserve(arguments.size());
    for (Argument& argument : arguments)
        pointers.push_back(argument.data ? const_cast<void*>(argument.data) : &argument.address);
    context_->makeCurrent();
    if (context_->timer) context_->timer->before(name_, grid, block, stream);
    context_->check(
        context_->api().cuLaunchKernel(handle_, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                       static_cast<unsigned>(sharedBytes), stream.handle(), pointers.data(), nullptr),
        fmt::format("cannot launch {}", name_));
    if (context_->timer) context_->timer->behind(stream);
}

void Kernel::launchBytes(const Stream& stream, Dim3 grid, Dim3 block, std::size_t sharedBytes,
                         std::span<const std::vector<std::uint8_t>> arguments) {
    std::vector<Argument> list;
    list.reserve(arguments.size());
    for (const std::vector<std::uint8_t>& argument : arguments) list.push_back({argument.data(), argument.size(), 0});
    launchWith(stream, grid, block, sharedBytes, list);
}

void Kernel::permitShared(std::size_t dynamicBytes) {
    constexpr auto kMost = static_cast<driver::CUfunction_attribute>(driver::FunctionAttribute::maxDynamicSharedBytes);
    context_->makeCurrent();
    context_->check(context_->api().cuFuncSetAttribute(handle_, kMost, static_cast<int>(dynamicBytes)),
                    fmt::format("cannot give {} {} B of shared memory", name_, dynamicBytes));
}

int Kernel::blocksPerSm(unsigned threads, std::size_t dynamicSharedBytes) const {
    context_->makeCurrent();
    int blocks = 0;
    context_->check(context_->api().cuOccupancyMaxActiveBlocksPerMultiprocessor(
                        &blocks, handle_, static_cast<int>(threads), dynamicSharedBytes),
                    fmt::format("cannot tell the occupancy of {}", name_));
    return blocks;
}

Module Context::load(const char* ptx) {
    return {state_, ptx};
}
void Context::timeLaunches(LaunchTimer* timer) {
    state_->timer = timer;
}
Buffer Context::allocate(std::size_t bytes) {
    return {state_, bytes};
}
Stream Context::createStream() {
    return Stream(state_);
}
Event Context::createEvent() {
    return Event(state_);
}
void Context::synchronize() {
    state_->makeCurrent();
    state_->check(state_->api().cuCtxSynchronize(), "a kernel failed");
}
void Context::makeCurrent() {
    state_->makeCurrent();
}
double Context::now() const {
    if (const sim::Machine* machine = state_->device->machine) return machine->seconds(machine->now());
    if (state_->device->kept) return far_driver::seconds();
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
std::uint64_t Context::physicalAddress(CUdeviceptr address) {
    if (!state_->device->isSimulated()) throw Error("{} tells no physical addresses", info().name);
    state_->makeCurrent();
    return gpu::physicalAddress(address);
}
void Context::limitThreads(double share) {
    const bool kept = state_->device->kept != nullptr;
    if (!kept && !state_->device->machine)
        throw Error("{}: MPS limits the threads of processes, not of contexts", info().name);
    state_->makeCurrent();
    state_->check(kept ? far_driver::limitThreads(share) : driver::simulatorApi().limitThreads(share),
                  "cannot limit threads");
}
void Context::launchAsNeighbour(bool on) {
    if (sim::Machine* machine = state_->device->machine) machine->launchAsNeighbour(on);
}
const DeviceInfo& Context::info() const {
    return state_->info;
}
const DriverApi& Context::api() const {
    return state_->api();
}

Gpu::Gpu(std::string name, Context primary)
    : name_(std::move(name)), capabilities_(capabilitiesOf(name_)), primary_(std::move(primary)) {}

Gpu Gpu::openReal(const std::string& name, int ordinal) {
    const driver::CUdevice device = realDevice(ordinal);
    return {name, Context(makeContext(std::make_shared<DeviceHold>(realDriver(), device, nullptr)))};
}

Gpu Gpu::open(const std::string& name, const SimulationOptions& options) {
    const GpuName parsed = GpuName::parse(name);
    expectSettable(name, options.settings);
    if (parsed.kind == GpuName::Kind::cuda) return openReal(name, parsed.ordinal);
    const DriverApi& api = driver::simulatedDriver();
    const driver::CUdevice ordinal = addSimulated(name, options);
    auto hold = std::make_shared<DeviceHold>(api, ordinal, driver::simulatorApi().machine(ordinal));
    check(api, api.cuInit(0), "the simulated driver cannot start");
    return {name, Context(makeContext(std::move(hold)))};
}

std::optional<Gpu> Gpu::openKept(const std::string& name, const std::vector<std::string>& settings,
                                 const far_driver::Place& place) {
    auto profile = std::make_unique<arch::DeviceProfile>(arch::findProfile(name));
    arch::applySettings(*profile, settings);
    if (!far_driver::join(place)) return std::nullopt;
    const DriverApi& api = far_driver::farDriver();
    check(api, api.cuInit(0), "the simulated driver cannot start");
    auto hold = std::make_shared<DeviceHold>(api, 0, nullptr);
    hold->kept = std::move(profile);
    Gpu gpu(name, Context(makeContext(std::move(hold))));
    Capabilities& can = gpu.capabilities_;
    can.launchCounters = can.concurrentContexts = can.settable = can.deterministic = false;
    return gpu;
}

std::string Gpu::uuid() {
    const std::shared_ptr<DeviceHold>& device = primary_.state_->device;
    if (!capabilities_.sharedByProcesses) return {};
    return uuidOf(api(), device->ordinal);
}

Context Gpu::createContext(bool concurrent) {
    auto state = std::make_shared<ContextState>();
    const std::shared_ptr<DeviceHold>& device = primary_.state_->device;
    if (concurrent && !capabilities_.concurrentContexts)
        throw Error(
            "contexts of one process are time-sliced on a real GPU: use processes under MPS, or green contexts");
    CUcontext handle = nullptr;
    const CUresult result = device->machine ? driver::simulatorApi().createContext(&handle, device->ordinal, concurrent)
                                            : api().cuCtxCreate(&handle, 0, device->ordinal);
    primary_.state_->check(result, "cannot make a context");
    state->device = device;
    state->info = info();
    state->kind = ContextState::Kind::created;
    state->handle = handle;
    return Context(std::move(state));
}

std::pair<Context, Context> Gpu::createGreenPair(unsigned sms) {
    const auto [first, others] = share(sms);
    if (others.sm.smCount == 0) throw Error("a green context of {} SMs leaves none for a second one", sms);
    return {makeGreen(first), makeGreen(others)};
}

std::pair<driver::CUdevResource, driver::CUdevResource> Gpu::share(unsigned sms) const {
    if (!api().cuGreenCtxCreate) throw Error("the driver is too old for green contexts");
    const auto check = [&](CUresult result) { primary_.state_->check(result, "cannot make a green context"); };
    primary_.state_->makeCurrent();
    driver::CUdevResource whole = {}, part = {}, others = {};
    constexpr driver::CUdevResourceType kSms = 1;
    check(api().cuDeviceGetDevResource(primary_.state_->device->ordinal, &whole, kSms));
    unsigned groups = 1;
    check(api().cuDevSmResourceSplitByCount(&part, &groups, &whole, &others, 0, sms));
    if (groups == 0) throw Error("cannot create a green context of {} SMs", sms);
    return {part, others};
}

Context Gpu::makeGreen(driver::CUdevResource part) {
    const auto check = [&](CUresult result) { primary_.state_->check(result, "cannot make a green context"); };
    driver::CUdevResourceDesc description = nullptr;
    check(api().cuDevResourceGenerateDesc(&description, &part, 1));
    auto state = std::make_shared<ContextState>();
    state->device = primary_.state_->device;
    state->info = info();
    state->kind = ContextState::Kind::green;
    constexpr unsigned kDefaultStream = 1;
    check(api().cuGreenCtxCreate(&state->green, description, state->device->ordinal, kDefaultStream));
    check(api().cuCtxFromGreenCtx(&state->handle, state->green));
    state->info.sms = static_cast<int>(part.sm.smCount);
    return Context(std::move(state));
}

Context Gpu::adoptContext(const DriverApi& table, CUcontext handle, std::function<std::string()> explain) {
    auto state = std::make_shared<ContextState>();
    state->device = primary_.state_->device;
    state->kind = ContextState::Kind::created;
    state->handle = handle;
    state->table = &table;
    state->explain = std::move(explain);
    state->makeCurrent();
    state->info = describeDevice(table, state->device->ordinal);
    return Context(std::move(state));
}

void Gpu::discardWork() {
    if (machine()) driver::simulatorApi().discardWork(primary_.state_->device->ordinal);
}

sim::Machine* Gpu::machine() const {
    return primary_.state_->device->machine;
}

const arch::DeviceProfile* Gpu::profile() const {
    const DeviceHold& device = *primary_.state_->device;
    return device.machine ? &device.machine->profile() : device.kept.get();
}

std::string Gpu::driverFile() const {
    return primary_.state_->device->isSimulated() ? std::string() : realDriverFile();
}

LaunchCounters Gpu::launchCounters() const {
    if (!machine()) throw Error("{} has no counters of its launches", name_);
    return LaunchCounters(*machine());
}

void Gpu::limitInstructions(std::uint64_t warpInstructions) {
    if (!machine()) throw Error("{}: an instruction limit works on simulated GPUs only", name_);
    machine()->limitInstructions(warpInstructions);
}

bool Gpu::instructionLimitReached() const {
    return machine() && machine()->instructionLimitReached();
}

}  // namespace bulkhead::gpu
