#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <variant>

#include "runner.h"

// Kernels that Triton compiled, against what an H200 answered: see triton/make.py, which wrote both.

namespace bulkhead::sim {
namespace {

struct Input {
    std::string kind;
    std::uint64_t seed;
    std::size_t count;
};
struct Output {
    std::string kind;
    std::size_t count;
};
using Argument = std::variant<Input, Output, std::int32_t, float>;

struct Fixture {
    std::string name, kernel;
    Dim3 grid;
    unsigned warps, shared;
    std::vector<Argument> arguments;
    double tolerance = 0;  ///< relative; 0: bit for bit. ex2.approx and the like are not hardware's to the last bit
};

std::vector<Fixture> fixtures() {
    const auto product = [](const std::string& kind, const std::string& out, std::int32_t m, std::int32_t n,
                            std::int32_t k, Dim3 grid, unsigned warps, unsigned shared) {
        const auto count = [](std::int32_t rows, std::int32_t columns) {
            return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
        };
        return Fixture{"product_" + (kind == "f32" ? "tf32" : kind),
                       "product_kernel",
                       grid,
                       warps,
                       shared,
                       {Input{kind, 7, count(m, k)}, Input{kind, 8, count(k, n)}, Output{out, count(m, n)}, m, n, k}};
    };
    return {
        {"vector_add",
         "add_kernel",
         {5},
         4,
         0,
         {Input{"f32", 1, 5000}, Input{"f32", 2, 5000}, Output{"f32", 5000}, 5000}},
        {"softmax", "softmax_kernel", {16}, 4, 16, {Input{"f32", 3, 3200}, Output{"f32", 3200}, 200, 200}, 1e-6},
        {"layer_norm",
         "norm_kernel",
         {16},
         4,
         16,
         {Input{"f16", 4, 6144}, Input{"f32", 5, 384}, Input{"f32", 6, 384}, Output{"f32", 6144}, 384, 1e-5f},
         2e-6},
        {"flash_attention",
         "attention_kernel",
         {2, 2},
         4,
         40960,
         {Input{"f16", 9, 16384}, Input{"f16", 10, 16384}, Input{"f16", 11, 16384}, Output{"f16", 16384}, 0.18033688f,
          128},
         1e-3},
        {"mixture_of_experts",
         "experts_kernel",
         {4, 2},
         4,
         8192,
         {Input{"bf16", 12, 12288}, Input{"bf16", 13, 32768}, Input{"below96", 14, 128}, Input{"below4", 15, 4},
          Output{"f32", 8192}, 128, 64}},
        product("f16", "f16", 128, 128, 256, {2, 2}, 4, 49152),
        product("bf16", "f32", 256, 128, 128, {2, 1}, 8, 98304),
        product("e4m3", "f32", 128, 64, 256, {2, 1}, 4, 16384),
        product("i8", "i32", 128, 64, 256, {2, 1}, 4, 16384),
        product("f32", "f32", 64, 64, 64, {1, 1}, 4, 32768),
    };
}

std::uint64_t randomWord(std::uint64_t seed, std::size_t index) {
    std::uint64_t z = (index + (seed << 32) + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

std::vector<std::uint8_t> bytesOf(const Input& input) {
    std::vector<std::uint8_t> bytes;
    for (std::size_t i = 0; i < input.count; ++i) {
        const std::uint64_t r = randomWord(input.seed, i), size = r >> 32 & 3;
        std::uint64_t value = 0;
        unsigned width = 4;
        if (input.kind == "f32") {
            value = (r & 0x80000000) | (124 + size) << 23 | (r & 0x7fffff);
        } else if (input.kind == "f16") {
            value = (r & 0x8000) | (12 + size) << 10 | (r & 0x3ff);
            width = 2;
        } else if (input.kind == "bf16") {
            value = (r & 0x8000) | (124 + size) << 7 | (r & 0x7f);
            width = 2;
        } else if (input.kind == "e4m3") {
            value = r & 0xbf;
            width = 1;
        } else if (input.kind == "i8") {
            value = r & 0xff;
            width = 1;
        } else {
            value = r % std::stoul(input.kind.substr(5));  // below96
        }
        for (unsigned b = 0; b < width; ++b) bytes.push_back(static_cast<std::uint8_t>(value >> (8 * b)));
    }
    return bytes;
}

std::string textOf(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    EXPECT_TRUE(file) << path;
    return {std::istreambuf_iterator<char>(file), {}};
}

double valueAt(const std::string& kind, const std::uint8_t* bytes, std::size_t index) {
    if (kind == "f16") {
        std::uint16_t bits;
        std::memcpy(&bits, bytes + 2 * index, 2);
        const int exponent = bits >> 10 & 31;
        const double magnitude = std::ldexp((bits & 0x3ff) | (exponent ? 0x400 : 0), (exponent ? exponent : 1) - 25);
        return bits & 0x8000 ? -magnitude : magnitude;
    }
    float value;
    std::memcpy(&value, bytes + 4 * index, 4);
    return value;
}

class Triton : public testing::TestWithParam<std::tuple<Fixture, Loads>> {};

TEST_P(Triton, answersAsHardware) {
    const auto& [fixture, loads] = GetParam();
    const std::filesystem::path folder =
        std::filesystem::path(BULKHEAD_SOURCE_DIR) / "tests/exec/triton" / fixture.name;
    Runner runner(textOf(folder / (fixture.kernel + ".ptx")), loads);
    const Code* const code = runner.program->kernel(fixture.kernel);
    ASSERT_NE(code, nullptr);
    std::vector<std::uint8_t> params(code->kernelParamBytes);  // Triton's own scratch pointers, at the end, are null
    const auto put = [&](std::size_t index, auto value) {
        std::memcpy(params.data() + code->params.at(index).offset, &value, sizeof value);
    };
    VirtualAddress out = 0;
    Output output;
    for (std::size_t i = 0; i < fixture.arguments.size(); ++i) {
        if (const auto* in = std::get_if<Input>(&fixture.arguments[i])) {
            put(i, runner.upload(bytesOf(*in)));
        } else if (const auto* result = std::get_if<Output>(&fixture.arguments[i])) {
            output = *result;
            out = runner.allocate(output.count * 4);
            put(i, out);
        } else if (const auto* number = std::get_if<std::int32_t>(&fixture.arguments[i])) {
            put(i, *number);
        } else {
            put(i, std::get<float>(fixture.arguments[i]));
        }
    }
    runner.run(fixture.kernel, {fixture.grid, {32 * fixture.warps}, fixture.shared}, std::move(params));
    const std::string expected = textOf(folder / "h200.bin");
    const std::vector<std::uint8_t> got = runner.download<std::uint8_t>(out, expected.size());
    if (fixture.tolerance == 0) {
        EXPECT_EQ(std::memcmp(got.data(), expected.data(), expected.size()), 0);
        return;
    }
    const auto* const theirs = reinterpret_cast<const std::uint8_t*>(expected.data());
    int shown = 0;
    for (std::size_t i = 0; i < output.count && shown < 5; ++i) {
        const double ours = valueAt(output.kind, got.data(), i), hardware = valueAt(output.kind, theirs, i);
        if (std::abs(ours - hardware) <= fixture.tolerance * std::max(std::abs(hardware), 0.1)) continue;
        ADD_FAILURE() << "element " << i << " is " << ours << ", on hardware " << hardware;
        ++shown;
    }
}

INSTANTIATE_TEST_SUITE_P(Fixtures, Triton,
                         testing::Combine(testing::ValuesIn(fixtures()),
                                          testing::Values(Loads::asWritten, Loads::assembled)),
                         [](const auto& info) {
                             return std::get<0>(info.param).name +
                                    (std::get<1>(info.param) == Loads::assembled ? "_assembled" : "");
                         });

}  // namespace
}  // namespace bulkhead::sim
