#include "gpu/real_driver.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/error.h"

namespace bulkhead::gpu {
namespace {

std::string errorWith(const char* library) {
    setenv("BULKHEAD_LIBCUDA", library, 1);
    std::string message;
    try {
        realDriver();  // a failed load is tried again at the next call
    } catch (const Error& e) {
        message = e.what();
    }
    unsetenv("BULKHEAD_LIBCUDA");
    return message;
}

TEST(RealDriver, aMissingDriverIsOneClearLine) {
    EXPECT_EQ(errorWith("/nonexistent/libcuda.so.1"), "no NVIDIA driver: /nonexistent/libcuda.so.1 cannot be loaded");
}

TEST(RealDriver, aDriverThatLacksACallIsTooOld) {
    EXPECT_EQ(errorWith("libm.so.6"), "the NVIDIA driver is too old: libm.so.6 has no cuInit");
}

}  // namespace
}  // namespace bulkhead::gpu
