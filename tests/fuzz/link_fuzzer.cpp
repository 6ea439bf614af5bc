// Any inputs can be given to the linker of device code: it links them, or says why not, and what it has linked can be
// loaded. Inputs of one text are parted by lines of "//---".

#include <string_view>

#include "any_bytes.h"
#include "nvjitlink/linker.h"
#include "ptx/link.h"
#include "sim/exec/program.h"

namespace {

using namespace bulkhead;
using nvjitlink::Input;
using nvjitlink::Linker;

constexpr std::string_view kNext = "//---\n";

void expectLoadable(const std::string& image) {
    fuzz::expectReadable([&] {
        std::vector<ptx::Module> modules;
        for (const std::string& text : driver::linkedTexts(image)) modules.push_back(ptx::parse(text, "<linked>"));
        ptx::link(std::move(modules));
    });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const char* const options[] = {"-arch=sm_90"};
    Linker linker;
    linker.setOptions(options, 1);
    const std::string all = fuzz::textOf(data, size);
    for (std::size_t from = 0; from <= all.size();) {
        const std::size_t end = std::min(all.find(kNext, from), all.size());
        linker.addData(Input::any, {data + from, end - from}, "input");
        from = end + kNext.size();
    }
    if (linker.complete() == nvjitlink::Result::success) expectLoadable(linker.image());
    return 0;
}
