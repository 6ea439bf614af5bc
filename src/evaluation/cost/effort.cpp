#include "evaluation/cost/effort.h"

#include <limits>

namespace bulkhead::evaluation::cost {

Effort Effort::forGpu(gpu::Gpu& gpu) {
    Effort real = {};
    real.warmUps = 2;
    real.repeats = 21;
    real.launches = 500;
    real.waits = 400;
    real.together = 40;
    real.rounds = 5;
    real.pairs = 7;
    real.warmUpPairs = 1;
    real.accesses = 65536;
    real.victimBytes = 4_MiB;
    real.aggressorBytes = 512_MiB;
    real.samples = 4000;
    real.sampledBytes = std::numeric_limits<Bytes>::max();
    real.megabytes = 128;
    real.size = workloads::Size::standard;
    if (!gpu.capabilities().costly) return real;

    Effort simulated = {};
    simulated.repeats = simulated.waits = simulated.together = simulated.rounds = simulated.pairs = 1;
    simulated.launches = 3;
    simulated.accesses = 256;
    simulated.victimBytes = 16_KiB;
    simulated.aggressorBytes = 8_MiB;
    simulated.samples = 64;
    simulated.sampledBytes = 16_MiB;
    simulated.megabytes = 2;
    simulated.size = workloads::Size::test;
    return simulated;
}

}  // namespace bulkhead::evaluation::cost
