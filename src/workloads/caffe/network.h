#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bulkhead::workloads::caffe {

/// Of an image: its values lie channel by channel, row by row.
struct Shape {
    std::size_t channels = 1, height = 1, width = 1;

    std::size_t places() const { return height * width; }
    std::size_t size() const { return channels * places(); }
};

enum class Kind : std::uint8_t { convolution, relu, normalization, pooling, innerProduct, softmax };

struct Layer {
    std::string name;
    Kind kind;
    Shape in, out;
    std::size_t kernel = 0, stride = 1, pad = 0;  ///< of convolutions and pooling
    std::size_t groups = 1;                       ///< of a convolution: each sees its share of the channels only
    double gain = 1;                              ///< of its weights

    /// Values that one output value depends on.
    std::size_t fanIn() const;
    std::size_t weights() const;
    std::size_t biases() const;
};

/// Across channels, as AlexNet has it.
constexpr std::size_t kNormalizationWindow = 5;
constexpr float kNormalizationAlpha = 1e-4f, kNormalizationBeta = 0.75f;

/// How much of AlexNet.
struct NetworkSize {
    std::size_t image;   ///< pixels along an edge; 227 is the whole
    std::size_t narrow;  ///< the convolutions' channels are divided by this
    std::size_t hidden;  ///< outputs of fc6 and fc7: 4096
    std::size_t classes;
};

/// AlexNet, layer by layer.
std::vector<Layer> alexnet(const NetworkSize&);

/// Numbers of a layer that depend on seed, layer and place alone, so that they need not be kept.
class Parameters {
  public:
    Parameters(std::uint64_t seed, std::size_t layerIndex, const Layer&);
    /// Uniform, and so spread that a layer's outputs are about as large as its inputs.
    float weight(std::size_t i) const { return reach_ * symmetric(i); }
    float bias(std::size_t i) const { return kBiasReach * symmetric(~i); }

  private:
    static constexpr float kBiasReach = 0.1f;
    /// In [-1, 1), exact in single precision.
    float symmetric(std::size_t i) const;
    std::uint64_t key_;
    float reach_;
};

}  // namespace bulkhead::workloads::caffe
