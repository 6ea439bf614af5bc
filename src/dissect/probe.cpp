#include "dissect/probe.h"

#include <algorithm>

#include "base/error.h"
#include "probes.ptx.h"

namespace bulkhead::dissect {
namespace {

std::vector<std::uint64_t> flattened(std::span<const std::pair<std::uint64_t, std::uint64_t>> pairs) {
    std::vector<std::uint64_t> list;
    list.reserve(2 * pairs.size());
    for (const auto& [a, b] : pairs) list.insert(list.end(), {a, b});
    return list;
}

}  // namespace

const char* Probe::deviceCode() {
    return kProbesPtx;
}

Probe::Probe(gpu::Gpu& gpu, TimingFilter filter)
    : gpu_(gpu),
      filter_(std::move(filter)),
      sms_(static_cast<unsigned>(gpu.info().sms)),
      stream_(gpu.context().createStream()),
      module_(gpu.context().load(deviceCode())),
      accesses_(module_.kernel("timeAccesses")),
      pairs_(module_.kernel("timePairs")),
      delayed_(module_.kernel("timeDelayed")),
      chase_(module_.kernel("chase")),
      counted_(module_.kernel("countedChase")),
      ring_(module_.kernel("writeRing")),
      touch_(module_.kernel("touch")),
      afterLines_(module_.kernel("timeAfterLines")),
      afterRounds_(module_.kernel("timeAfterRounds")),
      atomics_(module_.kernel("timeAtomics")),
      contention_(module_.kernel("timeContention")),
      behind_(module_.kernel("timeBehind")),
      interference_(module_.kernel("timeInterference")) {}

template <class... Arguments>
void Probe::launch(gpu::Kernel& kernel, gpu::Dim3 grid, unsigned threads, std::size_t shared,
                   const Arguments&... arguments) {
    gpu::Event begin = gpu_.context().createEvent(), end = gpu_.context().createEvent();
    begin.record(stream_);
    kernel.launch(stream_, grid, {threads}, shared, arguments...);
    end.record(stream_);
    stream_.synchronize();
    gpuSeconds_ += end.secondsSince(begin);
}

Times Probe::filtered(Times times) const {
    if (filter_) filter_(times);
    return times;
}

Times Probe::timeAccesses(std::span<const Access> accesses) {
    if (accesses.empty()) return {};
    std::vector<std::uint64_t> list;
    for (const Access& a : accesses) list.push_back(a.address | static_cast<std::uint64_t>(a.kind));
    const auto device = gpu_.context().array(list);
    const auto times = gpu_.context().array<std::uint32_t>(list.size());
    launch(accesses_, {1}, 32, 0, device, static_cast<std::uint32_t>(list.size()), times);
    return filtered(times.download());
}

Times Probe::timePairs(std::span<const std::pair<std::uint64_t, std::uint64_t>> pairs) {
    if (pairs.empty()) return {};
    const auto device = gpu_.context().array(flattened(pairs));
    const auto times = gpu_.context().array<std::uint32_t>(pairs.size());
    launch(pairs_, {1}, 32, 0, device, static_cast<std::uint32_t>(pairs.size()), times);
    return filtered(times.download());
}

Times Probe::timeDelayed(std::span<const std::pair<std::uint64_t, std::uint64_t>> pairs, std::uint32_t delay) {
    if (pairs.empty()) return {};
    const auto device = gpu_.context().array(flattened(pairs));
    const auto times = gpu_.context().array<std::uint32_t>(pairs.size());
    launch(delayed_, {1}, 32, 0, device, static_cast<std::uint32_t>(pairs.size()), delay, times);
    return filtered(times.download());
}

std::uint64_t Probe::chase(std::uint64_t start, std::uint32_t steps, bool throughL1) {
    const auto result = gpu_.context().array<std::uint64_t>(2);
    launch(chase_, {1}, 1, 0, start, steps, std::uint32_t{throughL1}, result);
    return result.download()[0];
}

std::uint64_t Probe::countedChase(std::uint64_t start, std::uint32_t steps) {
    const auto result = gpu_.context().array<std::uint64_t>(1);
    launch(counted_, {1}, 1, 0, start, steps, result);
    return result.download()[0];
}

void Probe::writeRing(std::span<const std::uint64_t> addresses) {
    const auto device = gpu_.context().array(std::vector<std::uint64_t>(addresses.begin(), addresses.end()));
    constexpr std::uint32_t kThreads = 64;
    const auto count = static_cast<std::uint32_t>(addresses.size());
    launch(ring_, {std::min(sms_, (count + kThreads - 1) / kThreads)}, kThreads, 0, device, count);
}

void Probe::touch(std::uint64_t base, std::uint64_t bytes, std::uint32_t step) {
    const auto sum = gpu_.context().array<std::uint64_t>(1);
    launch(touch_, {2 * sms_}, 256, 0, base, bytes, step, sum);
}

Times Probe::timeAfterLines(std::span<const std::uint64_t> lines, std::uint64_t primary, std::uint32_t sectors,
                            std::uint32_t sectorBytes) {
    const auto device = gpu_.context().array(std::vector<std::uint64_t>(lines.begin(), lines.end()));
    const auto times = gpu_.context().array<std::uint32_t>(sectors);
    constexpr std::uint32_t kStaged = 4096;  // 32 KB of shared memory
    launch(afterLines_, {1}, 512, kStaged * sizeof(std::uint64_t), device, static_cast<std::uint32_t>(lines.size()),
           kStaged, primary, sectors, sectorBytes, times);
    return filtered(times.download());
}

Times Probe::timeAfterRounds(std::span<const std::uint64_t> lines, std::uint32_t rounds, std::uint64_t primary,
                             std::uint32_t sectors, std::uint32_t sectorBytes) {
    const auto device = gpu_.context().array(std::vector<std::uint64_t>(lines.begin(), lines.end()));
    const auto times = gpu_.context().array<std::uint32_t>(sectors);
    launch(afterRounds_, {1}, 512, kMostInRounds * sizeof(std::uint64_t), device,
           static_cast<std::uint32_t>(lines.size()), rounds, primary, sectors, sectorBytes, times);
    return filtered(times.download());
}

Times Probe::timeAtomicsFrom(unsigned sm, std::span<const std::uint64_t> addresses, std::uint32_t repeats) {
    const auto list = gpu_.context().array(std::vector<std::uint64_t>(addresses.begin(), addresses.end()));
    const auto elected = gpu_.context().array(std::vector<std::uint32_t>(1, 0));
    const auto times = gpu_.context().array(std::vector<std::uint32_t>(addresses.size(), 0));
    const auto where = gpu_.context().array<std::uint32_t>(addresses.size());
    // Where another process fills the SM, room comes and goes.
    constexpr int kAttempts = 1000;
    for (int attempt = 0; attempt < kAttempts && elected.download()[0] == 0; ++attempt)
        launch(atomics_, {2 * sms_}, 1, 0, list, static_cast<std::uint32_t>(addresses.size()), repeats, sm, elected,
               times, where);
    if (elected.download()[0] == 0)
        throw Error("no block could run on SM {} of {}: other programs fill it", sm, gpu_.name());
    return filtered(times.download());
}

Times Probe::timeAtomicsSpread(std::span<const std::uint64_t> addresses, std::uint32_t repeats,
                               std::vector<std::uint32_t>& where) {
    if (addresses.empty()) return {};
    const auto list = gpu_.context().array(std::vector<std::uint64_t>(addresses.begin(), addresses.end()));
    const auto elected = gpu_.context().array(std::vector<std::uint32_t>(1, 0));
    const auto times = gpu_.context().array<std::uint32_t>(addresses.size());
    const auto sms = gpu_.context().array<std::uint32_t>(addresses.size());
    constexpr std::uint32_t kAll = ~std::uint32_t{0};
    launch(atomics_, {sms_}, 1, 0, list, static_cast<std::uint32_t>(addresses.size()), repeats, kAll, elected, times,
           sms);
    where = sms.download();
    return filtered(times.download());
}

Times Probe::timeContention(const Contention& c, std::span<const std::uint64_t> tests, std::uint32_t slots) {
    if (tests.empty()) return {};
    const auto count = static_cast<std::uint32_t>(tests.size() / slots);
    const auto device = gpu_.context().array(std::vector<std::uint64_t>(tests.begin(), tests.end()));
    const auto chosen = gpu_.context().array(c.sms);
    const auto state = gpu_.context().array(std::vector<std::uint32_t>(4 + c.sms.size(), 0));
    const auto times = gpu_.context().array(std::vector<std::uint32_t>(count, 0));
    launch(contention_, {sms_}, c.threads, 0, device, count, slots, c.repeats, chosen, c.members, c.lanes, c.lead,
           state, times);
    return filtered(times.download());
}

Times Probe::timeBehind(std::span<const std::uint64_t> tests, std::uint32_t count) {
    if (tests.empty()) return {};
    const auto testCount = static_cast<std::uint32_t>(tests.size() / (count + 1));
    const auto device = gpu_.context().array(std::vector<std::uint64_t>(tests.begin(), tests.end()));
    const auto times = gpu_.context().array<std::uint32_t>(testCount);
    launch(behind_, {1}, kMostBehind + 32, 0, device, testCount, count, times);
    return filtered(times.download());
}

unsigned Probe::mostInterfering() const {
    return 1 + (sms_ - 1) * static_cast<unsigned>(interference_.blocksPerSm(1));
}

double Probe::timeInterference(std::span<const std::uint64_t> starts, std::uint32_t steps) {
    if (starts.size() > mostInterfering())
        throw Error("{} threads cannot all run at once: {} have a place on this GPU", starts.size(), mostInterfering());
    const auto device = gpu_.context().array(std::vector<std::uint64_t>(starts.begin(), starts.end()));
    const auto state = gpu_.context().array(std::vector<std::uint32_t>(4, 0));
    const auto cycles = gpu_.context().array(std::vector<std::uint64_t>(2, 0));
    const auto threads = static_cast<std::uint32_t>(starts.size());
    // Blocks of one thread are spread evenly: enough that those beside SM 0 make up the number.
    const unsigned each = 1 + (threads + sms_ - 2) / std::max(1u, sms_ - 1);
    launch(interference_, {each * sms_}, 1, 0, device, threads, steps, state, cycles);
    Times total = filtered({static_cast<std::uint32_t>(cycles.download()[0] / steps)});
    return total[0];
}

}  // namespace bulkhead::dissect
