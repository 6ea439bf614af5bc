#include <vector>

#include "calibrate/measurement.h"

namespace bulkhead::calibrate {

/// %clock64 against %globaltimer, around a wait. Nanoseconds come in steps of up to a microsecond on some GPUs: the
/// wait is long beside that.
void measureClock(Session& s) {
    Bench& b = s.bench();
    const auto wait = b.effort<std::uint64_t>(200'000, 40'000'000);
    b.spinCycles(wait);  // a GPU that was idle raises its clock meanwhile
    std::vector<double> megahertz;
    for (std::uint32_t i = 0; i < b.rounds(); ++i) {
        const Bench::Spun spun = b.spinCycles(wait);
        megahertz.push_back(1e3 * spun.cycles / spun.nanoseconds);
    }
    s.found("clock.coreMHz", b.noisy(std::move(megahertz)));
}

}  // namespace bulkhead::calibrate
