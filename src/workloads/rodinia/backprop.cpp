// Rodinia's back-propagation: one training step of a network with 16 hidden units and one output. The GPU has the layer
// between input and hidden units, the host the few weights behind it.
#include <cmath>

#include "backprop.ptx.h"
#include "workloads/compare.h"
#include "workloads/host_code.h"
#include "workloads/linear_algebra.h"
#include "workloads/rodinia/tile.h"
#include "workloads/workload.h"

namespace bulkhead::workloads {
namespace {

constexpr float kRate = 0.3f, kMomentum = 0.3f, kTarget = 0.1f;

double sigmoid(double x) {
    return 1 / (1 + std::exp(-x));
}

class Backprop : public Instance {
  public:
    Backprop(gpu::Context& context, std::size_t inputs, std::uint64_t seed) : blocks_(blocksFor(inputs, kTile)) {
        Random random(seed);
        hostInput_ = uniformFloats(random, inputs + 1);
        hostInput_[0] = 1;
        // Small enough for sums over all inputs to stay where the sigmoid has a slope.
        const float reach = 2.0f / std::sqrt(static_cast<float>(inputs));
        hostWeights_ = uniformFloats(random, (inputs + 1) * kColumns, -reach, reach);
        hostChanges_ = uniformFloats(random, (inputs + 1) * kColumns, -reach, reach);
        hostOutputWeights_ = uniformFloats(random, kColumns, -1, 1);

        input_ = context.array(hostInput_);
        inputWeights_ = context.array(hostWeights_);
        inputChanges_ = context.array(hostChanges_);
        weights_ = context.array<float>(hostWeights_.size());
        changes_ = context.array<float>(hostChanges_.size());
        partialSums_ = context.array<float>(blocks_ * kHidden);
        deltas_ = context.array<float>(kColumns);
        const gpu::Module module = context.load(kBackpropPtx);
        forward_ = module.kernel("backpropForward");
        adjust_ = module.kernel("backpropAdjust");
    }

    void run(gpu::Stream& stream) override {
        const gpu::Dim3 grid = {1, blocks_}, block = {kTile, kTile};
        const int hidden = kHidden;
        weights_.copyFrom(inputWeights_, stream);
        changes_.copyFrom(inputChanges_, stream);
        forward_.launch(stream, grid, block, 0, input_, weights_, partialSums_, hidden);
        stream.synchronize();
        hiddenSums_ = addPartialSums(partialSums_.download());
        deltas_.upload(rounded(hiddenDeltas(hiddenSums_)));
        weights_.copyFrom(inputWeights_, stream);
        adjust_.launch(stream, grid, block, 0, deltas_, input_, weights_, changes_, hidden, kRate, kMomentum);
    }

    void check() override {
        const std::vector<double> sums = referenceSums();
        expectNear("hidden sum", sums, std::exchange(hiddenSums_, {}), 1e-5, 1e-5);
        const std::vector<double> deltas = hiddenDeltas(sums);
        std::vector<float> weights = hostWeights_, changes = hostChanges_;
        for (std::size_t unit = 0; unit < hostInput_.size(); ++unit)
            for (std::size_t h = 1; h < kColumns; ++h) {
                const std::size_t at = unit * kColumns + h;
                const double change =
                    double{kRate} * deltas[h] * hostInput_[unit] + double{kMomentum} * hostChanges_[at];
                changes[at] = static_cast<float>(change);
                weights[at] = static_cast<float>(hostWeights_[at] + change);
            }
        expectNear("change", changes, changes_.take(), 1e-5, 1e-8);
        expectNear("weight", weights, weights_.take(), 1e-5, 1e-8);
    }

    std::size_t footprint() const override { return bytesOf(input_, weights_, changes_, partialSums_, deltas_); }

  private:
    static constexpr std::size_t kHidden = kTile, kColumns = kHidden + 1;

    /// For each hidden unit, with the bias; [0] is the bias of the next layer.
    std::vector<double> addPartialSums(const std::vector<float>& partial) const {
        std::vector<double> sums(hostWeights_.begin(), hostWeights_.begin() + kColumns);
        for (std::size_t i = 0; i < partial.size(); ++i) sums[1 + i % kHidden] += partial[i];
        return sums;
    }

    std::vector<double> referenceSums() const {
        std::vector<double> sums(kColumns);
        for (std::size_t i = 0; i < hostWeights_.size(); ++i)
            sums[i % kColumns] += double{hostInput_[i / kColumns]} * hostWeights_[i];
        sums[0] = hostWeights_[0];
        return sums;
    }

    /// The error at each hidden unit after the single output has been held against its target.
    std::vector<double> hiddenDeltas(const std::vector<double>& sums) const {
        std::vector<double> units(kColumns, 1.0);
        double output = hostOutputWeights_[0];
        for (std::size_t h = 1; h < kColumns; ++h) {
            units[h] = sigmoid(sums[h]);
            output += units[h] * hostOutputWeights_[h];
        }
        output = sigmoid(output);
        const double outputDelta = output * (1 - output) * (double{kTarget} - output);
        std::vector<double> deltas(kColumns);
        for (std::size_t h = 1; h < kColumns; ++h)
            deltas[h] = units[h] * (1 - units[h]) * outputDelta * hostOutputWeights_[h];
        return deltas;
    }

    unsigned blocks_;
    std::vector<float> hostInput_, hostWeights_, hostChanges_, hostOutputWeights_;
    std::vector<double> hiddenSums_;
    gpu::Array<float> inputWeights_, inputChanges_;
    gpu::Array<float> input_, weights_, changes_, partialSums_, deltas_;
    gpu::Kernel forward_, adjust_;
};

}  // namespace

std::unique_ptr<Instance> createBackprop(gpu::Context& context, Size size, std::uint64_t seed) {
    return std::make_unique<Backprop>(context, forSize<std::size_t>(size, 512, 32768, 65536), seed);
}

}  // namespace bulkhead::workloads
