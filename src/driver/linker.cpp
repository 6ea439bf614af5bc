#include <algorithm>

#include "driver/fatbin.h"
#include "driver/jit_options.h"
#include "driver/linked_image.h"
#include "driver/state.h"

namespace bulkhead::driver {
namespace {

constexpr CUjitInputType kInputCubin = 0, kInputPtx = 1, kInputFatbin = 2;

/// A linker's input: so many bytes, or what they point to.
std::span<const std::uint8_t> inputAt(const void* data, std::size_t bytes) {
    const std::span<const std::uint8_t> image = Fatbin::imageAt(data);
    return image.data() == data ? image.first(std::min(bytes, image.size())) : image;
}

void requireLinkable(CUjitInputType type) {
    require(type == kInputPtx || type == kInputFatbin,
            type == kInputCubin ? CUDA_ERROR_NO_BINARY_FOR_GPU : CUDA_ERROR_NOT_SUPPORTED,
            "only PTX and fatbins can be linked");
}

/// What is wrong goes to the program's log too.
template <class Body>
void logged(CUlinkState state, CUresult code, Body&& body) {
    try {
        body();
    } catch (const Error& error) {
        state->options.report(error.what());
        state->failed = code == CUDA_ERROR_INVALID_SOURCE;
        throw Failure{code, error.what()};
    }
}

/// Adds a text to what is to be linked.
void addText(CUlinkState state, const std::string& text) {
    logged(state, CUDA_ERROR_INVALID_PTX, [&] { LinkedImage::expectPtx(text); });
    logged(state, CUDA_ERROR_INVALID_SOURCE, [&] { state->image.add(text); });
}

}  // namespace

namespace simulated {

CUresult cuLinkCreate(unsigned optionCount, CUjit_option* options, void** optionValues, CUlinkState* state) {
    return call([&] {
        current();
        requireOutput(state);
        require(optionCount == 0 || (options && optionValues), CUDA_ERROR_INVALID_VALUE, "options without values");
        auto made = std::make_unique<CUlinkState_st>();
        made->options = JitOptions(optionCount, options, optionValues);
        *state = remember(made.get());
        driver::state().links[*state] = std::move(made);
    });
}
CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void* data, std::size_t bytes, const char*, unsigned,
                       CUjit_option*, void**) {
    return call([&] {
        CUcontext context = current();
        requireOutput(data);
        known(state);
        requireLinkable(type);
        addText(state, type == kInputPtx ? std::string(static_cast<const char*>(data), bytes)
                                         : ptxOf(inputAt(data, bytes), &gpuOf(context).profile()));
    });
}
CUresult cuLinkAddFile(CUlinkState state, CUjitInputType type, const char* path, unsigned, CUjit_option*, void**) {
    return call([&] {
        CUcontext context = current();
        known(state);
        requireLinkable(type);
        const std::string content = imageIn(path);
        const std::span bytes(reinterpret_cast<const std::uint8_t*>(content.data()), content.size());
        addText(state, ptxOf(bytes, &gpuOf(context).profile()));
    });
}
CUresult cuLinkComplete(CUlinkState state, void** image, std::size_t* bytes) {
    return call([&] {
        current();
        requireOutput(image);
        require(!known(state)->failed, CUDA_ERROR_INVALID_SOURCE, "an input could not be linked");
        logged(state, CUDA_ERROR_INVALID_SOURCE,
               [&] { state->image.complete([&](ptx::Module& module) { state->options.relocate(module); }); });
        state->options.report("");
        *image = const_cast<char*>(state->image.text().data());
        if (bytes) *bytes = state->image.text().size() + 1;
    });
}
CUresult cuLinkDestroy(CUlinkState state) {
    return call([&] {
        forget(known(state));
        driver::state().links.erase(state);
    });
}

}  // namespace simulated
}  // namespace bulkhead::driver
