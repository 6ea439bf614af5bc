#pragma once

#include <string>
#include <vector>

#include "walls/color_space.h"

namespace bulkhead::walls {

/// The real addresses of offsets in a space's window, by the PTX that kernels are given for them.
inline std::vector<std::uint64_t> byDevice(gpu::Gpu& gpu, const ColorSpace& space,
                                           const std::vector<std::uint64_t>& offsets, bool looksFirst,
                                           Bytes constantBytes = 0) {
    const ptx::AccessTranslation t = space.translation(constantBytes);
    const std::string text =
        ".version 6.3\n.target sm_60\n.address_size 64\n" + t.constants +
        ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
        ".reg .pred %p; .reg .b32 %low, %high, %r; .reg .b64 %rd<4>, %a;\n" +
        t.declarations +
        "\nld.param.u64 %rd0, [in]; ld.param.u64 %rd1, [out]; mov.u32 %r, %ctaid.x; mul.wide.u32 %rd2, %r, 8;\n"
        "add.u64 %rd0, %rd0, %rd2; add.u64 %rd1, %rd1, %rd2; ld.global.u64 %a, [%rd0];\n"
        "mov.b64 {%low, %high}, %a; setp.eq.u32 %p, 0, 0;\n" +
        t.translate({"%a", looksFirst ? "%p" : "", "%low", "%high"}) + "\nst.global.u64 [%rd1], %a; ret;\n}\n";
    gpu::Context& context = gpu.context();
    gpu::Kernel kernel = context.load(text.c_str()).kernel("k");
    const auto in = context.array(offsets);
    const auto out = context.array<std::uint64_t>(offsets.size());
    gpu::Stream stream = context.createStream();
    kernel.launch(stream, {static_cast<unsigned>(offsets.size())}, {1}, 0, in, out);
    stream.synchronize();
    return out.download();
}

}  // namespace bulkhead::walls
