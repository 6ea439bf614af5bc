// Launches that may start early, and events that kernels trigger.

#include "support.h"

namespace bulkhead::driver {
namespace {

/// `first` lets dependents start, computes for a while and writes 7; `second` says what it finds at once and behind its
/// wait.
const char* const kPair = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry first(.param .u64 p)
{
    .reg .pred %q; .reg .b32 %r<4>; .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [p]; griddepcontrol.launch_dependents; mov.u32 %r1, 40000;
L:  sub.u32 %r1, %r1, 1; setp.ne.u32 %q, %r1, 0; @%q bra L; mov.u32 %r2, 7; st.global.u32 [%rd1], %r2; ret;
}
.visible .entry second(.param .u64 p)
{
    .reg .b32 %r<4>; .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [p]; ld.global.u32 %r1, [%rd1]; griddepcontrol.wait; ld.volatile.global.u32 %r2, [%rd1];
    st.global.u32 [%rd1+4], %r1; st.global.u32 [%rd1+8], %r2; ret;
}
)";

class DependentLaunches : public DriverTest {
  protected:
    arch::DeviceProfile profile() const override { return arch::findProfile("h200"); }
    void SetUp() override {
        DriverTest::SetUp();
        ASSERT_EQ(api.cuModuleLoadData(&pair, kPair), CUDA_SUCCESS);
        words = allocate(12);
        ASSERT_EQ(api.cuMemsetD8(words, 0, 12), CUDA_SUCCESS);
    }
    CUresult start(const char* name, std::vector<CUlaunchAttribute> attributes, CUstream stream = nullptr) {
        CUfunction function = nullptr;
        EXPECT_EQ(api.cuModuleGetFunction(&function, pair, name), CUDA_SUCCESS);
        const CUlaunchConfig config = {
            1, 1, 1, 32, 1, 1, 0, stream, attributes.data(), static_cast<unsigned>(attributes.size())};
        void* parameters[] = {&words};
        return api.cuLaunchKernelEx(&config, function, parameters, nullptr);
    }
    static CUlaunchAttribute early(int allowed) {
        CUlaunchAttribute attribute = {};
        attribute.id = 6;
        attribute.value.programmaticStreamSerializationAllowed = allowed;
        return attribute;
    }
    static CUlaunchAttribute triggers(CUevent event, int atStart = 0) {
        CUlaunchAttribute attribute = {};
        attribute.id = 7;
        attribute.value.programmaticEvent = {event, 0, atStart};
        return attribute;
    }
    CUevent event(unsigned flags) {
        CUevent made = nullptr;
        EXPECT_EQ(api.cuEventCreate(&made, flags), CUDA_SUCCESS);
        return made;
    }
    /// What `second` found at once, and behind its wait.
    std::pair<std::uint32_t, std::uint32_t> found() {
        const auto all = download<std::uint32_t>(words, 3);
        return {all[1], all[2]};
    }

    static constexpr unsigned kUntimed = 2;
    CUmodule pair = nullptr;
    CUdeviceptr words = 0;
};

TEST_F(DependentLaunches, beginBeforeTheOneBeforeHasEnded) {
    ASSERT_EQ(start("first", {}), CUDA_SUCCESS);
    ASSERT_EQ(start("second", {early(1)}), CUDA_SUCCESS);
    EXPECT_EQ(found(), (std::pair{0u, 7u}));
}

TEST_F(DependentLaunches, waitWhereItIsNotAllowed) {
    ASSERT_EQ(start("first", {}), CUDA_SUCCESS);
    ASSERT_EQ(start("second", {early(0)}), CUDA_SUCCESS);
    EXPECT_EQ(found(), (std::pair{7u, 7u}));
}

TEST_F(DependentLaunches, ofAnotherStreamFollowTheEventThatAKernelTriggers) {
    CUstream other = nullptr;
    ASSERT_EQ(api.cuStreamCreate(&other, 1), CUDA_SUCCESS);
    CUevent let = event(kUntimed);
    ASSERT_EQ(start("first", {triggers(let)}), CUDA_SUCCESS);
    ASSERT_EQ(api.cuStreamWaitEvent(other, let, 0), CUDA_SUCCESS);
    ASSERT_EQ(start("second", {}, other), CUDA_SUCCESS);
    ASSERT_EQ(api.cuStreamSynchronize(other), CUDA_SUCCESS);
    EXPECT_EQ(found(), (std::pair{0u, 7u}));
    EXPECT_EQ(api.cuEventQuery(let), CUDA_SUCCESS);
}

TEST_F(DependentLaunches, triggerEventsAtTheirStart) {
    CUevent begun = event(kUntimed);
    ASSERT_EQ(start("second", {triggers(begun, 1)}), CUDA_SUCCESS);
    EXPECT_EQ(api.cuEventSynchronize(begun), CUDA_SUCCESS);
}

TEST_F(DependentLaunches, triggerNoEventsWithTiming) {
    EXPECT_EQ(start("first", {triggers(event(0))}), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DependentLaunches, areNotCapturedWithEvents) {
    CUstream stream = nullptr;
    ASSERT_EQ(api.cuStreamCreate(&stream, 1), CUDA_SUCCESS);
    ASSERT_EQ(api.cuStreamBeginCapture(stream, 0), CUDA_SUCCESS);
    EXPECT_EQ(start("first", {triggers(event(kUntimed))}, stream), CUDA_ERROR_NOT_SUPPORTED);
    CUgraph graph = nullptr;
    api.cuStreamEndCapture(stream, &graph);
}

}  // namespace
}  // namespace bulkhead::driver
