#include "driver/linked_image.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "driver/device_runtime.h"
#include "ptx/link.h"
#include "sim/exec/program.h"

namespace bulkhead::driver {
namespace {

/// Between the modules of a linked image.
constexpr std::string_view kNextModule = "\n//--- next module of a linked image ---\n";

constexpr const char* kEmptyModule = ".version 7.0\n.target sm_50\n.address_size 64\n";

std::vector<ptx::Module> modulesOf(const std::string& image) {
    std::vector<ptx::Module> modules;
    for (const std::string& text : linkedTexts(image)) modules.push_back(ptx::parse(text, "<link>"));
    return modules;
}

}  // namespace

void LinkedImage::expectPtx(const std::string& text) {
    modulesOf(text.substr(0, text.find('\0')));
}

void LinkedImage::add(std::string text) {
    text.resize(std::min(text.size(), text.find('\0')));
    std::string image = text_.empty() ? std::move(text) : text_ + std::string(kNextModule) + text;
    ptx::link(modulesOf(image));
    text_ = std::move(image);
}

void LinkedImage::complete(const std::function<void(ptx::Module&)>& provide) {
    if (text_.empty()) text_ = kEmptyModule;
    ptx::Module module = linkWithDeviceRuntime(modulesOf(text_));
    if (provide) provide(module);
    sim::lower(module);
}

std::vector<std::string> linkedTexts(const std::string& image) {
    std::vector<std::string> texts;
    for (std::size_t from = 0;;) {
        const std::size_t end = std::min(image.find(kNextModule, from), image.size());
        texts.push_back(image.substr(from, end - from));
        if (end == image.size()) return texts;
        from = end + kNextModule.size();
    }
}

}  // namespace bulkhead::driver
