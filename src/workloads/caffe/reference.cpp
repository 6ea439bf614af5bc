#include "workloads/caffe/reference.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"

namespace bulkhead::workloads::caffe {
namespace {

using Values = std::vector<double>;

/// Adds what one weight contributes to one channel of the output: the image shifted to the weight's place, times it.
void addShifted(const Layer& layer, const double* in, double weight, std::size_t ky, std::size_t kx, double* out) {
    const auto inside = [&](std::size_t place, std::size_t k, std::size_t extent) {
        const std::size_t at = place * layer.stride + k;
        return at >= layer.pad && at < extent + layer.pad;
    };
    std::size_t first = 0, last = layer.out.width;
    while (first < last && !inside(first, kx, layer.in.width)) ++first;
    while (last > first && !inside(last - 1, kx, layer.in.width)) --last;
    for (std::size_t y = 0; y < layer.out.height; ++y) {
        if (!inside(y, ky, layer.in.height)) continue;
        const double* row = in + (y * layer.stride + ky - layer.pad) * layer.in.width;
        double* const outRow = out + y * layer.out.width;
        for (std::size_t x = first; x < last; ++x) outRow[x] += weight * row[x * layer.stride + kx - layer.pad];
    }
}

Values convolve(const Layer& layer, const Parameters& parameters, const Values& in) {
    Values out(layer.out.size());
    const std::size_t inputs = layer.in.channels / layer.groups, outputs = layer.out.channels / layer.groups;
    std::size_t i = 0;
    for (std::size_t o = 0; o < layer.out.channels; ++o) {
        double* const channel = &out[o * layer.out.places()];
        std::fill_n(channel, layer.out.places(), parameters.bias(o));
        for (std::size_t c = 0; c < inputs; ++c)
            for (std::size_t ky = 0; ky < layer.kernel; ++ky)
                for (std::size_t kx = 0; kx < layer.kernel; ++kx)
                    addShifted(layer, &in[(o / outputs * inputs + c) * layer.in.places()], parameters.weight(i++), ky,
                               kx, channel);
    }
    return out;
}

Values innerProduct(const Layer& layer, const Parameters& parameters, const Values& in) {
    Values out(layer.out.size());
    std::size_t i = 0;
    for (std::size_t o = 0; o < out.size(); ++o) {
        out[o] = parameters.bias(o);
        for (const double value : in) out[o] += parameters.weight(i++) * value;
    }
    return out;
}

Values rectify(Values values) {
    for (double& v : values) v = std::max(v, 0.0);
    return values;
}

Values normalize(const Layer& layer, const Values& in) {
    Values out(in.size());
    const std::size_t places = layer.in.places(), reach = kNormalizationWindow / 2;
    for (std::size_t c = 0; c < layer.in.channels; ++c)
        for (std::size_t p = 0; p < places; ++p) {
            double squares = 0;
            for (std::size_t n = c - std::min(c, reach); n <= std::min(c + reach, layer.in.channels - 1); ++n)
                squares += in[n * places + p] * in[n * places + p];
            const double scale = 1 + double{kNormalizationAlpha} / kNormalizationWindow * squares;
            out[c * places + p] = in[c * places + p] / std::pow(scale, kNormalizationBeta);
        }
    return out;
}

Values pool(const Layer& layer, const Values& in) {
    Values out;
    out.reserve(layer.out.size());
    for (std::size_t c = 0; c < layer.out.channels; ++c)
        for (std::size_t oy = 0; oy < layer.out.height; ++oy)
            for (std::size_t ox = 0; ox < layer.out.width; ++ox) {
                double largest = -HUGE_VAL;
                const std::size_t top = oy * layer.stride, left = ox * layer.stride;
                for (std::size_t y = top; y < std::min(top + layer.kernel, layer.in.height); ++y)
                    for (std::size_t x = left; x < std::min(left + layer.kernel, layer.in.width); ++x)
                        largest = std::max(largest, in[(c * layer.in.height + y) * layer.in.width + x]);
                out.push_back(largest);
            }
    return out;
}

Values softmax(Values values) {
    const double largest = *std::max_element(values.begin(), values.end());
    for (double& v : values) v = std::exp(v - largest);
    const double sum = std::accumulate(values.begin(), values.end(), 0.0);
    for (double& v : values) v /= sum;
    return values;
}

Values output(const Layer& layer, const Parameters& parameters, const Values& in) {
    switch (layer.kind) {
        case Kind::convolution:
            return convolve(layer, parameters, in);
        case Kind::relu:
            return rectify(in);
        case Kind::normalization:
            return normalize(layer, in);
        case Kind::pooling:
            return pool(layer, in);
        case Kind::innerProduct:
            return innerProduct(layer, parameters, in);
        case Kind::softmax:
            return softmax(in);
    }
    throw Error("layer {} is of no known kind", layer.name);
}

}  // namespace

std::vector<Values> referenceOutputs(const std::vector<Layer>& layers, std::uint64_t seed,
                                     const std::vector<float>& image) {
    std::vector<Values> outputs;
    const Values first(image.begin(), image.end());
    for (std::size_t i = 0; i < layers.size(); ++i)
        outputs.push_back(output(layers[i], Parameters(seed, i, layers[i]), i ? outputs[i - 1] : first));
    return outputs;
}

}  // namespace bulkhead::workloads::caffe
