// Rodinia's Hotspot: the temperature of a chip from the power its cells take, two steps a launch.
#include <algorithm>
#include <utility>

#include "hotspot.ptx.h"
#include "workloads/compare.h"
#include "workloads/host_code.h"
#include "workloads/linear_algebra.h"
#include "workloads/rodinia/tile.h"
#include "workloads/workload.h"

namespace bulkhead::workloads {
namespace {

constexpr int kStepsPerLaunch = 2;

/// Of the original's chip: 16 mm square, half a millimetre of silicon.
struct Chip {
    explicit Chip(std::size_t cells) {
        constexpr double kEdge = 0.016, kThickness = 0.0005, kHeatPerVolume = 1.75e6, kConductivity = 100;
        constexpr double kFactor = 0.5, kMaxPowerDensity = 3e6, kPrecision = 0.001;
        const double cell = kEdge / static_cast<double>(cells);
        capacity = static_cast<float>(kFactor * kHeatPerVolume * kThickness * cell * cell);
        resistanceX = resistanceY = static_cast<float>(1 / (2 * kConductivity * kThickness));
        resistanceZ = static_cast<float>(kThickness / (kConductivity * cell * cell));
        stepSeconds = static_cast<float>(kPrecision * kFactor * kThickness * kHeatPerVolume / kMaxPowerDensity);
    }
    float capacity, resistanceX, resistanceY, resistanceZ, stepSeconds, ambient = 80;
};

class Hotspot : public Instance {
  public:
    Hotspot(gpu::Context& context, std::size_t cells, int steps, std::uint64_t seed)
        : cells_(cells), steps_(steps), chip_(cells) {
        Random random(seed);
        hostTemperature_ = uniformFloats(random, cells * cells, 320, 345);
        hostPower_ = uniformFloats(random, cells * cells);
        initial_ = context.array(hostTemperature_);
        power_ = context.array(hostPower_);
        for (auto& t : temperature_) t = context.array<float>(cells * cells);
        kernel_ = context.load(kHotspotPtx).kernel("hotspotSteps");
    }

    void run(gpu::Stream& stream) override {
        const int cells = static_cast<int>(cells_);
        temperature_[0].copyFrom(initial_, stream);
        for (int done = 0; done < steps_; done += kStepsPerLaunch) {
            const int steps = std::min(kStepsPerLaunch, steps_ - done);
            const unsigned blocks = blocksFor(cells_, static_cast<unsigned>(kTile - 2 * steps));
            kernel_.launch(stream, {blocks, blocks}, {kTile, kTile}, 0, steps, power_, temperature_[0], temperature_[1],
                           cells, cells, chip_.capacity, chip_.resistanceX, chip_.resistanceY, chip_.resistanceZ,
                           chip_.stepSeconds, chip_.ambient);
            std::swap(temperature_[0], temperature_[1]);
        }
    }

    void check() override {
        std::vector<double> temperature = widened(hostTemperature_), next(temperature.size());
        for (int step = 0; step < steps_; ++step) {
            referenceStep(temperature, next);
            std::swap(temperature, next);
        }
        expectNear("temperature", rounded(temperature), temperature_[0].take(), 0, 2e-4);
    }

    std::size_t footprint() const override { return bytesOf(power_, temperature_[0], temperature_[1]); }

  private:
    void referenceStep(const std::vector<double>& from, std::vector<double>& to) const {
        const std::size_t n = cells_;
        for (std::size_t y = 0; y < n; ++y)
            for (std::size_t x = 0; x < n; ++x) {
                const std::size_t at = y * n + x;
                const double here = from[at];
                const double north = y > 0 ? from[at - n] : here, south = y + 1 < n ? from[at + n] : here;
                const double west = x > 0 ? from[at - 1] : here, east = x + 1 < n ? from[at + 1] : here;
                const double flow = hostPower_[at] + (north + south - 2 * here) / double{chip_.resistanceY} +
                                    (west + east - 2 * here) / double{chip_.resistanceX} +
                                    (chip_.ambient - here) / double{chip_.resistanceZ};
                to[at] = here + flow * chip_.stepSeconds / double{chip_.capacity};
            }
    }

    std::size_t cells_;  ///< along an edge
    int steps_;
    Chip chip_;
    std::vector<float> hostTemperature_, hostPower_;
    gpu::Array<float> initial_, power_;
    gpu::Array<float> temperature_[2];
    gpu::Kernel kernel_;
};

}  // namespace

std::unique_ptr<Instance> createHotspot(gpu::Context& context, Size size, std::uint64_t seed) {
    return std::make_unique<Hotspot>(context, forSize<std::size_t>(size, 60, 256, 512), forSize(size, 3, 6, 2), seed);
}

}  // namespace bulkhead::workloads
