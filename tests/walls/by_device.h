#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "walls/color_space.h"

namespace bulkhead::walls {

/// The real addresses of offsets in a space's window, by the PTX that kernels are given for them.
inline std::vector<std::uint64_t> byDevice(gpu::Gpu& gpu, ColorSpace& space, const std::vector<std::uint64_t>& offsets,
                                           bool looksFirst, Bytes constantBytes = 0) {
    const ptx::AccessTranslation t = space.translation(constantBytes);
    const std::string text =
        ".version 6.3\n.target sm_60\n.address_size 64\n" + t.constants +
        ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
        ".reg .pred %p; .reg .b32 %low, %high, %r; .reg .b64 %rd<4>, %a;\n" +
        t.declarations +
        "\nld.param.u64 %rd0, [in]; ld.param.u64 %rd1, [out]; mov.u32 %r, %ctaid.x; mul.wide.u32 %rd2, %r, 8;\n"
        "add.u64 %rd0, %rd0, %rd2; add.u64 %rd1, %rd1, %rd2; ld.global.u64 %a, [%rd0];\n"
        "mov.b64 {%low, %high}, %a; setp.eq.u32 %p, 0, 0;\n" +
        (t.seesBase ? "sub.u32 %high, %high, " + std::to_string(t.base / ptx::AccessTranslation::kAlignment) + ";\n"
                    : "") +
        t.translate({"%a", looksFirst ? "%p" : "", "%low", "%high"}) + "\nst.global.u64 [%rd1], %a; ret;\n}\n";
    gpu::Context& context = gpu.context();
    std::vector<std::uint64_t> addresses;
    for (const std::uint64_t offset : offsets) addresses.push_back(space.window() + offset);
    const auto in = context.array(addresses);
    const auto out = context.array<std::uint64_t>(offsets.size());
    context.makeCurrent();
    const driver::DriverApi& api = context.api();
    driver::CUmodule module = nullptr;
    driver::CUfunction kernel = nullptr;
    EXPECT_EQ(api.cuModuleLoadData(&module, text.c_str()), driver::CUDA_SUCCESS);
    space.loaded(module);
    EXPECT_EQ(api.cuModuleGetFunction(&kernel, module, "k"), driver::CUDA_SUCCESS);
    driver::CUdeviceptr from = in.address(), to = out.address();
    void* arguments[] = {&from, &to};
    EXPECT_EQ(api.cuLaunchKernel(kernel, static_cast<unsigned>(offsets.size()), 1, 1, 1, 1, 1, 0, nullptr, arguments,
                                 nullptr),
              driver::CUDA_SUCCESS);
    EXPECT_EQ(api.cuCtxSynchronize(), driver::CUDA_SUCCESS);
    space.unloaded(module);
    api.cuModuleUnload(module);
    return out.download();
}

}  // namespace bulkhead::walls
