#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "corruption.h"
#include "workloads/caffe/network.h"
#include "workloads/caffe/reference.h"

namespace bulkhead::workloads::caffe {
namespace {

std::vector<Layer> wholeAlexnet() {
    return alexnet({.image = 227, .narrow = 1, .hidden = 4096, .classes = 1000});
}

TEST(AlexNet, HasThePublishedNumberOfParameters) {
    // conv1 34944, conv2 307456, conv3 885120, conv4 663936, conv5 442624, fc6 37752832, fc7 16781312, fc8 4097000.
    std::size_t parameters = 0;
    for (const Layer& layer : wholeAlexnet()) parameters += layer.weights() + layer.biases();
    EXPECT_EQ(parameters, 60965224u);
}

TEST(AlexNet, HasThePublishedShapes) {
    const std::vector<std::pair<std::string, std::vector<std::size_t>>> published = {
        {"conv1", {96, 55, 55}},  {"pool1", {96, 27, 27}},  {"conv2", {256, 27, 27}}, {"pool2", {256, 13, 13}},
        {"conv3", {384, 13, 13}}, {"conv4", {384, 13, 13}}, {"conv5", {256, 13, 13}}, {"pool5", {256, 6, 6}},
        {"fc6", {4096, 1, 1}},    {"fc7", {4096, 1, 1}},    {"fc8", {1000, 1, 1}}};
    const std::vector<Layer> layers = wholeAlexnet();
    for (const auto& [name, shape] : published) {
        const auto at = std::find_if(layers.begin(), layers.end(),
                                     [&layerName = name](const Layer& l) { return l.name == layerName; });
        ASSERT_NE(at, layers.end()) << name;
        EXPECT_EQ((std::vector<std::size_t>{at->out.channels, at->out.height, at->out.width}), shape) << name;
    }
}

TEST(AlexNet, CheckCatchesOneWrongElement) {
    // The outputs of norm1, pool1, norm2, pool2, pool5, fc8 and prob, and of conv1 to conv5, fc6 and fc7 after their
    // ReLU; the arrays for columns and scales, the image and the parameters are not results.
    const std::vector<Layer> layers = alexnet({.image = 67, .narrow = 8, .hidden = 128, .classes = 50});
    std::vector<std::size_t> results;
    for (const Layer& layer : layers)
        if (layer.kind != Kind::relu) results.push_back(layer.out.size() * sizeof(float));
    EXPECT_EQ(bytesOfCaught("IC"), results);
}

TEST(Parameters, AreSpreadForTheirFanIn) {
    const std::vector<Layer> layers = wholeAlexnet();
    const Layer& conv2 = layers[4];
    ASSERT_EQ(conv2.name, "conv2");
    const Parameters parameters(1, 4, conv2);
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < conv2.weights(); ++i) {
        const double w = parameters.weight(i);
        sum += w;
        squares += w * w;
    }
    const auto count = static_cast<double>(conv2.weights());
    const double variance = 2.0 / (48 * 5 * 5);
    EXPECT_NEAR(sum / count, 0, 5 * std::sqrt(variance / count));
    EXPECT_NEAR(squares / count, variance, 0.01 * variance);
}

TEST(Parameters, DependOnSeedLayerAndPlace) {
    const Layer layer = wholeAlexnet()[0];
    const float weight = Parameters(1, 0, layer).weight(0);
    EXPECT_EQ(weight, Parameters(1, 0, layer).weight(0));
    EXPECT_NE(weight, Parameters(2, 0, layer).weight(0));
    EXPECT_NE(weight, Parameters(1, 3, layer).weight(0));
    EXPECT_NE(weight, Parameters(1, 0, layer).weight(1));
}

std::vector<double> reference(const Layer& layer, const std::vector<float>& in) {
    return referenceOutputs({layer}, 7, in).front();
}

TEST(Reference, ConvolutionSumsOverItsGroupAlone) {
    const Layer layer{.name = "convolution",
                      .kind = Kind::convolution,
                      .in = {4, 5, 6},
                      .out = {6, 3, 3},
                      .kernel = 3,
                      .stride = 2,
                      .pad = 1,
                      .groups = 2};
    std::vector<float> in(layer.in.size());
    std::iota(in.begin(), in.end(), -50.0f);
    const std::vector<double> out = reference(layer, in);
    const Parameters parameters(7, 0, layer);
    ASSERT_EQ(out.size(), layer.out.size());
    for (int o = 0; o < 6; ++o)
        for (int y = 0; y < 3; ++y)
            for (int x = 0; x < 3; ++x) {
                double sum = parameters.bias(static_cast<std::size_t>(o));
                for (int c = 0; c < 2; ++c)
                    for (int k = 0; k < 9; ++k) {
                        const int row = 2 * y - 1 + k / 3, column = 2 * x - 1 + k % 3, channel = o / 3 * 2 + c;
                        if (row < 0 || row >= 5 || column < 0 || column >= 6) continue;
                        const int weight = (o * 2 + c) * 9 + k, input = (channel * 5 + row) * 6 + column;
                        sum += double{parameters.weight(static_cast<std::size_t>(weight))} *
                               double{in[static_cast<std::size_t>(input)]};
                    }
                EXPECT_NEAR(out[static_cast<std::size_t>((o * 3 + y) * 3 + x)], sum, 1e-9);
            }
}

TEST(Reference, PoolingCutsWindowsAtTheEdge) {
    const Layer layer{
        .name = "pooling", .kind = Kind::pooling, .in = {1, 4, 4}, .out = {1, 2, 2}, .kernel = 3, .stride = 2};
    EXPECT_EQ(reference(layer, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}),
              (std::vector<double>{10, 11, 14, 15}));
}

TEST(Reference, NormalizationLooksAtTwoChannelsEitherSide) {
    const Layer layer{.name = "normalization", .kind = Kind::normalization, .in = {6, 1, 1}, .out = {6, 1, 1}};
    const std::vector<double> out = reference(layer, {100, 200, 300, 400, 500, 600});
    EXPECT_NEAR(out[0], 100 / std::pow(1 + 2e-5 * (1e4 + 4e4 + 9e4), 0.75), 1e-4);
    EXPECT_NEAR(out[3], 400 / std::pow(1 + 2e-5 * (4e4 + 9e4 + 16e4 + 25e4 + 36e4), 0.75), 1e-4);
}

TEST(Reference, SoftmaxIsAProbability) {
    const Layer layer{.name = "softmax", .kind = Kind::softmax, .in = {3, 1, 1}, .out = {3, 1, 1}};
    const std::vector<double> out = reference(layer, {0, std::log(2.0f), std::log(5.0f)});
    EXPECT_NEAR(out[0], 1.0 / 8, 1e-6);
    EXPECT_NEAR(out[1], 2.0 / 8, 1e-6);
    EXPECT_NEAR(out[2], 5.0 / 8, 1e-6);
}

}  // namespace
}  // namespace bulkhead::workloads::caffe
