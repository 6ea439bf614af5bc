#include "experiment/executor.h"

#include <chrono>

namespace bulkhead::experiment {
namespace {

double secondsNow() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Estimate::Estimate() : begin_(secondsNow()) {}

std::optional<double> Estimate::secondsLeft(std::size_t done, std::size_t of) const {
    if (done == 0) return std::nullopt;
    return (secondsNow() - begin_) / static_cast<double>(done) * static_cast<double>(of - done);
}

}  // namespace bulkhead::experiment
