#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "base/error.h"
#include "calibrate/chase.h"
#include "calibrate/measurement.h"
#include "gpu/real_driver.h"

namespace bulkhead::calibrate {
namespace {

constexpr Bytes kConstantBytes = 65536;  ///< all that a module may have

/// Pointer chases in constant memory, which has addresses of its own: a kernel of the module tells them.
class ConstantChase {
  public:
    explicit ConstantChase(Bench& bench) : bench_(bench) {}

    void ring(std::vector<std::uint64_t> offsets) { offsets_ = std::move(offsets); }

    double latency() {
        ProbeShape shape = shapeOf();
        upload(kSteps);
        upload(2 * kSteps);
        return bench_.cyclesEach([&](std::uint32_t steps) { return text(steps); }, kSteps, shape);
    }
    double perStep() {
        upload(kSteps);
        const ProbeShape shape = shapeOf();
        return bench_.cycles(text(kSteps), shape) / (static_cast<double>(kSteps) * shape.repeats);
    }

  private:
    static constexpr std::uint32_t kSteps = 16;

    ProbeShape shapeOf() const {
        ProbeShape shape;
        shape.threads = 1;
        shape.repeats = static_cast<std::uint32_t>((offsets_.size() + kSteps - 1) / kSteps);
        return shape;
    }

    static ProbeText text(std::uint32_t steps) {
        ProbeText text;
        text.module = fmt::format(
            ".const .align 1024 .b8 table[{}];\n.visible .entry where(.param .u64 to)\n{{\n.reg .b64 %d<2>;\n"
            "ld.param.u64 %d0, [to];\nmov.u64 %d1, table;\nst.global.u64 [%d0], %d1;\nret;\n}}\n",
            kConstantBytes);
        text.setup = "mov.u64 %d0, table;\n";
        for (std::uint32_t i = 0; i < steps; ++i) text.body += "ld.const.u64 %d0, [%d0];\n";
        text.awaited = await64("%d0");
        return text;
    }

    void upload(std::uint32_t steps) {
        const std::string ptx = ptxOf(text(steps));
        const gpu::Module module = bench_.module(ptx);
        const gpu::Array<std::uint64_t> told = bench_.context().array<std::uint64_t>(1);
        module.kernel("where").launch(bench_.stream(), {1}, {1}, 0, told);
        bench_.stream().synchronize();
        const std::uint64_t base = told.download()[0];
        std::vector<std::uint8_t> image(kConstantBytes, 0);
        for (std::size_t i = 0; i < offsets_.size(); ++i) {
            const std::uint64_t next = base + offsets_[i + 1 < offsets_.size() ? i + 1 : 0];
            std::memcpy(&image[offsets_[i]], &next, sizeof next);
        }
        const driver::DriverApi& api = bench_.gpu().api();
        bench_.context().makeCurrent();
        gpu::check(api, api.cuMemcpyHtoD(module.variable("table").first, image.data(), image.size()),
                   "cannot fill constant memory");
        gpu::check(api, api.cuStreamSynchronize(nullptr), "cannot fill constant memory");
    }

    Bench& bench_;
    std::vector<std::uint64_t> offsets_ = {0};
};

std::size_t heldLines(ConstantChase& chase, const CacheTimes& times, Bytes stride) {
    return largestFitting(1, kConstantBytes / stride, [&](std::size_t lines) {
        chase.ring(sequentialRing(lines, stride));
        return times.holds(chase.perStep());
    });
}

}  // namespace

void measureConstantCache(Session& s) {
    Bench& b = s.bench();
    ConstantChase chase(b);
    chase.ring(sequentialRing(16, 8));
    const double hit = chase.latency();
    s.found("constant.hitLatency", hit);
    CacheTimes times;
    times.hit = chase.perStep();
    // Far enough apart that none is found again, in any line.
    chase.ring(sequentialRing(kConstantBytes / 512, 512));
    times.miss = chase.perStep();
    if (times.miss < 1.2 * times.hit) {
        s.undecided("constant.bytes: all constant memory stays in the cache");
        return;
    }
    times.tolerated = b.exact() ? 0.0 : 0.03;
    Bytes line = 8;
    for (; line < 512; line *= 2) {
        chase.ring(sequentialRing(kConstantBytes / line, line));
        if (chase.perStep() > times.hit + 0.85 * (times.miss - times.hit)) break;
    }
    s.found("constant.lineBytes", static_cast<double>(line), "the closest pointers that all miss");
    const std::size_t lines = heldLines(chase, times, line);
    // Elsewhere the kernel's own constants, its parameters among them, take some lines of a cache whose size is a power
    // of two.
    const Bytes held = lines * line, bytes = b.exact() ? held : std::bit_ceil(held);
    s.found("constant.bytes", static_cast<double>(bytes), fmt::format("{} B of constants stay", held));
    // Lines of one set, where sets are told by low address bits.
    for (Bytes stride = line; stride < kConstantBytes / 2; stride *= 2)
        if (const std::size_t ways = heldLines(chase, times, stride);
            ways * stride == lines * line && heldLines(chase, times, 2 * stride) == ways) {
            s.found("constant.ways", static_cast<double>(ways));
            return;
        }
    s.undecided("constant.ways: sets do not follow low address bits");
}

}  // namespace bulkhead::calibrate
