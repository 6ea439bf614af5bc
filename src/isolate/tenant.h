#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "isolate/floor.h"
#include "isolate/series.h"
#include "experiment/mps_daemon.h"

namespace bulkhead::isolate {

/// An application in its place on a GPU. Runs and is timed, or runs again and again while others are.
class Tenant {
  public:
    virtual ~Tenant() = default;

    /// Seconds of one run, as the mean of so many one after the other, from the first kernel's start to the last one's
    /// end on the GPU. `others` are kept busy meanwhile where nothing else does.
    virtual double time(unsigned runs, const std::vector<std::unique_ptr<Tenant>>& others) = 0;
    double time(unsigned runs) { return time(runs, {}); }
    /// Compares what the last run computed with the CPU's. Throws Error.
    virtual void check() = 0;

    /// Runs again and again until stopped. On a real GPU a thread sees to it; simulated time passes only in calls that
    /// wait, and there time() of the others does, by topUp().
    virtual void startLoop(double secondsOfARun) = 0;
    virtual void stopLoop() = 0;
    virtual void topUp() {}
    /// Runs that the loop has ended.
    virtual std::uint64_t looped() = 0;

    virtual Place place() = 0;
};

using Tenants = std::vector<std::unique_ptr<Tenant>>;

/// The copies of one neighbour, in all partitions but the first; none of an idle one.
struct Neighbourhood {
    Tenants tenants;
    double secondsOfARun = 0;

    void start();
    void stop();
    std::uint64_t looped() const;
};

/// Times an application beside each of several neighbours, idle and busy by turns, so that a change of clocks meets all
/// of them. After every time that it takes it compares the result with the CPU's, and looks for blocks that ran outside
/// of walls. On simulated GPUs, where neighbours take long to stop, the last one is left running. Throws Error.
SeriesFigures takeSamples(Tenant& application, std::vector<Neighbourhood>&, unsigned samples, unsigned runs,
                          bool simulated);

/// In this process, in one of the floor's places. The floor must outlive it.
std::unique_ptr<Tenant> makeLocalTenant(Floor&, unsigned partition, const std::string& application, workloads::Size,
                                        std::uint64_t seed);

/// In a process of its own, in one of the partitions that the series asks for, as a client of the daemon, which must
/// outlive it.
std::unique_ptr<Tenant> makeRemoteTenant(const SeriesSpec&, unsigned partition, const std::string& application,
                                         std::uint64_t seed, const experiment::MpsDaemon&);

/// The other end of a remote tenant: reads requests from standard input, one JSON object a line, and answers on
/// standard output, until its input ends. Returns an exit code.
int serveTenant();

}  // namespace bulkhead::isolate
