#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "sim/exec/pending_effects.h"
#include "sim/exec/program.h"
#include "sim/exec/warp.h"
#include "sim/mem/address_space.h"

namespace bulkhead::sim {

/// Whether a module is executed as written, or as ptx::assemble leaves it.
enum class Loads : std::uint8_t { asWritten, assembled };

/// A device without time: loads one module and runs its kernels block after block, the warps of a block in turn, one
/// instruction each.
class Runner {
  public:
    /// Adds .version, .target and .address_size in front unless the text has them; they stay on line 1.
    explicit Runner(const std::string& ptx, Loads = Loads::asWritten);

    VirtualAddress allocate(Bytes, bool writable = true);
    template <class T>
    VirtualAddress upload(const std::vector<T>& values) {
        const VirtualAddress a = allocate(values.size() * sizeof(T));
        std::memcpy(memory.resolve(a, values.size() * sizeof(T)), values.data(), values.size() * sizeof(T));
        return a;
    }
    template <class T>
    std::vector<T> download(VirtualAddress a, std::size_t count) const {
        std::vector<T> values(count);
        std::memcpy(values.data(), memory.resolve(a, count * sizeof(T)), count * sizeof(T));
        return values;
    }
    VirtualAddress addressOf(const std::string& global) const;

    struct Shape {
        Dim3 grid, block;
        std::uint32_t dynamicShared = 0;
        Dim3 cluster = {};
    };
    template <class... Arguments>
    void launch(const std::string& kernel, Shape shape, Arguments... arguments) {
        const Code* code = program->kernel(kernel);
        std::vector<std::uint8_t> params(code ? code->kernelParamBytes : 0);
        std::size_t index = 0;
        [[maybe_unused]] const auto put = [&](const auto& value) {
            std::memcpy(params.data() + code->params.at(index).offset, &value, sizeof value);
            ++index;
        };
        (put(arguments), ...);
        run(kernel, shape, std::move(params));
    }

    std::unique_ptr<Program> program;
    AddressSpace memory;
    std::vector<std::string> printed;
    Cycles now = 0;                      ///< what %clock64 reads; each step adds one
    std::uint64_t warpInstructions = 0;  ///< of the last launch
    std::uint64_t threadInstructions = 0;
    std::vector<Access> accesses;  ///< of the last launch, in order, if recordAccesses
    bool recordAccesses = false;

    /// The same with the kernel's parameter block.
    void run(const std::string& kernel, Shape, std::vector<std::uint8_t> params);

  private:
    void runCluster(const LaunchContext&, std::uint64_t first);

    std::vector<std::unique_ptr<std::uint8_t[]>> storage_;
    VirtualAddress next_ = 0x7f00'0000'0000;
};

/// A kernel `k` around a body, with the usual registers declared and its first parameter, a pointer `out`, in %out.
std::string kernelWith(const std::string& body, const std::string& before = {});

/// One warp of the kernel of kernelWith(body), at its first instruction, to be stepped by hand.
struct SingleWarp {
    explicit SingleWarp(const std::string& body)
        : runner(kernelWith(body)), block(prepared(), {0, 0, 0}, 0, &runner.now, &effects) {
        warp.start(block, 0, 0);
    }

    Runner runner;
    LaunchContext context;
    PendingEffects effects{runner.now};
    Block block;
    Warp warp;

  private:
    const LaunchContext& prepared() {
        context.program = runner.program.get();
        context.code = runner.program->kernel("k");
        context.block = {32};
        context.params.resize(8);
        context.memory = &runner.memory;
        return context;
    }
};

/// Runs the kernel of kernelWith(body) on one block and returns what it wrote to `out`, one value a thread.
template <class T>
std::vector<T> runBody(const std::string& body, unsigned threads = 32, const std::string& before = {}) {
    Runner r(kernelWith(body, before));
    const VirtualAddress out = r.upload(std::vector<T>(threads));
    r.launch("k", {{}, {threads}}, out);
    return r.download<T>(out, threads);
}

}  // namespace bulkhead::sim
