#include <gtest/gtest.h>

#include <cstddef>

#include "sdk/include/driver_types.h"

namespace {

TEST(Abi, PropertiesLieWherePublishedOffsetsSay) {
    EXPECT_EQ(sizeof(cudaDeviceProp), 1008u);
    EXPECT_EQ(offsetof(cudaDeviceProp, major), 360u);
    EXPECT_EQ(offsetof(cudaDeviceProp, multiProcessorCount), 384u);
}

// Pointers and sizes have 8 bytes, numbers and enumerations 4; a structure of both is padded to a multiple of 8.
TEST(Abi, StructuresHaveTheSizesThatProgramsWereCompiledWith) {
    constexpr std::size_t pitched = 4 * 8, extent = 3 * 8, position = 3 * 8;
    constexpr std::size_t side = 8 + position + pitched;
    EXPECT_EQ(sizeof(dim3), 3 * 4u);
    EXPECT_EQ(sizeof(cudaPitchedPtr), pitched);
    EXPECT_EQ(sizeof(cudaMemcpy3DParms), 2 * side + extent + 8);
    EXPECT_EQ(sizeof(cudaMemcpy3DPeerParms), 2 * (side + 8) + extent);
    EXPECT_EQ(sizeof(cudaLaunchConfig_t), 2 * 12 + 8 + 8 + 8 + 8u);
    EXPECT_EQ(sizeof(cudaFuncAttributes), 3 * 8 + (13 + 16) * 4 + 4u);
    EXPECT_EQ(sizeof(cudaPointerAttributes), 4 + 4 + 2 * 8 + 8 * 8u);
    EXPECT_EQ(sizeof(cudaChannelFormatDesc), 5 * 4u);
}

}  // namespace
