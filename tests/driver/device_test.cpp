#include "support.h"

namespace bulkhead::driver {
namespace {

class Devices : public DriverTest {
  protected:
    int attribute(DeviceAttribute which) const {
        int value = -1;
        EXPECT_EQ(api.cuDeviceGetAttribute(&value, static_cast<int>(which), device), CUDA_SUCCESS);
        return value;
    }
};

TEST_F(Devices, attributesAreTheProfilesFigures) {
    // GeForce GTX 1080: 20 SMs at 1607 MHz, compute capability 6.1, 2 MB of L2, a 256-bit bus.
    EXPECT_EQ(attribute(DeviceAttribute::sms), 20);
    EXPECT_EQ(attribute(DeviceAttribute::clockRateKHz), 1'607'000);
    EXPECT_EQ(attribute(DeviceAttribute::computeMajor), 6);
    EXPECT_EQ(attribute(DeviceAttribute::computeMinor), 1);
    EXPECT_EQ(attribute(DeviceAttribute::l2Bytes), 2 << 20);
    EXPECT_EQ(attribute(DeviceAttribute::maxThreadsPerSm), 2048);
    EXPECT_EQ(attribute(DeviceAttribute::singleToDoubleRatio), 32);
    EXPECT_EQ(attribute(DeviceAttribute::warpSize), 32);
}

TEST_F(Devices, anUnknownAttributeIsABadValue) {
    int value = 0;
    EXPECT_EQ(api.cuDeviceGetAttribute(&value, 9999, device), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuDeviceGetAttribute(nullptr, 1, device), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuDeviceGetAttribute(&value, 1, device + 1000), CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(Devices, aDeviceIsFoundByItsPciAddress) {
    char id[32] = {};
    ASSERT_EQ(api.cuDeviceGetPCIBusId(id, sizeof id, device), CUDA_SUCCESS);
    CUdevice found = -1;
    EXPECT_EQ(api.cuDeviceGetByPCIBusId(&found, id), CUDA_SUCCESS);
    EXPECT_EQ(found, device);
    EXPECT_EQ(api.cuDeviceGetByPCIBusId(&found, "nonsense"), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuDeviceGetByPCIBusId(&found, "0000:ff:00.0"), CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(Devices, twoDevicesHaveDifferentIdentities) {
    const CUdevice other = simulatorApi().addDevice(profile(), {});
    CUuuid a = {}, b = {};
    EXPECT_EQ(api.cuDeviceGetUuid(&a, device), CUDA_SUCCESS);
    EXPECT_EQ(api.cuDeviceGetUuid(&b, other), CUDA_SUCCESS);
    EXPECT_NE(std::memcmp(&a, &b, sizeof a), 0);
    simulatorApi().removeDevice(other);
}

TEST_F(Devices, aRemovedDeviceIsGoneAndTheOthersAreCounted) {
    int before = 0, with = 0, after = 0;
    api.cuDeviceGetCount(&before);
    const CUdevice other = simulatorApi().addDevice(profile(), {});
    api.cuDeviceGetCount(&with);
    simulatorApi().removeDevice(other);
    api.cuDeviceGetCount(&after);
    EXPECT_EQ(with, before + 1);
    EXPECT_EQ(after, before);
    std::size_t bytes = 0;
    EXPECT_EQ(api.cuDeviceTotalMem(&bytes, other), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_EQ(simulatorApi().machine(other), nullptr);
}

TEST_F(Devices, oneThatIsRemovedAtWorkSimulatesNoMoreOfIt) {
    struct Watch : sim::Observer {
        void launchEnded(Cycles at, std::uint32_t) override { ended = at; }
        Cycles ended = 0;
    } watch;
    sim::Machine::Options options;
    options.observer = &watch;
    const CUdevice other = simulatorApi().addDevice(profile(), options);
    CUcontext made = nullptr;
    CUmodule kernels = nullptr;
    CUfunction spin = nullptr;
    ASSERT_EQ(api.cuCtxCreate(&made, 0, other), CUDA_SUCCESS);
    ASSERT_EQ(api.cuModuleLoadData(&kernels, kKernels), CUDA_SUCCESS);
    ASSERT_EQ(api.cuModuleGetFunction(&spin, kernels, "spin"), CUDA_SUCCESS);
    CUdeviceptr p = allocate(4);
    unsigned rounds = 1'000'000;
    void* parameters[] = {&p, &rounds};
    ASSERT_EQ(api.cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(api.cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY);
    const Cycles now = simulatorApi().machine(other)->now();
    simulatorApi().removeDevice(other);
    api.cuCtxPopCurrent(nullptr);
    EXPECT_EQ(watch.ended, now);
}

TEST_F(Devices, everyResultHasItsNameAndText) {
    // The numbers of the driver's interface, which programs compare with.
    const std::pair<int, const char*> some[] = {{0, "CUDA_SUCCESS"},
                                                {2, "CUDA_ERROR_OUT_OF_MEMORY"},
                                                {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
                                                {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
                                                {720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"},
                                                {999, "CUDA_ERROR_UNKNOWN"}};
    for (const auto& [code, expected] : some) {
        const char* name = nullptr;
        EXPECT_EQ(api.cuGetErrorName(code, &name), CUDA_SUCCESS);
        EXPECT_STREQ(name, expected);
    }
    const char* text = "unchanged";
    EXPECT_EQ(api.cuGetErrorString(12345, &text), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(text, nullptr);
}

TEST_F(Devices, noCallOfTheTableIsMissing) {
#define BULKHEAD_EXPECT_CALL(name, symbol, variant, parameters, arguments) EXPECT_NE(api.name, nullptr) << #name;
    BULKHEAD_DRIVER_CALLS(BULKHEAD_EXPECT_CALL)
#undef BULKHEAD_EXPECT_CALL
}

TEST_F(Devices, aCallIsFoundByNameInTheVersionThatAProgramKnows) {
    const auto find = [&](const char* name, int version, std::uint64_t flags = 0) {
        void* address = nullptr;
        EXPECT_EQ(api.cuGetProcAddress_v2(name, &address, version, flags, nullptr), CUDA_SUCCESS) << name;
        return address;
    };
    EXPECT_EQ(find("cuMemAlloc", 12000), reinterpret_cast<void*>(api.cuMemAlloc));
    EXPECT_EQ(find("cuCtxCreate", 11000), reinterpret_cast<void*>(api.cuCtxCreate));
    EXPECT_EQ(find("cuCtxCreate", 13000), reinterpret_cast<void*>(api.cuCtxCreate_v4));
    EXPECT_NE(find("cuLaunchKernel", 12000, 2), reinterpret_cast<void*>(api.cuLaunchKernel));
    EXPECT_EQ(find("cuMemAlloc", 12000, 2), reinterpret_cast<void*>(api.cuMemAlloc));
    void* address = &address;
    int status = -1;
    EXPECT_EQ(api.cuGetProcAddress_v2("cuNoSuchCall", &address, 13000, 0, &status), CUDA_ERROR_NOT_FOUND);
    EXPECT_EQ(address, nullptr);
    EXPECT_EQ(status, 1);
}

}  // namespace
}  // namespace bulkhead::driver
