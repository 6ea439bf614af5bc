#include <fmt/format.h>

#include <bit>
#include <limits>

#include "base/error.h"
#include "base/phrases.h"
#include "evaluation/cost/memory_kernels.h"
#include "workloads/compare.h"

namespace bulkhead::evaluation::cost {
namespace {

/// The chunks of a side as a kernel can tell them without translating: as in cost_kernels.cu.
struct BlocksOfSide {
    unsigned mask = 0, side = 0, chunkShift = 0;
};

/// The same work on the same chunks of one side, by kernels that find them themselves: nothing is translated.
class UntranslatedKernel {
  public:
    /// `owner` is walled into the side, whose first bytes are taken; `timed` has the same SMs and no memory wall.
    UntranslatedKernel(TimedContext& timed, walls::PartitionContext& owner, const MemoryKernelType& type)
        : timed_(timed),
          type_(type),
          kernel_(timed.kernel((std::string(type.name) + "OfSide").c_str())),
          count_(elementsOf(timed.bench().effort().megabytes)),
          arrays_(owner.context().array<float>(std::size_t{type.arrays} * count_)) {
        const auto [color, offset] = owner.sideColor(arrays_.address());
        if (offset != 0) throw Error("the memory without translation does not begin where the side does");
        const Bytes chunk = Bytes{1} << color.chunkShift;
        blocks_.chunkShift = static_cast<unsigned>(std::countr_zero(chunk / (kThreadsPerBlock * sizeof(float))));
        findChunks(owner, color.base, chunk);
        for (unsigned i = 0; i < type.arrays; ++i) addresses_.push_back(color.base + 2 * i * arrayBytes());
        std::vector<float> content(arrays_.size());
        for (std::size_t i = 0; i < content.size(); ++i) content[i] = i < count_ ? 0 : valueAt(i);
        arrays_.upload(content);
    }

    double rate() {
        return double{sizeof(float)} * count_ * type_.moved / timed_.time([&] { launch(); }) * 1e-9;
    }
    /// That it worked on the owner's memory, all of it and nothing else.
    void check() {
        clearOutput();
        launch();
        timed_.stream().synchronize();
        std::vector<float> input(count_), output = arrays_.download();
        for (std::size_t i = 0; i < count_; ++i) input[i] = valueAt(i);
        output.resize(count_);
        try {
            workloads::expectEqual(type_.name, type_.expected(input), output);
        } catch (const Error& error) {
            timed_.bench().fail(std::string("without translation: ") + error.what());
        }
    }

  private:
    Bytes arrayBytes() const { return Bytes{count_} * sizeof(float); }
    /// Chunks of the owner's memory have another order than those of the kernel: all have the same content.
    static float valueAt(std::size_t i) { return static_cast<float>(i % kPeriod); }
    void clearOutput() { arrays_.buffer().copyIn(std::vector<float>(count_, 0).data(), arrayBytes()); }

    /// Which chunk of a pair is on the side follows from that of pair 0 and of those that differ from it in one bit.
    void findChunks(walls::PartitionContext& owner, driver::CUdeviceptr base, Bytes chunk) {
        const auto whichOf = [&](std::uint64_t pair) {
            for (Bytes at = 0; at < arrayBytes(); at += chunk)
                if (const auto number = (owner.realAddress(arrays_.address() + at) - base) / chunk; number / 2 == pair)
                    return static_cast<unsigned>(number & 1);
            throw Error("a pair of chunks of which none is on the side");
        };
        blocks_.side = whichOf(0);
        for (unsigned bit = 0; Bytes{2} << bit <= arrayBytes() / chunk; ++bit)
            blocks_.mask |= (whichOf(std::uint64_t{1} << bit) ^ blocks_.side) << bit;
    }
    void launch() {
        const gpu::Dim3 grid{count_ / kThreadsPerBlock}, block{kThreadsPerBlock};
        const unsigned both = 2 * count_;  // elements of an array on either side
        if (type_.arrays == 3) {
            kernel_.launch(timed_.stream(), grid, block, 0, addresses_[0], addresses_[1], addresses_[2], both, blocks_);
        } else {
            kernel_.launch(timed_.stream(), grid, block, 0, addresses_[0], addresses_[1], 2.0f, both, blocks_);
        }
    }

    static constexpr std::size_t kPeriod = 64;  // elements; divides every chunk
    TimedContext& timed_;
    const MemoryKernelType& type_;
    gpu::Kernel kernel_;
    unsigned count_;
    gpu::Array<float> arrays_;  ///< one after the other
    BlocksOfSide blocks_;
    std::vector<driver::CUdeviceptr> addresses_;
};

double translatedRate(Bench& bench, walls::PartitionContext& tenant, const MemoryKernelType& type) {
    TimedContext timed(bench, tenant.context());
    MemoryKernel kernel(timed, type);
    const double rate = kernel.rate();
    kernel.check();
    return rate;
}

}  // namespace

void expectSides(const Bench& bench) {
    if (bench.walled().coloring() != walls::Coloring::sides)
        throw Error("translation is measured on one side of the L2: choose --coloring sides");
    // The bits that tell the sides apart are then bits of an offset in an array, and the same in all arrays.
    if (!std::has_single_bit(bench.effort().megabytes) || bench.effort().megabytes < 2)
        throw Error("translation needs arrays of 2, 4, 8 MB and so on, not {}", bench.effort().megabytes);
}

Result measureTranslation(Bench& bench) {
    Result result = tableOf("Memory-bound kernels on one side: translated, and the same chunks without translation",
                            "kernel", {"translated", "not translated"}, "GB/s");
    result.columns.push_back({"cost", "%"});
    double most = -std::numeric_limits<double>::infinity();
    for (const MemoryKernelType& type : memoryKernels()) {
        if (!type.findsChunks) continue;
        walls::PartitionContext plain = bench.enclose(0, Around::compute);
        TimedContext timed(bench, plain.context());
        std::vector<double> translated, untranslated;
        for (unsigned round = 0; round < bench.effort().rounds; ++round) {  // by turns: clocks change
            walls::PartitionContext both = bench.enclose(0, Around::both);
            translated.push_back(translatedRate(bench, both, type));
            UntranslatedKernel control(timed, both, type);
            untranslated.push_back(control.rate());
            control.check();
        }
        const double with = median(translated), without = median(untranslated);
        result.add({std::string(type.name), with, without, 100 * (without / with - 1)});
        if (100 * (without / with - 1) <= most) continue;
        most = 100 * (without / with - 1);
        result.answer = fmt::format("At most {} %, of {}.", brief(most), type.name);
    }
    return result;
}

}  // namespace bulkhead::evaluation::cost
