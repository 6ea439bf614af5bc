#include "libcuda/partition.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>

#include "base/environment.h"
#include "base/error.h"
#include "driver/simulated_driver.h"
#include "gate/gate.h"
#include "gpu/page_colors.h"
#include "isolate/simulated_keeper.h"
#include "isolate/tenancy.h"
#include "libcuda/devices.h"

// What libbulkhead asks of the driver library in front of a program; see libbulkhead/include/bulkhead.h.

namespace bulkhead::libcuda {
namespace {

using isolate::Tenancy;

std::mutex mutex;
std::atomic<bool> walled = false, used = false, refused = false;
/// Kept until the process ends: static objects of programs may call the driver to the very end.
std::unique_ptr<Tenancy>& tenancy() {
    static auto* const one = new std::unique_ptr<Tenancy>;
    return *one;
}
thread_local std::string error;

isolate::LeaseBook openBook(gpu::Gpu& gpu) {
    return {isolate::LeaseBook::defaultFolder(), isolate::identityOf(gpu)};
}

/// The partitions of the chosen GPU, without opening one more of a kind of which each process has its own.
isolate::LeaseBook openBook() {
    if (tenancy()) return openBook(tenancy()->gpu);
    const GpuChoice choice = chosenGpu();
    if (!gpu::capabilitiesOf(choice.name).sharedByProcesses)
        return {isolate::LeaseBook::defaultFolder(), {choice.name}};
    gpu::Gpu gpu = gpu::Gpu::open(choice.name);
    return openBook(gpu);
}

/// BULKHEAD_WALLS says which: both, or compute alone.
bool wantsMemoryWall() {
    const std::string text = environment("BULKHEAD_WALLS", "both");
    if (text != "both" && text != "compute") throw Error("BULKHEAD_WALLS is '{}': give both or compute", text);
    return text == "both";
}

/// In the simulated GPU that a keeper has for all processes; false where each has its own.
bool joinKept(const std::string& name) {
    const GpuChoice choice = chosenGpu();
    if (gpu::capabilitiesOf(choice.name).sharedByProcesses) return false;
    isolate::LeaseBook book(isolate::LeaseBook::defaultFolder(), {choice.name});
    std::optional<isolate::OpenedGpu> kept = isolate::openKept(book, choice.settings);
    if (!kept) return false;
    tenancy() = Tenancy::join(std::move(kept->gpu), book, name, wantsMemoryWall(), &kept->survey);
    return true;
}

void join(const std::string& name) {
    if (tenancy()) throw Error("this process is in partition {} already", tenancy()->lease.share().partition.name);
    if (used) throw Error("a partition is joined before the first CUDA call");
    if (!joinKept(name)) {
        gpu::Gpu gpu = openChosenGpu();
        isolate::LeaseBook book = openBook(gpu);
        tenancy() = Tenancy::join(std::move(gpu), book, name, wantsMemoryWall());
    }
    walled = true;
}

void describe(const isolate::Share& share, bulkhead_place& place) {
    const isolate::DivisibleGpu& t = tenancy()->plan.topology;
    place.sms = static_cast<unsigned>(share.sms.size());
    place.all_sms = t.sms();
    place.colors = static_cast<unsigned>(share.colors.size());
    place.all_colors = t.colors();
    place.memory_bytes = share.memoryBytes;
}

void nameIt(const isolate::Partition& partition, bulkhead_place& place) {
    place = {};
    std::strncpy(place.partition, partition.name.c_str(), sizeof place.partition - 1);
}

Tenancy& expectInside() {
    if (!tenancy()) throw Error("this process is in no partition");
    tenancy()->lease.expectValid();
    return *tenancy();
}

/// What is thrown becomes -1, and words.
template <class Body>
int answer(Body&& body) {
    const std::lock_guard lock(mutex);
    try {
        body();
        return 0;
    } catch (const std::exception& e) {
        error = e.what();
        return -1;
    }
}

/// Whether this process was started inside walls: the gate that keeps other drivers out is in it, and not for the sake
/// of a simulated GPU of its own.
bool startedInside() {
    return environment("LD_AUDIT").find(kGateLibrary) != std::string::npos && environment("BULKHEAD_EXEC").empty();
}

bool joinFromEnvironment() {
    const std::string name = environment("BULKHEAD_PARTITION");
    const std::lock_guard lock(mutex);
    if (walled) return true;
    try {
        if (!name.empty()) {
            join(name);
        } else if (startedInside()) {
            throw Error("this program was started inside a partition, and BULKHEAD_PARTITION is gone: no device");
        }
    } catch (const std::exception& e) {
        fmt::print(stderr, "bulkhead: {}\n", e.what());
        refused = true;
    }
    return true;
}

int joinCall(const char* partition) {
    return answer([&] { join(partition ? partition : ""); });
}

int leaveCall() {
    return answer([] {
        // A lease that is stale can be left all the same.
        if (!tenancy() || !tenancy()->tenant) throw Error("this process is in no partition");
        tenancy()->tenant.reset();
        tenancy()->lease.leave();
    });
}

int queryCall(bulkhead_place* place) {
    return answer([&] {
        const isolate::Share& share = expectInside().lease.share();
        nameIt(share.partition, *place);
        describe(share, *place);
    });
}

int partitionsCall(unsigned* count) {
    return answer([&] { *count = static_cast<unsigned>(openBook().partitions().size()); });
}

int partitionCall(unsigned index, bulkhead_place* place) {
    return answer([&] {
        if (tenancy()) {
            const std::vector<isolate::Share>& shares = tenancy()->plan.shares;
            if (index >= shares.size()) throw Error("no partition {}: there are {}", index, shares.size());
            nameIt(shares[index].partition, *place);
            return describe(shares[index], *place);
        }
        const std::vector<isolate::Partition> partitions = openBook().partitions();
        if (index >= partitions.size()) throw Error("no partition {}: there are {}", index, partitions.size());
        nameIt(partitions[index], *place);
    });
}

int setPartitionsCall(const char* partitions) {
    return answer([&] {
        const std::vector<isolate::Partition> wanted = isolate::parsePartitions(partitions ? partitions : "");
        if (tenancy()) throw Error("partitions are set before one is joined");
        const GpuChoice choice = chosenGpu();
        gpu::SimulationOptions options;
        options.settings = choice.settings;
        gpu::Gpu gpu = gpu::Gpu::open(choice.name, options);
        isolate::planFor(gpu, wanted, "");  // refuses what this GPU cannot give
        openBook(gpu).setPartitions(wanted);
    });
}

int physicalAddressCall(const void* device, unsigned long long* physical) {
    return answer([&] {
        auto address = reinterpret_cast<driver::CUdeviceptr>(device);
        if (tenancy() && !tenancy()->gpu.capabilities().physicalAddresses)
            throw Error("a real driver tells no physical addresses");
        if (tenancy() && tenancy()->tenant) {
            address = tenancy()->tenant->realAddress(address);
            tenancy()->gpu.context().makeCurrent();
        }
        *physical = gpu::physicalAddress(address);
    });
}

const char* errorCall() {
    return error.c_str();
}

}  // namespace

const DriverTable& driverTable() {
    static const DriverTable table = {joinCall,      leaveCall,         queryCall,           partitionsCall,
                                      partitionCall, setPartitionsCall, physicalAddressCall, errorCall};
    return table;
}

Place placeOfProcess() {
    static const bool asked = joinFromEnvironment();
    (void)asked;
    if (walled) return Place::walled;
    if (refused) return Place::refused;
    used = true;
    return Place::outside;
}

}  // namespace bulkhead::libcuda
