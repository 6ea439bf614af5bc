#include "calibrate/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.h"
#include "base/statistics.h"
#include "gpu/real_driver.h"

namespace bulkhead::calibrate {
namespace {

constexpr std::size_t kLanes = 32, kWords = 16;
constexpr std::size_t kResultBytes = 8_MiB;

/// Words 0 to 3 of each lane are integers, 4 to 7 single and 8 to 11 double floats; the last of each four and the one
/// before it are operands, the others where chains start.
std::vector<std::uint64_t> inputWords() {
    std::vector<std::uint64_t> words(kLanes * kWords);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
        std::uint64_t* const w = &words[lane * kWords];
        for (unsigned i = 0; i < 4; ++i) {
            w[i] = 1000 + 17 * lane + i;
            w[4 + i] = std::bit_cast<std::uint32_t>(1.0f + static_cast<float>(i) / 8);
            w[8 + i] = std::bit_cast<std::uint64_t>(1.0 + i / 8.0);
        }
        w[12] = 1'000'003;
        w[13] = 77;
        w[14] = std::bit_cast<std::uint32_t>(0.75f);
        w[15] = std::bit_cast<std::uint64_t>(0.75);
    }
    return words;
}

const char* const kSpin = R"(
.visible .entry spin(.param .u64 result, .param .u64 cycles)
{
.reg .pred %p;
.reg .b64 %d<10>;
ld.param.u64 %d0, [result];
ld.param.u64 %d1, [cycles];
mov.u64 %d2, %clock64;
mov.u64 %d3, %globaltimer;
WAIT:
mov.u64 %d4, %clock64;
sub.u64 %d5, %d4, %d2;
setp.lt.u64 %p, %d5, %d1;
@%p bra WAIT;
mov.u64 %d6, %clock64;
mov.u64 %d7, %globaltimer;
sub.u64 %d6, %d6, %d2;
sub.u64 %d7, %d7, %d3;
st.global.u64 [%d0], %d6;
st.global.u64 [%d0+8], %d7;
ret;
}
)";

}  // namespace

Bench::Bench(gpu::Gpu& gpu, std::uint64_t seed, NoiseFilter noise)
    : gpu_(gpu),
      seed_(seed),
      noise_(std::move(noise)),
      stream_(gpu.context().createStream()),
      input_(gpu.context().array(inputWords())),
      result_(gpu.context().array<std::uint64_t>(kResultBytes / sizeof(std::uint64_t))) {}

int Bench::attribute(driver::DeviceAttribute which) {
    context().makeCurrent();
    const driver::DriverApi& api = gpu_.api();
    driver::CUdevice device = 0;
    int value = 0;
    gpu::check(api, api.cuCtxGetDevice(&device), "cannot tell the context's GPU");
    gpu::check(api, api.cuDeviceGetAttribute(&value, static_cast<int>(which), device), "cannot ask a GPU");
    return value;
}

const gpu::Module& Bench::module(const std::string& ptx) {
    auto found = modules_.find(ptx);
    if (found == modules_.end()) found = modules_.emplace(ptx, context().load(ptx.c_str())).first;
    return found->second;
}

gpu::Kernel Bench::kernel(const std::string& ptx, const std::string& name) {
    return module(ptx).kernel(name);
}

gpu::Buffer Bench::freshMemory(Bytes bytes) {
    return kept_.emplace_back(context().allocate(bytes));
}

double Bench::noisy(std::vector<double> times) const {
    if (noise_) noise_(times);
    return percentile(times, 50);
}

void Bench::launch(gpu::Kernel& kernel, const ProbeShape& shape, std::uint32_t rounds) {
    kernel.launch(stream_, {shape.blocks}, {shape.threads}, shape.sharedBytes, result_, input_, shape.region,
                  shape.count, rounds, shape.repeats);
}

double Bench::cycles(const ProbeText& probe, const ProbeShape& shape) {
    gpu::Kernel k = kernel(ptxOf(probe), "probe");
    const std::uint32_t timed = shape.rounds != 0 ? shape.rounds : rounds(), all = timed + 1;
    const std::size_t warps = std::size_t{shape.blocks} * ((shape.threads + 31) / 32);
    if ((all * 4 + 32) * warps > result_.size()) throw Error("a probe of {} warps has too many results", warps);
    gpu::Event begin = context().createEvent(), end = context().createEvent();
    begin.record(stream_);
    launch(k, shape, all);
    end.record(stream_);
    stream_.synchronize();
    spent(end.secondsSince(begin));
    std::vector<std::uint64_t> spans(all * warps * 2);
    result_.buffer().copyOut(spans.data(), spans.size() * sizeof(std::uint64_t));
    std::vector<double> times;
    for (std::size_t round = 1; round < all; ++round) {  // the first one warms caches up
        std::uint64_t first = ~std::uint64_t{0}, last = 0;
        for (std::size_t warp = 0; warp < warps; ++warp) {
            first = std::min(first, spans[2 * (round * warps + warp)]);
            last = std::max(last, spans[2 * (round * warps + warp) + 1]);
        }
        times.push_back(static_cast<double>(last - first));
    }
    return noisy(std::move(times));
}

