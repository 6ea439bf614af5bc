#include "calibrate/measurement.h"

namespace bulkhead::calibrate {

/// What the driver says. It reserves shared memory of each block where it says so.
void measureAttributes(Session& s) {
    using A = driver::DeviceAttribute;
    Bench& b = s.bench();
    const auto tell = [&](const char* key, A attribute) { s.found(key, b.attribute(attribute)); };
    tell("compute.major", A::computeMajor);
    tell("compute.minor", A::computeMinor);
    tell("sm.count", A::sms);
    tell("sm.maxThreads", A::maxThreadsPerSm);
    tell("sm.maxBlocks", A::maxBlocksPerSm);
    tell("sm.maxThreadsPerBlock", A::maxThreadsPerBlock);
    tell("sm.registers", A::registersPerSm);
    tell("sm.sharedBytes", A::sharedBytesPerSm);
    tell("sm.maxSharedPerBlock", A::sharedBytesPerBlockOptIn);
    s.found("clock.memoryMHz", b.attribute(A::memoryClockKHz) / 1e3);
    s.foundOther("L2 as the driver reports it", b.attribute(A::l2Bytes), "B");
}

}  // namespace bulkhead::calibrate
