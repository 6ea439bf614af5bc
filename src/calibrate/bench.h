#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "calibrate/calibrate.h"
#include "calibrate/probe_text.h"
#include "gpu/gpu.h"

namespace bulkhead::calibrate {

/// How a probe is launched.
struct ProbeShape {
    unsigned blocks = 1, threads = 32;
    std::uint32_t repeats = 1;  ///< of the body, in each round
    std::uint64_t region = 0;   ///< %region: an address of the caller's memory
    std::uint64_t count = 0;    ///< %count: a number of the caller's
    std::uint32_t rounds = 0;   ///< that are timed, after one that is not; 0: as many as the GPU's noise asks for
    std::size_t sharedBytes = 0;
};

/// Everything that calibrate lets a GPU do: probes that are generated as PTX, launched, timed by the SM's clock or by
/// events, and repeated where the GPU is not deterministic.
class Bench {
  public:
    Bench(gpu::Gpu&, std::uint64_t seed, NoiseFilter);

    gpu::Gpu& gpu() { return gpu_; }
    gpu::Context& context() { return gpu_.context(); }
    gpu::Stream& stream() { return stream_; }
    std::uint64_t seed() const { return seed_; }
    unsigned sms() const { return static_cast<unsigned>(gpu_.info().sms); }
    bool costly() const { return gpu_.capabilities().costly; }
    /// Nothing disturbs a time: one round is enough, and a single miss shows.
    bool exact() const { return gpu_.capabilities().deterministic && !noise_; }
    /// Timed rounds.
    std::uint32_t rounds() const { return exact() ? 1 : 5; }
    /// `few` where every instruction takes time of the host, else `many`.
    template <class T>
    T effort(T few, T many) const {
        return costly() ? few : many;
    }
    int attribute(driver::DeviceAttribute);
    unsigned threadsPerBlock() { return static_cast<unsigned>(attribute(driver::DeviceAttribute::maxThreadsPerBlock)); }

    /// A generated module, kept for the next call with the same text.
    const gpu::Module& module(const std::string& ptx);
    gpu::Kernel kernel(const std::string& ptx, const std::string& name);

    /// Memory that nobody has used before, nor will: what is freed may be in a cache when it is allocated again.
    gpu::Buffer freshMemory(Bytes bytes);

    /// Core cycles of a round, from the first warp's first instruction to the last warp's last: the median of rounds.
    double cycles(const ProbeText&, const ProbeShape&);
    /// What one more instruction of the body costs: the same probe with `length` instructions and with twice as many,
    /// so that whatever else a round does cancels. `make` gives the probe of a length.
    template <class Make>
    double cyclesEach(Make make, std::uint32_t length, const ProbeShape& shape) {
        const double once = cycles(make(length), shape), twice = cycles(make(2 * length), shape);
        return (twice - once) / (static_cast<double>(length) * shape.repeats);
    }
    /// Cycles by which an SM is done with the body of one warp more, while all warps of a block repeat it.
    double cyclesPerBody(const ProbeText&, const ProbeShape&);
    /// The same for one more instruction of the body, as cyclesEach().
    template <class Make>
    double cyclesEachOfMany(Make make, std::uint32_t length, const ProbeShape& shape) {
        constexpr std::uint32_t kLongest = 128;
        double once = cyclesPerBody(make(length), shape), twice = cyclesPerBody(make(2 * length), shape);
        // Until it is the body that takes the time, and not the loop around it.
        for (; twice < 1.9 * once && length < kLongest; length *= 2) {
            once = twice;
            twice = cyclesPerBody(make(4 * length), shape);
        }
        return (twice - once) / length;
    }
    /// Seconds that work of a stream takes, between two events: the median. What `prepare` puts there is not timed.
    double secondsOf(const std::function<void()>& work, const std::function<void()>& prepare = {});
    /// The same of a launch.
    double seconds(const ProbeText&, const ProbeShape&);

    /// Keeps the stream busy for so long that the host can put work behind it.
    void spin(double seconds);
    /// One thread that waits for so many cycles: cycles of the core and nanoseconds that passed.
    struct Spun {
        double cycles = 0, nanoseconds = 0;
    };
    Spun spinCycles(std::uint64_t cycles);

    double gpuSeconds() const { return gpuSeconds_; }
    void spent(double seconds) { gpuSeconds_ += seconds; }
    double noisy(std::vector<double> times) const;

  private:
    void launch(gpu::Kernel&, const ProbeShape&, std::uint32_t rounds);
    double bodiesUntil(gpu::Kernel&, const ProbeShape&, std::uint64_t duration, double& elapsed);

    gpu::Gpu& gpu_;
    std::uint64_t seed_;
    NoiseFilter noise_;
    gpu::Stream stream_;
    gpu::Array<std::uint64_t> input_, result_;
    std::map<std::string, gpu::Module> modules_;
    std::vector<gpu::Buffer> kept_;
    double gpuSeconds_ = 0;
};

}  // namespace bulkhead::calibrate
