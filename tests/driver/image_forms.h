#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "driver/driver_api.h"
#include "driver/image_types.h"

namespace bulkhead::golden {

/// What the texels of an image are.
enum class Content : std::uint8_t {
    random,    ///< floats from -2 to 2, integers of all bits
    counting,  ///< channel after channel 0, 1, 2 ... modulo what fits (floats: 0 to 1)
    stripes,   ///< 0 and 1 by turns along x: a filter's result is its fraction
    corner,    ///< 1 at (1, 1, 1), else 0: a filter's result is a product of fractions
    levels,    ///< each level its number
    special,   ///< floats: infinities, NaN, subnormal and large numbers among others
};

/// What a texture or a surface shows.
struct ImageShape {
    driver::CUresourcetype resource = driver::kArrayResource;
    std::size_t width = 16, height = 0, depth = 0;
    driver::CUarray_format format = driver::kFloat;
    unsigned channels = 1, flags = 0, levels = 1;
    Content content = Content::random;
};

/// Eight words that an instruction is given in %c0 ... %c7.
using ImagePlace = std::array<std::uint32_t, 8>;

/// An instruction that one thread executes for each place.
struct ImageForm {
    std::string name;  ///< unique; seeds the inputs
    std::string body;  ///< of %im, %c0 ... %c7, to %o0 ... %o3
    unsigned words = 1;
    ImageShape shape;
    driver::CUDA_TEXTURE_DESC sampler = {};
    std::vector<ImagePlace> places;
    bool isSurface = false;
    bool givesTexels = false;  ///< the answer is the array's bytes afterwards, not %o0 ...
};

/// What a driver answers to a form: words, or the first call that failed and its code.
struct ImageAnswer {
    std::vector<std::uint32_t> words;
    std::string failed;
    int code = 0;
};

const std::vector<ImageForm>& imageForms();
/// Of the texels and the places.
std::uint64_t hashOfInputs(const ImageForm&);
/// With a context current.
ImageAnswer evaluate(const driver::DriverApi&, const ImageForm&);

/// Calls with arguments of all kinds, and the codes that a driver gives, in order.
void tryImageCalls(const driver::DriverApi&, const std::function<void(const std::string&, int)>& report);

/// Forms that end their kernel, each to be evaluated in a context of its own.
const std::vector<ImageForm>& endingForms();

}  // namespace bulkhead::golden
