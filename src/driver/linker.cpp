#include <algorithm>
#include <string_view>

#include "driver/fatbin.h"
#include "driver/jit_options.h"
#include "driver/state.h"
#include "ptx/link.h"

namespace bulkhead::driver {
namespace {

constexpr CUjitInputType kInputCubin = 0, kInputPtx = 1, kInputFatbin = 2;

/// Between the modules of a linked image, which is a text so that whoever looks at it can read it.
constexpr std::string_view kNextModule = "\n//--- next module of a linked image ---\n";

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

/// Adds a text to what is to be linked, or says in the program's log what is wrong with it.
void addText(CUlinkState state, std::string text) {
    text.resize(std::min(text.size(), text.find('\0')));
    try {
        for (const std::string& one : linkedTexts(text)) ptx::parse(one, "<link>");
    } catch (const Error& error) {
        state->options.report(error.what());
        throw;
    }
    if (!state->image.empty()) state->image += kNextModule;
    state->image += text;
}

/// Whether everything that one input needs is in another.
void check(const std::string& image) {
    std::vector<ptx::Module> modules;
    for (const std::string& text : linkedTexts(image)) modules.push_back(ptx::parse(text, "<link>"));
    sim::lower(ptx::link(std::move(modules)));
}

}  // namespace

std::vector<std::string> linkedTexts(const std::string& image) {
    std::vector<std::string> texts;
    for (std::size_t from = 0;;) {
        const std::size_t end = std::min(image.find(kNextModule, from), image.size());
        texts.push_back(image.substr(from, end - from));
        if (end == image.size()) return texts;
        from = end + kNextModule.size();
    }
}

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
        require(!known(state)->image.empty(), CUDA_ERROR_INVALID_VALUE, "nothing was added");
        try {
            check(state->image);
        } catch (const Error& error) {
            state->options.report(error.what());
            throw;
        }
        state->options.report("");
        *image = state->image.data();
        if (bytes) *bytes = state->image.size() + 1;
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
