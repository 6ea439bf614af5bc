#include "driver/shared_machine.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "driver/access_policy.h"
#include "driver/state.h"

namespace bulkhead::driver {
namespace {

/// Looks in a row that have found no call: for so long a process may do something else between two of them.
constexpr unsigned kQuietLooks = 4;

thread_local std::vector<std::pair<std::uintptr_t, std::size_t>> windows;

template <class Body>
void forEachRoot(const Driver& driver, Body&& body) {
    for (const auto& context : driver.contexts)
        if (!context->destroyed && context->root == context.get()) body(context.get());
}

/// The first of its launches that has failed.
const sim::LaunchRecord* faultOf(CUcontext root) {
    for (const sim::LaunchId id : root->unchecked)
        if (const sim::LaunchRecord& record = gpuOf(root).record(id); record.error) return &record;
    return nullptr;
}

}  // namespace

SharedMachine::SharedMachine(arch::DeviceProfile profile, sim::Machine::Options options, sim::Sharing sharing)
    : gpu_(std::make_shared<sim::Machine>(std::move(profile), std::move(options))), sharing_(sharing) {
    gpu_->pauseWhen([this] { return shouldPause(); });
}

void SharedMachine::join(Driver& driver) {
    drivers_.push_back(&driver);
}

void SharedMachine::leave(Driver& driver) {
    std::erase(drivers_, &driver);
    faulty_.erase(&driver);
    changed_.notify_all();
}

bool SharedMachine::Waiter::mayGoOn() const {
    return driver->abandoned || (*done)();
}

bool SharedMachine::shouldPause() const {
    if (coming_ > 0 || (running_ && running_->driver->abandoned)) return true;
    return std::any_of(waiters_.begin(), waiters_.end(),
                       [&](const Waiter& waiter) { return &waiter != running_ && waiter.mayGoOn(); });
}

void SharedMachine::simulate(const std::function<bool()>& done, const std::function<void(sim::Machine&)>& run) {
    const auto own = waiters_.insert(waiters_.end(), {&done, &state()});
    for (;;) {
        if (own->mayGoOn()) break;
        running_ = &*own;
        run(*gpu_);
        running_ = nullptr;
        spreadFaults();
        if (own->mayGoOn() || !shouldPause()) break;  // or nothing can happen any more
        changed_.notify_all();
        changed_.wait(Driver::mutex, [&] { return own->mayGoOn() || !shouldPause(); });
    }
    waiters_.erase(own);
    changed_.notify_all();
    require(!state().abandoned, CUDA_ERROR_DEINITIALIZED, "the process has gone");
}

void SharedMachine::spreadFaults() {
    if (gpu_->failures() == failuresSeen_) return;
    failuresSeen_ = gpu_->failures();
    if (sharing_ != sim::Sharing::concurrent) return;
    for (const Driver* driver : drivers_) {
        const sim::LaunchRecord* fault = nullptr;
        forEachRoot(*driver, [&](CUcontext root) { fault = fault ? fault : faultOf(root); });
        if (!fault) continue;
        faulty_.insert(driver);
        for (Driver* other : drivers_) {
            if (other == driver) continue;
            forEachRoot(*other, [&](CUcontext root) {
                gpu_->discardWork(root->id);
                markFailed(root, codeOf(fault->error->cause),
                           std::string("a process that runs beside this one had a fault: ") + fault->error->what());
            });
        }
    }
}

void SharedMachine::admit(sim::Sharing sharing) const {
    require(sharing != sim::Sharing::concurrent || faulty_.empty(), CUDA_ERROR_MPS_SERVER_NOT_READY,
            "a process that has had a fault is still there");
}

void SharedMachine::workWhileNobodyCalls() {
    const std::uint64_t calls = calls_;
    quietLooks_ = calls == callsSeen_ && coming_ == 0 ? quietLooks_ + 1 : 0;
    if (calls != callsSeen_) workLeft_ = true;
    callsSeen_ = calls;
    if (quietLooks_ < kQuietLooks || !workLeft_) return;
    const std::lock_guard lock(Driver::mutex);
    if (!waiters_.empty()) return;  // they run it
    workLeft_ = gpu_->work([this] { return coming_ > 0; }) != sim::Machine::Left::nothing;
    spreadFaults();
}

SharedMachine::Use SharedMachine::use() {
    const Turn turn(this);
    const std::lock_guard lock(Driver::mutex);
    turn.come();
    const sim::PhysicalMemory& memory = gpu_->physicalMemory();
    return {drivers_.size(), memory.totalBytes(), memory.freeBytes()};
}

SharedMachine::Turn::Turn(SharedMachine* machine) : machine_(machine) {
    if (!machine_) return;
    ++machine_->calls_;
    ++machine_->coming_;
}

void SharedMachine::Turn::come() const {
    if (machine_) --machine_->coming_;
}

SharedMachine::Turn::~Turn() {
    if (machine_) machine_->changed_.notify_all();
}

ProcessDriver::ProcessDriver(std::shared_ptr<SharedMachine> machine)
    : machine_(std::move(machine)), driver_(std::make_unique<Driver>()) {
    auto device = std::make_unique<Device>();
    const SharedMachine::Turn turn(machine_.get());
    const std::lock_guard lock(Driver::mutex);
    turn.come();
    device->gpu = machine_->gpu();
    device->persistingL2 = persistingL2AtFirst(*device);
    device->sharing = machine_->sharing();
    device->ordinal = driver_->nextOrdinal++;
    driver_->devices[device->ordinal] = std::move(device);
    driver_->machine = machine_;
    machine_->join(*driver_);
}

ProcessDriver::~ProcessDriver() {
    const Scope scope(*this);
    const SharedMachine::Turn turn(machine_.get());
    const std::lock_guard lock(Driver::mutex);
    turn.come();
    driver_->abandoned = false;  // nothing waits any more
    for (const auto& [ordinal, device] : driver_->devices) destroyDevice(*device);
    machine_->leave(*driver_);
    driver_.reset();
}

void ProcessDriver::abandon() {
    driver_->abandoned = true;
    const SharedMachine::Turn turn(machine_.get());  // whoever runs the simulation stops for it
    const std::lock_guard lock(Driver::mutex);
    turn.come();
}

std::string ProcessDriver::takePrinted() {
    if (!driver_->hasPrinted) return {};
    const SharedMachine::Turn turn(machine_.get());
    const std::lock_guard lock(Driver::mutex);
    turn.come();
    driver_->hasPrinted = false;
    return std::exchange(driver_->printed, {});
}

ProcessDriver::Scope::Scope(ProcessDriver& process) : before_(callFor(process.driver_.get())) {}
ProcessDriver::Scope::~Scope() {
    callFor(before_);
}

HostWindow::HostWindow(const void* first, std::size_t bytes) {
    windows.emplace_back(reinterpret_cast<std::uintptr_t>(first), bytes);
}
HostWindow::~HostWindow() {
    windows.pop_back();
}
bool HostWindow::holds(std::uint64_t address) {
    return std::any_of(windows.begin(), windows.end(), [&](const auto& window) {
        return address >= window.first && address - window.first < window.second;
    });
}

void discardWorkOf(Driver& driver) {
    forEachRoot(driver, [](CUcontext root) { gpuOf(root).discardWork(root->id); });
}

}  // namespace bulkhead::driver
