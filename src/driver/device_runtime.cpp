#include "driver/device_runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "driver/device_heap.h"
#include "ptx/link.h"

namespace bulkhead::driver {
namespace {

constexpr const char* kSetConditional = "cudaGraphSetConditional";

/// Writes the condition's word. A handle of another driver's means nothing here, and ends the kernel.
std::string setConditional() {
    return fmt::format(R"(.version 6.0
.target sm_30
.address_size 64
.visible .func {}(.param .b64 handle, .param .b32 value)
{{
    .reg .pred %p1; .reg .b32 %r1; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [handle];
    ld.param.u32 %r1, [value];
    shr.u64 %rd2, %rd1, {};
    setp.ne.u64 %p1, %rd2, {};
    @%p1 trap;
    and.b64 %rd3, %rd1, {};
    st.volatile.global.u32 [%rd3], %r1;
    ret;
}}
)",
                       kSetConditional, kConditionMarkBit, kConditionMark >> kConditionMarkBit,
                       (CUgraphConditionalHandle{1} << kConditionMarkBit) - 1);
}

bool lacks(const std::vector<ptx::Module>& modules, std::string_view name) {
    bool isDeclared = false, isDefined = false;
    for (const ptx::Module& module : modules)
        for (const ptx::Function& function : module.functions)
            if (function.name == name) (function.isExtern ? isDeclared : isDefined) = true;
    return isDeclared && !isDefined;
}

}  // namespace

ptx::Module linkWithDeviceRuntime(std::vector<ptx::Module> modules) {
    if (lacks(modules, kSetConditional)) modules.push_back(ptx::parse(setConditional(), "<device runtime>"));
    if (lacks(modules, "malloc") || lacks(modules, "free")) modules.push_back(deviceHeapCode());
    return ptx::link(std::move(modules));
}

}  // namespace bulkhead::driver
