// FGPU's image classification (IC): AlexNet on one image, as Caffe runs it, with weights made from the seed.
#include <algorithm>
#include <cmath>

#include "alexnet.ptx.h"
#include "workloads/caffe/network.h"
#include "workloads/caffe/reference.h"
#include "workloads/compare.h"
#include "workloads/host_code.h"
#include "workloads/linear_algebra.h"
#include "workloads/reference.h"
#include "workloads/workload.h"

namespace bulkhead::workloads {
namespace {

using caffe::Kind;
using caffe::Layer;

int toInt(std::size_t n) {
    return static_cast<int>(n);
}

class AlexNet : public Instance {
  public:
    AlexNet(gpu::Context& context, const caffe::NetworkSize& size, std::uint64_t seed)
        : seed_(seed), layers_(caffe::alexnet(size)), device_(layers_.size()) {
        Random random(seed);
        hostImage_ = uniformFloats(random, layers_.front().in.size(), -128, 128);
        image_ = context.array(hostImage_);
        std::size_t columns = 0, scales = 0;
        for (std::size_t i = 0; i < layers_.size(); ++i) {
            const Layer& layer = layers_[i];
            if (layer.weights()) uploadParameters(context, i);
            device_[i].out = layer.kind == Kind::relu ? device_[i - 1].out : context.array<float>(layer.out.size());
            if (layer.kind == Kind::convolution)
                columns = std::max(columns, layer.groups * layer.fanIn() * layer.out.places());
            if (layer.kind == Kind::normalization) scales = std::max(scales, layer.out.size());
        }
        columns_ = context.array<float>(columns);
        scale_ = context.array<float>(scales);
        loadKernels(context);
    }

    void run(gpu::Stream& stream) override {
        for (std::size_t i = 0; i < layers_.size(); ++i) runLayer(stream, i);
    }

    void check() override {
        const auto& reference = reference_([&] { return caffe::referenceOutputs(layers_, seed_, hostImage_); });
        for (std::size_t i = 0; i < layers_.size(); ++i) {
            const bool overwritten = i + 1 < layers_.size() && layers_[i + 1].kind == Kind::relu;
            if (overwritten) continue;
            double largest = 0;
            for (const double v : reference[i]) largest = std::max(largest, std::abs(v));
            expectNear(layers_[i].name, rounded(reference[i]), device_[i].out.take(), 1e-5, 2e-6 * largest);
        }
    }

    std::size_t footprint() const override {
        std::size_t bytes = bytesOf(image_, columns_, scale_);
        for (std::size_t i = 0; i < layers_.size(); ++i) {
            bytes += bytesOf(device_[i].weights, device_[i].biases);
            if (layers_[i].kind != Kind::relu) bytes += bytesOf(device_[i].out);
        }
        return bytes;
    }

  private:
    static constexpr unsigned kThreads = 256, kSoftmaxThreads = 256, kGemmTile = 32, kGemmEdge = 8, kWarp = 32;

    struct DeviceLayer {
        gpu::Array<float> weights, biases, out;
    };

    void uploadParameters(gpu::Context& context, std::size_t i) {
        const caffe::Parameters parameters(seed_, i, layers_[i]);
        std::vector<float> weights(layers_[i].weights()), biases(layers_[i].biases());
        for (std::size_t w = 0; w < weights.size(); ++w) weights[w] = parameters.weight(w);
        for (std::size_t b = 0; b < biases.size(); ++b) biases[b] = parameters.bias(b);
        device_[i].weights = context.array(weights);
        device_[i].biases = context.array(biases);
    }

    void loadKernels(gpu::Context& context) {
        const gpu::Module module = context.load(kAlexnetPtx);
        im2col_ = module.kernel("alexnetIm2col");
        gemm_ = module.kernel("alexnetGemm");
        gemv_ = module.kernel("alexnetGemv");
        relu_ = module.kernel("alexnetRelu");
        lrnScale_ = module.kernel("alexnetLrnScale");
        lrnOutput_ = module.kernel("alexnetLrnOutput");
        maxPool_ = module.kernel("alexnetMaxPool");
        softmax_ = module.kernel("alexnetSoftmax");
    }

