#include "evaluation/benchmark/tenants.h"

#include "gpu/capabilities.h"

namespace bulkhead::evaluation::benchmark {
namespace {

/// On a simulated GPU, one that takes seconds: a single thread's accesses take as long as many threads' do.
workloads::Size sizeOf(const std::string& application, const gpu::Capabilities& can) {
    if (!can.costly) return workloads::Size::large;
    return application == "latency" ? workloads::Size::test : workloads::Size::standard;
}

}  // namespace

corun::ActorSpec Tenants::tenant(unsigned partition, const std::string& application) const {
    const workloads::Size size = sizeOf(application, gpu::capabilitiesOf(spec_.gpu));
    return {partition, corun::ApplicationSpec{application, size, spec_.seed + partition}};
}

corun::CoRunSpec Tenants::coRunOf(const std::string& first, const std::string& others) const {
    corun::CoRunSpec all;
    all.gpu = spec_.gpu;
    all.settings = spec_.settings;
    all.map = spec_.map;
    all.sharing.way = way_.sharing;
    all.sharing.partitions = partitions_;
    all.sharing.processes = gpu::capabilitiesOf(spec_.gpu).sharedByProcesses;
    all.sharing.limitThreads = way_.limited;
    all.sharing.limitMemory = way_.limited && all.sharing.processes;
    all.sharing.leased = way_.leased && all.sharing.processes;
    all.actors.push_back(tenant(0, first));
    for (unsigned i = 1; i < partitions_ && !others.empty(); ++i) all.actors.push_back(tenant(i, others));
    return all;
}

void Tenants::replace(std::size_t actor, const std::string& application) {
    if (applications_.at(actor) == application) return;
    coRun_->replace(actor, tenant(static_cast<unsigned>(actor), application));
    applications_[actor] = application;
}

corun::CoRun& Tenants::be(const std::string& first, const std::string& others) {
    if (!gpu::capabilitiesOf(spec_.gpu).sharedByProcesses) {
        coRun_ = corun::makeLocalCoRun(coRunOf(first, others));
        return *coRun_;
    }
    if (!coRun_) {
        // A process of each is there from the start, as setting up one takes longer than replacing what it does.
        const std::string idle = others.empty() ? "empty" : others;
        coRun_ = corun::makeRemoteCoRun(coRunOf(first, idle));
        applications_.assign(partitions_, idle);
        applications_.front() = first;
    }
    replace(0, first);
    for (unsigned i = 1; i < partitions_ && !others.empty(); ++i) replace(i, others);
    return *coRun_;
}

}  // namespace bulkhead::evaluation::benchmark
