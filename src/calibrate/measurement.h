#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/bench.h"
#include "calibrate/calibrate.h"
#include "dissect/memory_view.h"
#include "dissect/probe.h"

namespace bulkhead::calibrate {

/// What a measurement works with: the GPU, what is known of it so far, and a place for what it finds.
class Session {
  public:
    Session(gpu::Gpu&, const arch::DeviceProfile& base, const Options&, Listener&);

    Bench& bench() { return bench_; }
    const arch::DeviceProfile& base() const { return base_; }
    /// Probes of dissect, and memory for them; made at the first call.
    dissect::Probe& probe();
    const dissect::MemoryView& memory();

    /// A number of the profile: as measured so far, else the base's.
    double known(std::string_view key) const;
    /// The same of one that is true or false.
    bool knownFlag(std::string_view key) const;

    /// A parameter of the profile, which has an integer.
    void found(std::string_view key, double value, std::string note = {});
    /// One that is true or false, or a choice.
    void foundText(std::string_view key, std::string value, std::string note = {});
    /// Something that the profile has no parameter for.
    void foundOther(std::string name, double value, std::string unit, std::string note = {});
    void undecided(std::string why);

    void begin(std::string_view measurement) { current_ = measurement; }
    std::vector<Figure>& figures() { return figures_; }
    std::vector<Undecided>& missing() { return undecided_; }
    double gpuSeconds() const { return bench_.gpuSeconds() + (probe_ ? probe_->gpuSeconds() : 0); }

  private:
    void add(Figure);

    const arch::DeviceProfile& base_;
    Listener& listener_;
    Bench bench_;
    std::optional<dissect::Probe> probe_;
    std::optional<dissect::MemoryView> memory_;
    std::string current_;
    std::vector<Figure> figures_;
    std::vector<Undecided> undecided_;
};

/// A row of the table of measurements.
struct Measurement {
    std::string_view name;
    std::string_view keys;        ///< of the profile, as a person reads them
    std::string_view benchmark;   ///< what is executed
    std::string_view derivation;  ///< how figures follow from it
    void (*run)(Session&);
};

/// In the order in which they are made: later ones use what earlier ones found.
std::span<const Measurement> measurements();

// One file each.
void measureAttributes(Session&);
void measureClock(Session&);
void measureLaunches(Session&);
void measureOperations(Session&);
void measureBranches(Session&);
void measureSharedMemory(Session&);
void measureL1(Session&);
void measureConstantCache(Session&);
void measureInstructionCache(Session&);
void measureL2Latency(Session&);
void measureL2Shape(Session&);
void measureL2Sides(Session&);
void measureL2Bandwidth(Session&);
void measureDramBandwidth(Session&);
void measureAtomics(Session&);
void measureMisses(Session&);
void measureCopies(Session&);
void measureTimeSlice(Session&);
void measureSharing(Session&);

}  // namespace bulkhead::calibrate