    void runLayer(gpu::Stream& stream, std::size_t i) {
        const Layer& layer = layers_[i];
        DeviceLayer& device = device_[i];
        const gpu::Array<float>& in = i ? device_[i - 1].out : image_;
        const int count = toInt(layer.out.size());
        const gpu::Dim3 grid = {blocksFor(layer.out.size(), kThreads)}, block = {kThreads};
        switch (layer.kind) {
            case Kind::convolution:
                convolve(stream, layer, device, in);
                break;
            case Kind::relu:
                relu_.launch(stream, grid, block, 0, device.out, count);
                break;
            case Kind::normalization:
                lrnScale_.launch(stream, {blocksFor(layer.in.places(), kThreads)}, block, 0, in, scale_,
                                 toInt(layer.in.places()), toInt(layer.in.channels), toInt(caffe::kNormalizationWindow),
                                 caffe::kNormalizationAlpha);
                lrnOutput_.launch(stream, grid, block, 0, in, scale_, device.out, count, caffe::kNormalizationBeta);
                break;
            case Kind::pooling:
                maxPool_.launch(stream, grid, block, 0, in, device.out, count, toInt(layer.in.height),
                                toInt(layer.in.width), toInt(layer.out.height), toInt(layer.out.width),
                                toInt(layer.kernel), toInt(layer.stride));
                break;
            case Kind::innerProduct:
                gemv_.launch(stream, {blocksFor(layer.out.size() * kWarp, kThreads)}, block, 0, device.weights, in,
                             device.biases, device.out, count, toInt(layer.in.size()));
                break;
            case Kind::softmax:
                softmax_.launch(stream, {1}, {kSoftmaxThreads}, 0, in, device.out, count);
                break;
        }
    }

    /// im2col once, and a matrix product for each group.
    void convolve(gpu::Stream& stream, const Layer& layer, const DeviceLayer& device, const gpu::Array<float>& in) {
        const std::size_t threads = layer.in.channels * layer.out.places();
        im2col_.launch(stream, {blocksFor(threads, kThreads)}, {kThreads}, 0, in, columns_, toInt(threads),
                       toInt(layer.in.height), toInt(layer.in.width), toInt(layer.kernel), toInt(layer.pad),
                       toInt(layer.stride), toInt(layer.out.height), toInt(layer.out.width));
        const std::size_t rows = layer.out.channels / layer.groups, places = layer.out.places();
        const auto part = [](const gpu::Array<float>& array, std::size_t first) {
            return array.address() + first * sizeof(float);
        };
        for (std::size_t g = 0; g < layer.groups; ++g)
            gemm_.launch(stream, {blocksFor(places, kGemmTile), blocksFor(rows, kGemmTile)}, {kGemmEdge, kGemmEdge}, 0,
                         part(device.weights, g * rows * layer.fanIn()), part(columns_, g * layer.fanIn() * places),
                         part(device.biases, g * rows), part(device.out, g * rows * places), toInt(rows), toInt(places),
                         toInt(layer.fanIn()));
    }

    std::uint64_t seed_;
    std::vector<Layer> layers_;
    std::vector<DeviceLayer> device_;
    std::vector<float> hostImage_;
    gpu::Array<float> image_;
    gpu::Array<float> columns_, scale_;  ///< used by one layer after the other
    gpu::Kernel im2col_, gemm_, gemv_, relu_, lrnScale_, lrnOutput_, maxPool_, softmax_;
    Reference<std::vector<std::vector<double>>> reference_;
};

}  // namespace

std::unique_ptr<Instance> createAlexnet(gpu::Context& context, Size size, std::uint64_t seed) {
    const caffe::NetworkSize network =
        forSize<caffe::NetworkSize>(size, {.image = 67, .narrow = 8, .hidden = 128, .classes = 50},
                                    {.image = 115, .narrow = 2, .hidden = 1024, .classes = 1000},
                                    {.image = 227, .narrow = 1, .hidden = 4096, .classes = 1000});
    return std::make_unique<AlexNet>(context, network, seed);
}

}  // namespace bulkhead::workloads
