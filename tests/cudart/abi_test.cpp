#include "cudart/abi.h"

#include <gtest/gtest.h>

#include <cstddef>

#ifdef BULKHEAD_HAS_CUDA_HEADERS
#include <cuda_runtime_api.h>
#endif

namespace {

namespace ours = bulkhead::cudart;

TEST(Abi, PropertiesLieWherePublishedOffsetsSay) {
    EXPECT_EQ(sizeof(ours::DeviceProperties), 1008u);
    EXPECT_EQ(offsetof(ours::DeviceProperties, major), 360u);
    EXPECT_EQ(offsetof(ours::DeviceProperties, multiProcessorCount), 384u);
}

#ifdef BULKHEAD_HAS_CUDA_HEADERS

#define EXPECT_SAME_PLACE(ourType, ourField, theirType, theirField) \
    EXPECT_EQ(offsetof(ours::ourType, ourField), offsetof(theirType, theirField))
#define EXPECT_SAME_PROPERTY(field) EXPECT_SAME_PLACE(DeviceProperties, field, cudaDeviceProp, field)

TEST(Abi, PropertiesLieAsInNvidiasHeader) {
    EXPECT_EQ(sizeof(ours::DeviceProperties), sizeof(cudaDeviceProp));
    EXPECT_SAME_PROPERTY(uuid);
    EXPECT_SAME_PROPERTY(totalGlobalMem);
    EXPECT_SAME_PROPERTY(sharedMemPerBlock);
    EXPECT_SAME_PROPERTY(maxThreadsDim);
    EXPECT_SAME_PROPERTY(totalConstMem);
    EXPECT_SAME_PROPERTY(maxTexture3DAlt);
    EXPECT_SAME_PROPERTY(surfaceAlignment);
    EXPECT_SAME_PROPERTY(l2CacheSize);
    EXPECT_SAME_PROPERTY(maxThreadsPerMultiProcessor);
    EXPECT_SAME_PROPERTY(sharedMemPerMultiprocessor);
    EXPECT_SAME_PROPERTY(cooperativeLaunch);
    EXPECT_SAME_PROPERTY(sharedMemPerBlockOptin);
    EXPECT_SAME_PROPERTY(reservedSharedMemPerBlock);
    EXPECT_SAME_PROPERTY(memoryPoolsSupported);
    EXPECT_SAME_PROPERTY(clusterLaunch);
    EXPECT_SAME_PROPERTY(hostNumaMultinodeIpcSupported);
}

TEST(Abi, OtherStructuresLieAsInNvidiasHeader) {
    EXPECT_EQ(sizeof(ours::Copy3D), sizeof(cudaMemcpy3DParms));
    EXPECT_SAME_PLACE(Copy3D, toArray, cudaMemcpy3DParms, dstArray);
    EXPECT_SAME_PLACE(Copy3D, extent, cudaMemcpy3DParms, extent);
    EXPECT_SAME_PLACE(Copy3D, kind, cudaMemcpy3DParms, kind);
    EXPECT_SAME_PLACE(PeerCopy3D, toDevice, cudaMemcpy3DPeerParms, dstDevice);
    EXPECT_EQ(sizeof(ours::FunctionAttributes), sizeof(cudaFuncAttributes));
    EXPECT_SAME_PLACE(FunctionAttributes, maxDynamicSharedBytes, cudaFuncAttributes, maxDynamicSharedSizeBytes);
    EXPECT_SAME_PLACE(FunctionAttributes, nonPortableCluster, cudaFuncAttributes, nonPortableClusterSizeAllowed);
    EXPECT_EQ(sizeof(ours::PointerAttributes), sizeof(cudaPointerAttributes));
    EXPECT_SAME_PLACE(PointerAttributes, hostPointer, cudaPointerAttributes, hostPointer);
    EXPECT_EQ(sizeof(ours::LaunchConfig), sizeof(cudaLaunchConfig_t));
    EXPECT_SAME_PLACE(LaunchConfig, stream, cudaLaunchConfig_t, stream);
    EXPECT_SAME_PLACE(LaunchConfig, attributeCount, cudaLaunchConfig_t, numAttrs);
}

TEST(Abi, CodesAreNvidias) {
    EXPECT_EQ(static_cast<int>(ours::kInvalidSymbol), cudaErrorInvalidSymbol);
    EXPECT_EQ(static_cast<int>(ours::kInvalidPitchValue), cudaErrorInvalidPitchValue);
    EXPECT_EQ(static_cast<int>(ours::kInvalidMemcpyDirection), cudaErrorInvalidMemcpyDirection);
    EXPECT_EQ(static_cast<int>(ours::kInsufficientDriver), cudaErrorInsufficientDriver);
    EXPECT_EQ(static_cast<int>(ours::kMissingConfiguration), cudaErrorMissingConfiguration);
    EXPECT_EQ(static_cast<int>(ours::kInvalidDeviceFunction), cudaErrorInvalidDeviceFunction);
    EXPECT_EQ(static_cast<int>(ours::kNotSupported), cudaErrorNotSupported);
    EXPECT_EQ(static_cast<int>(ours::CopyKind::fromPointers), cudaMemcpyDefault);
    EXPECT_EQ(static_cast<int>(ours::MemoryType::managed), cudaMemoryTypeManaged);
}

#else

TEST(Abi, StructuresLieAsInNvidiasHeader) {
    GTEST_SKIP() << "NVIDIA's headers are not installed";
}

#endif

}  // namespace
