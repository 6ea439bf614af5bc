#include "libcuda/kernel_name.h"

#include <gtest/gtest.h>

namespace bulkhead::libcuda {
namespace {

TEST(KernelName, IsWithoutItsParametersInAColumn) {
    EXPECT_EQ(shortName("_Z5scaleIfEvPT_i"), "scale<float>");
    EXPECT_EQ(shortName("_ZN1a3addEPii"), "a::add");
    EXPECT_EQ(shortName("plain"), "plain");
}

TEST(KernelName, InANamelessScopeIsItsOwn) {
    EXPECT_EQ(shortName("_ZN12_GLOBAL__N_13addEPfPKfS2_j"), "add");
    EXPECT_EQ(shortName("_ZN1a12_GLOBAL__N_15scaleIfEEvPT_"), "a::scale<float>");
}

TEST(KernelName, KeepsItsParenthesesInArguments) {
    // void apply<void (*)(int)>(void (*)(int))
    EXPECT_EQ(shortName("_Z5applyIPFviEEvT_"), "apply<void (*)(int)>");
}

TEST(KernelName, OfALibraryOfTemplatesIsTheFunctionsOwn) {
    const std::string name = shortName(
        "_ZN3cub6detail4scan16DeviceScanKernelINS1_10policy_hubIiiijE10Policy1000EPiS5_NS_13ScanTileStateIiLb1EEEEEvT0_"
        "T1_"
        "T2_i");
    EXPECT_TRUE(name.starts_with("DeviceScanKernel<cub::detail::scan::policy_hub<int")) << name;
    EXPECT_EQ(name.size(), 60u);
    EXPECT_TRUE(name.ends_with("...")) << name;
}

}  // namespace
}  // namespace bulkhead::libcuda
