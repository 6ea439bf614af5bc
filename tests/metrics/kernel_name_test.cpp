#include "metrics/kernel_name.h"

#include <gtest/gtest.h>

namespace bulkhead::metrics {
namespace {

TEST(KernelName, parametersAndResultAreLeftOut) {
    EXPECT_EQ(kernelName("vectorAdd"), "vectorAdd");
    EXPECT_EQ(kernelName("vectorAdd(const float *, const float *, float *, int)"), "vectorAdd");
    EXPECT_EQ(kernelName("void scale<float>(T1 *, int)"), "scale<float>");
}

TEST(KernelName, aMangledNameIsThatOfItsSource) {
    EXPECT_EQ(kernelName("_Z5scaleIfEvPT_i"), "scale<float>");
    EXPECT_EQ(kernelName("_ZN1a1kEv"), "a::k");
}

TEST(KernelName, templateArgumentsReadTheSameInBothSpellings) {
    // template <int n, bool b, unsigned m> __global__ void tile(float*): Nsight Compute's, then the C++ ABI's.
    EXPECT_EQ(kernelName("void tile<(int)32, (bool)1, (unsigned int)4>(float *)"), "tile<32,1,4>");
    EXPECT_EQ(kernelName("_Z4tileILi32ELb1ELj4EEvPf"), "tile<32,1,4>");
    EXPECT_EQ(kernelName("void reduce<std::pair<int, float>, 2u>(int)"), "reduce<std::pair<int,float>,2>");
}

TEST(KernelName, anUnnamedNamespaceHasOneName) {
    EXPECT_EQ(kernelName("_ZN12_GLOBAL__N_14fillEPf"), kernelName("<unnamed>::fill(float *)"));
}

TEST(KernelName, nonsenseStaysSomething) {
    EXPECT_EQ(kernelName(""), "");
    EXPECT_EQ(kernelName("_Znonsense"), "_Znonsense");
    EXPECT_EQ(kernelName("a<("), "a<(");
}

}  // namespace
}  // namespace bulkhead::metrics
