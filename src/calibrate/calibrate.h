#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "arch/device_profile.h"
#include "base/result.h"
#include "gpu/gpu.h"

namespace bulkhead::calibrate {

/// One thing that was measured.
struct Figure {
    std::string key;           ///< of the profile; empty: the profile has no parameter for it
    std::string name;          ///< what it is, where there is no key
    double value = 0;          ///< as measured, before it was rounded to what the profile holds
    std::string unit;          ///< of the value
    std::string text;          ///< of a parameter that is no number: its value
    std::string measurement;   ///< of the table, by its name
    std::string note;          ///< what limits it, or how it was told
    std::string was, written;  ///< in the base and in the profile; `written` is empty where it was not
    std::string refused;       ///< why it was not written, though there is a key
};

/// What a measurement could not find, and why.
struct Undecided {
    std::string measurement, why;
};

/// Changes times as they come back from the GPU; what tests make noise with.
using NoiseFilter = std::function<void(std::vector<double>&)>;

/// Hears what calibrate does. Every call may be ignored.
class Listener {
  public:
    virtual ~Listener() = default;
    virtual void measuring(const std::string& /*name*/, double /*done, in [0, 1]*/) {}
    virtual void found(const Figure&) {}
    virtual void undecided(const Undecided&) {}
};

struct Options {
    std::string base;               ///< profile to start from; empty: the nearest
    std::vector<std::string> only;  ///< measurements by name; empty: all
    std::uint64_t seed = 1;
    double limitSeconds = 300;  ///< of GPU time: what has not begun by then is left out
    NoiseFilter noise;
};

struct Calibration {
    arch::DeviceProfile profile;
    std::string base;
    std::vector<Figure> figures;
    std::vector<Undecided> undecided;
    double gpuSeconds = 0;
};

/// Measures a GPU by microbenchmarks, and gives a profile for its simulated twin. Throws Error: an unknown measurement
/// or base, or a GPU that cannot be timed.
Calibration calibrate(gpu::Gpu&, const Options&, Listener&);

/// The measurements: name, parameters, microbenchmark, and how figures follow from it.
Result measurementList();

/// What was found, a row each: key, was, measured, written, by what.
Result figureTable(const Calibration&);

/// The shipped profile of the nearest compute capability; of several, that with the nearest number of SMs.
arch::DeviceProfile nearestProfile(const gpu::DeviceInfo&);

}  // namespace bulkhead::calibrate