/// Bodies of all warps within some time, and that time.
double Bench::bodiesUntil(gpu::Kernel& k, const ProbeShape& shape, std::uint64_t duration, double& elapsed) {
    gpu::Event begin = context().createEvent(), end = context().createEvent();
    begin.record(stream_);
    k.launch(stream_, {1}, {shape.threads}, shape.sharedBytes, result_, input_, shape.region, shape.count,
             std::uint32_t{1}, duration);
    end.record(stream_);
    stream_.synchronize();
    spent(end.secondsSince(begin));
    const std::size_t warps = (shape.threads + 31) / 32;
    std::vector<std::uint64_t> words(4 * (warps + 1));
    result_.buffer().copyOut(words.data(), words.size() * sizeof(std::uint64_t));
    const auto until = static_cast<double>(words[4 * warps]);
    double bodies = 0, first = until;
    for (std::size_t warp = 0; warp < warps; ++warp) {
        const auto* w = &words[4 * warp];
        const auto last = static_cast<double>(w[2]), ended = static_cast<double>(w[3]);
        first = std::min(first, static_cast<double>(w[0]));
        // Of the last one, the part before the time was up.
        const double part = ended > last ? (until - last) / (ended - last) : 1;
        bodies += static_cast<double>(w[1]) - 1 + std::clamp(part, 0.0, 1.0);
    }
    elapsed = until - first;
    return bodies;
}

double Bench::cyclesPerBody(const ProbeText& probe, const ProbeShape& shape) {
    gpu::Kernel k = kernel(ratePtxOf(probe), "rate");
    // So many times a warp that the first and the last one weigh little.
    const unsigned warps = (shape.threads + 31) / 32;
    const double enough = effort(12.0, 100.0) * warps;
    std::uint64_t duration = effort(2000u, 20000u);
    double elapsed = 0, bodies = bodiesUntil(k, shape, duration, elapsed);
    for (int tries = 0; bodies < enough && tries < 6; ++tries) {
        duration = static_cast<std::uint64_t>(static_cast<double>(duration) *
                                              std::min(100.0, 1.1 * enough / std::max(bodies, 0.1)));
        bodies = bodiesUntil(k, shape, duration, elapsed);
    }
    // And twice as long, since a scheduler that starves some warps leaves the more to do when the time is up.
    std::vector<double> times;
    while (times.size() < rounds()) {
        double longer = 0;
        const double more = bodiesUntil(k, shape, 2 * duration, longer);
        if (times.size() > 0) bodies = bodiesUntil(k, shape, duration, elapsed);
        times.push_back((longer - elapsed) / (more - bodies));
    }
    return noisy(std::move(times));
}

double Bench::seconds(const ProbeText& probe, const ProbeShape& shape) {
    gpu::Kernel k = kernel(ptxOf(probe), "probe");
    return secondsOf([&] { launch(k, shape, 1); });
}

double Bench::secondsOf(const std::function<void()>& work, const std::function<void()>& prepare) {
    std::vector<double> times;
    // Where clocks and the driver come into their stride, the first one does not count.
    const std::uint32_t warmUp = exact() ? 0 : 1;
    for (std::uint32_t i = 0; i < warmUp + rounds(); ++i) {
        gpu::Event begin = context().createEvent(), end = context().createEvent();
        if (prepare) prepare();
        begin.record(stream_);
        work();
        end.record(stream_);
        stream_.synchronize();
        const double taken = end.secondsSince(begin);
        spent(taken);
        if (i >= warmUp) times.push_back(taken);
    }
    return noisy(std::move(times));
}

void Bench::spin(double seconds) {
    gpu::Kernel k = kernel(std::string(kPtxHead) + kSpin, "spin");
    k.launch(stream_, {1}, {1}, 0, result_, static_cast<std::uint64_t>(seconds * gpu_.info().coreMHz * 1e6));
    spent(seconds);
}

Bench::Spun Bench::spinCycles(std::uint64_t cycles) {
    gpu::Kernel k = kernel(std::string(kPtxHead) + kSpin, "spin");
    k.launch(stream_, {1}, {1}, 0, result_, cycles);
    stream_.synchronize();
    std::uint64_t spun[2] = {};
    result_.buffer().copyOut(spun, sizeof spun);
    if (spun[1] == 0) throw Error("%globaltimer of {} stands still", gpu_.name());
    spent(static_cast<double>(spun[1]) * 1e-9);
    return {static_cast<double>(spun[0]), static_cast<double>(spun[1])};
}

}  // namespace bulkhead::calibrate
