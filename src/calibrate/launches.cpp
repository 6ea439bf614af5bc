#include <string>

#include "calibrate/measurement.h"

namespace bulkhead::calibrate {
namespace {

const char* const kEmpty = ".visible .entry empty()\n{\nret;\n}\n";

/// Cycles of one of many empty launches that wait in a stream when the first one starts.
double launchCycles(Session& s, gpu::Kernel& kernel, unsigned blocks, unsigned launches) {
    Bench& b = s.bench();
    // Long enough for the host to have put all of them into the stream.
    const double head = b.effort(0.0, 20e-6 * launches);
    const double seconds = b.secondsOf(
        [&] {
            for (unsigned i = 0; i < launches; ++i) kernel.launch(b.stream(), {blocks}, {32}, 0);
        },
        [&] {
            if (head > 0) b.spin(head);
        });
    return seconds * s.known("clock.coreMHz") * 1e6 / launches;
}

}  // namespace

void measureLaunches(Session& s) {
    Bench& b = s.bench();
    gpu::Kernel empty = b.kernel(std::string(kPtxHead) + kEmpty, "empty");
    const auto launches = b.effort(8u, 200u);
    const double one = launchCycles(s, empty, 1, launches);
    s.found("launch.latency", one, "of a launch of one empty block behind another, its end included");
    s.foundOther("launch of one empty block, alone between events",
                 launchCycles(s, empty, 1, 1) / s.known("clock.coreMHz") * 1e3, "ns");

    // All blocks of the smaller grids find a place at once where the GPU is simulated, since who waits for a place
    // waits for the end of a window; elsewhere grids are large, since events have a coarse clock.
    const unsigned places = b.sms() * static_cast<unsigned>(empty.blocksPerSm(32));
    const unsigned more = b.effort(places / 2, 64 * places), less = more / 2;
    const double each =
        (launchCycles(s, empty, more, b.effort(2u, 20u)) - launchCycles(s, empty, less, b.effort(2u, 20u))) /
        (more - less);
    s.found("launch.blockInterval", each, "by grids of empty blocks of a warp");
}

}  // namespace bulkhead::calibrate
