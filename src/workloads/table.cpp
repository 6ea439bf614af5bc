#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/suggest.h"
#include "workloads/workload.h"

namespace bulkhead::workloads {

// Each is defined in the file that bears its name.
using Create = std::unique_ptr<Instance>(gpu::Context&, Size, std::uint64_t seed);

namespace {

constexpr std::size_t kKiB = 1024, kMiB = 1024 * 1024;

}  // namespace

const std::vector<Workload>& all() {
    static const std::vector<Workload> table = {};
    return table;
}

const Workload& find(std::string_view name) {
    const auto lower = [](std::string_view text) {
        std::string out(text);
        std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
        return out;
    };
    std::vector<std::string> names;
    for (const Workload& workload : all()) {
        if (lower(workload.name) == lower(name)) return workload;
        names.emplace_back(workload.name);
    }
    throw Error("no workload {}{}; `bulkhead workloads` lists them", name, didYouMean(name, names));
}

Size parseSize(std::string_view text) {
    for (const Size size : {Size::test, Size::standard, Size::paper})
        if (sizeName(size) == text) return size;
    throw Error("no size {}: a workload has the sizes test, default and paper", text);
}

std::string_view sizeName(Size size) {
    switch (size) {
        case Size::test:
            return "test";
        case Size::standard:
            return "default";
        case Size::paper:
            return "paper";
    }
    return "";
}

}  // namespace bulkhead::workloads
