#include "isolate/stopping.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "base/error.h"
#include "experiment/mps_control.h"
#include "gpu/real_driver.h"

namespace bulkhead::isolate {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

std::vector<Holder> holdersOf(const LeaseBook& book, const std::string& partition) {
    std::vector<Holder> holders = book.occupancy().holders;
    std::erase_if(holders, [&](const Holder& holder) { return holder.share.partition.name != partition; });
    return holders;
}

void send(const Holder& holder, int signal) {
    if (::kill(holder.process, signal) != 0 && errno != ESRCH)
        throw Error("process {} of partition {} cannot be ended: {}", holder.process, holder.share.partition.name,
                    std::strerror(errno));
}

/// Whether all of them leave within that time.
bool leave(const LeaseBook& book, const std::string& partition, std::chrono::milliseconds limit) {
    const auto end = Clock::now() + limit;
    while (!holdersOf(book, partition).empty()) {
        if (Clock::now() >= end) return false;
        std::this_thread::sleep_for(10ms);
    }
    return true;
}

}  // namespace

std::vector<Holder> stopHolders(const LeaseBook& book, const std::string& partition) {
    const std::vector<Holder> holders = holdersOf(book, partition);
    if (holders.empty()) {
        book.partitions();  // or an Error that says more
        throw Error("no program is in partition {}", partition);
    }
    for (const Holder& holder : holders)
        if (holder.process == 0)
            throw Error("partition {} is held by a process that cannot be seen from here", partition);
    if (book.gpu().real && gpu::underMps()) {
        const experiment::MpsServer server = experiment::askMpsServer();
        for (const Holder& holder : holders) experiment::terminateMpsClient(server, holder.process);
    }
    for (const Holder& holder : holders) send(holder, SIGTERM);
    if (!leave(book, partition, 5s)) {
        for (const Holder& holder : holdersOf(book, partition)) send(holder, SIGKILL);
        if (!leave(book, partition, 10s)) throw Error("partition {} is still held after SIGKILL", partition);
    }
    book.forgetAbandoned();
    return holders;
}

}  // namespace bulkhead::isolate
