#include <gtest/gtest.h>

#include "runner.h"

namespace bulkhead::sim {
namespace {

std::string refusalOf(const std::string& instruction) {
    try {
        Runner r(kernelWith(instruction));
    } catch (const Error& error) {
        return error.what();
    }
    return "accepted";
}

TEST(ImageRefusals, NameWhatIsNotSupported) {
    const std::pair<const char*, const char*> cases[] = {
        {"tex.2dms.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1, %r2, %r3, %r4}];", "'.2dms' is not supported for tex"},
        {"tex.2d.v2.f16x2.f32 {%r1, %r2}, [%rd1, {%f1, %f2}];", "'.v2' is not supported for tex"},
        {"tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, %rd2, {%f1, %f2}];",
         "a sampler apart from its texture is not supported"},
        {"tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f1}];", "2 coordinates expected, 1 given"},
        {"tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%r1, {%f1, %f2}];", "the handle is a 64-bit register"},
        {"tld4.r.3d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f1, %f2, %f3, %f3}];", "'.3d' is not supported for tld4"},
        {"txq.memory_layout.b32 %r1, [%rd1];", "txq does not know '.memory_layout'"},
        {"suld.b.2d.v4.b64.trap {%rd1, %rd2, %rd3, %rd4}, [%rd1, {%r1, %r2}];",
         "surfaces have no texels of more than 16 bytes"},
        {"sured.b.xor.2d.b32.trap [%rd1, {%r1, %r2}], %r3;", "'.xor' is not supported for sured"},
        {"sured.b.add.a2d.u32.trap [%rd1, {%r1, %r2, %r3, %r3}], %r3;", "'.a2d' is not supported for sured"},
    };
    for (const auto& [instruction, why] : cases)
        EXPECT_NE(refusalOf(instruction).find(why), std::string::npos) << refusalOf(instruction);
}

TEST(ImageRefusals, AHandleThatIsNoneEndsTheLaunch) {
    Runner r(kernelWith("mov.u64 %rd1, 77; tex.1d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [%rd1, {%r1}];"));
    try {
        r.launch("k", {{}, {32}}, r.allocate(256));
        FAIL();
    } catch (const LaunchError& error) {
        EXPECT_NE(std::string(error.what()).find("0x4d is no texture object"), std::string::npos) << error.what();
    }
}

}  // namespace
}  // namespace bulkhead::sim
