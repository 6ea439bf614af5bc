#include "workloads/caffe/network.h"

#include <cmath>
#include <utility>

#include "base/random.h"

namespace bulkhead::workloads::caffe {
namespace {

/// Puts layers one behind the other and works out their shapes.
class Builder {
  public:
    explicit Builder(Shape image) : shape_(image) {}

    void convolution(const std::string& name, std::size_t outputs, std::size_t kernel, std::size_t stride,
                     std::size_t pad, std::size_t groups, double gain = 1) {
        const auto extent = [&](std::size_t size) { return (size + 2 * pad - kernel) / stride + 1; };
        Layer& layer = add(name, Kind::convolution, {outputs, extent(shape_.height), extent(shape_.width)});
        layer.kernel = kernel;
        layer.stride = stride;
        layer.pad = pad;
        layer.groups = groups;
        layer.gain = gain;
        relu(name);
    }
    void normalization(const std::string& name) { add(name, Kind::normalization, shape_); }
    void pooling(const std::string& name) {
        constexpr std::size_t kKernel = 3, kStride = 2;
        // Caffe rounds up, so that no row is left out.
        const auto extent = [](std::size_t size) { return (size - kKernel + kStride - 1) / kStride + 1; };
        Layer& layer = add(name, Kind::pooling, {shape_.channels, extent(shape_.height), extent(shape_.width)});
        layer.kernel = kKernel;
        layer.stride = kStride;
    }
    Layer& innerProduct(const std::string& name, std::size_t outputs) {
        return add(name, Kind::innerProduct, {outputs, 1, 1});
    }
    void relu(const std::string& name) { add(name + " relu", Kind::relu, shape_); }
    void softmax() { add("prob", Kind::softmax, shape_); }
    std::vector<Layer> layers() && { return std::move(layers_); }

  private:
    Layer& add(const std::string& name, Kind kind, Shape out) {
        Layer layer{.name = name, .kind = kind, .in = shape_, .out = out};
        layers_.push_back(layer);
        shape_ = out;
        return layers_.back();
    }
    Shape shape_;
    std::vector<Layer> layers_;
};

}  // namespace

std::size_t Layer::fanIn() const {
    return kind == Kind::convolution ? in.channels / groups * kernel * kernel : in.size();
}

std::size_t Layer::weights() const {
    return kind == Kind::convolution || kind == Kind::innerProduct ? out.channels * fanIn() : 0;
}

std::size_t Layer::biases() const {
    return weights() ? out.channels : 0;
}

std::vector<Layer> alexnet(const NetworkSize& size) {
    Builder net({3, size.image, size.image});
    // Pixels go up to 128. Values of about ten leave the normalization something to do and no class all of the
    // probability.
    net.convolution("conv1", 96 / size.narrow, 11, 4, 0, 1, 0.1);
    net.normalization("norm1");
    net.pooling("pool1");
    net.convolution("conv2", 256 / size.narrow, 5, 1, 2, 2);
    net.normalization("norm2");
    net.pooling("pool2");
    net.convolution("conv3", 384 / size.narrow, 3, 1, 1, 1);
    net.convolution("conv4", 384 / size.narrow, 3, 1, 1, 2);
    net.convolution("conv5", 256 / size.narrow, 3, 1, 1, 2);
    net.pooling("pool5");
    for (const char* name : {"fc6", "fc7"}) {
        net.innerProduct(name, size.hidden);
        net.relu(name);
    }
    net.innerProduct("fc8", size.classes).gain = 0.1;
    net.softmax();
    return std::move(net).layers();
}

Parameters::Parameters(std::uint64_t seed, std::size_t layerIndex, const Layer& layer)
    : key_(Random(seed + layerIndex).next()),
      reach_(static_cast<float>(layer.gain * std::sqrt(6.0 / static_cast<double>(layer.fanIn())))) {}

float Parameters::symmetric(std::size_t i) const {
    return static_cast<float>(static_cast<std::int64_t>(Random(key_ + i).next()) >> 40) * 0x1p-23f;
}

}  // namespace bulkhead::workloads::caffe
