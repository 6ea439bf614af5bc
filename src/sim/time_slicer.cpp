#include "sim/time_slicer.h"

namespace bulkhead::sim {

TimeSlicer::TimeSlicer(SimContext& sim, std::function<void()> tookOver)
    : sim_(sim),
      tookOver_(std::move(tookOver)),
      quantumCycles_(sim.config.sharing.quantum),
      switchCycles_(sim.config.sharing.switching) {
    sim.onEvent<&TimeSlicer::endQuantum>(EventKind::timeSlice, *this);
    sim.onEvent<&TimeSlicer::switchTo>(EventKind::switchDone, *this);
}

std::uint32_t TimeSlicer::add(std::unique_ptr<SmGroup> group) {
    groups_.push_back(std::move(group));
    if (groups_.size() == 1) setActive(0);
    return static_cast<std::uint32_t>(groups_.size() - 1);
}

void TimeSlicer::setActive(std::uint32_t group) {
    active_ = group;
    issuing_ = groups_[group].get();
}

std::optional<std::uint32_t> TimeSlicer::nextWithWork() const {
    const auto count = static_cast<std::uint32_t>(groups_.size());
    for (std::uint32_t i = 1; i < count; ++i)
        if (groups_[(active_ + i) % count]->hasWork()) return (active_ + i) % count;
    return std::nullopt;
}

void TimeSlicer::consider() {
    if (!issuing_ || !nextWithWork()) return;
    if (issuing_->idle()) {
        drain();
    } else if (!quantumRunning_) {
        quantumRunning_ = true;
        sim_.schedule(sim_.now() + quantumCycles_, EventKind::timeSlice, ++quantum_);
    }
}

void TimeSlicer::endQuantum(std::uint32_t quantum) {
    if (quantum != quantum_) return;
    quantumRunning_ = false;
    if (nextWithWork()) drain();
}

void TimeSlicer::drain() {
    draining_ = true;
    issuing_ = nullptr;
    quantumRunning_ = false;
    ++quantum_;
}

void TimeSlicer::leave() {
    draining_ = false;
    if (const auto group = nextWithWork())
        sim_.schedule(sim_.now() + switchCycles_, EventKind::switchDone, *group);
    else
        setActive(active_);
}

void TimeSlicer::switchTo(std::uint32_t group) {
    for (const auto& sm : groups_[active_]->sms()) sm->freeze();
    setActive(group);
    for (const auto& sm : issuing_->sms()) {
        sm->advanceTo(sim_.now(), false);
        sm->wake();
    }
    if (sim_.observer) sim_.observer->contextSwitched(sim_.now(), group);
    consider();
    tookOver_();
}

}  // namespace bulkhead::sim
