#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/gpu.h"
#include "stress/placed_kernel.h"
#include "stress/rings.h"
#include "stress/waiting.h"

namespace bulkhead::stress {

enum class AggressorKind : std::uint8_t {
    compute,
    evictSequential,
    evictRandom,
    streamRead,
    streamWrite,
    streamReadWrite,
    streamAtomic,
    setBySet,
    rotatingSets,
    mapGuided,
    slice,
    bank,
    channel,
    hotSets,
};

struct AggressorName {
    AggressorKind kind;
    std::string_view name, description;
    bool needsMap;
};
/// All of them, in the order in which matrices show them.
const std::vector<AggressorName>& aggressors();
/// Throws Error that suggests the nearest one.
AggressorKind parseAggressor(std::string_view name);
const AggressorName& describe(AggressorKind);

/// Whether it streams through memory, rather than computing or visiting line by line.
bool isSweep(AggressorKind);
/// Warps of a block that suit it.
unsigned usualWarps(AggressorKind);

/// What an aggressor does, and how hard.
struct AggressorSpec {
    AggressorKind kind = AggressorKind::evictRandom;
    std::string name;               ///< in matrices; empty: its kind's
    Layout layout = {0, 0, {}};     ///< no blocks: what fills its multiprocessors
    unsigned multiprocessors = 0;   ///< that it gets, where the layout names none; 0: all that the victim leaves
    bool leavesRoom = false;        ///< half of each multiprocessor, where it fills them
    unsigned lanes = 2;             ///< of each warp, that follow a ring of pointers
    unsigned dutyPercent = 100;     ///< of the time, that it works
    double gigabytesPerSecond = 0;  ///< that it moves at most; 0: as many as it can
    Bytes bytes = 0;                ///< of memory; 0: eight times the cache, as in 4.2.1
    std::uint32_t target = 0;       ///< slice, bank or channel
    std::uint64_t seed = 1;
};

std::string nameOf(const AggressorSpec&);
/// Throws Error for what no GPU can do.
void validate(const AggressorSpec&);

/// What the GPU looks like to an aggressor.
struct CacheShape {
    Bytes bytes = 0, lineBytes = 128, sectorBytes = 32;
    unsigned multiprocessors = 0;

    static CacheShape of(gpu::Gpu&);
};

/// What an aggressor did, from start() to stop().
struct AggressorReport {
    std::vector<unsigned> multiprocessors;
    std::uint64_t startNs = 0, endNs = 0;  ///< when the last block began and the first one ended
    std::uint64_t accesses = 0, bytes = 0;

    double bytesPerSecond() const {
        return endNs > startNs ? static_cast<double>(bytes) / (static_cast<double>(endNs - startNs) * 1e-9) : 0;
    }
};

/// Something that can be set off and stopped, in this process or another.
class Assault {
  public:
    virtual ~Assault() = default;
    /// Returns when all of its blocks run. Throws Error if they do not within the time.
    virtual void start(double limitSeconds) = 0;
    virtual AggressorReport stop() = 0;
};

/// An aggressor in a context. Stopped at the latest when it goes.
class Aggressor final : public Assault {
  public:
    /// `mapMemory`: needed by the kinds that aim with a map; `victimLines`: by hotSets.
    Aggressor(gpu::Context, const CacheShape&, AggressorSpec, const MapMemory& mapMemory,
              const Whereabouts& victimLines = {});
    ~Aggressor() override;
    Aggressor(const Aggressor&) = delete;
    Aggressor& operator=(const Aggressor&) = delete;

    const AggressorSpec& spec() const { return spec_; }
    /// Lines of its ring; none where it follows no ring.
    const Ring& ring() const { return ring_; }
    void start(double limitSeconds) override;
    AggressorReport stop() override;
    /// Whether it has ended by itself, which it does only if it failed. Lets a simulated GPU go on a little.
    bool ended() { return waitFor(context_, stream_, 0); }

  private:
    void completeLayout();
    void prepareMemory(const MapMemory&, const Whereabouts& victimLines);
    Ring naiveRing();
    Ring aimedRing(const Whereabouts& victimLines) const;
    void linkRing();
    void listLines();
    void chooseSide();
    unsigned workingBlocks() const;
    std::size_t chains() const;
    Bytes bytesEach() const;
    Dials dials() const;
    void launch();

    gpu::Context context_;
    CacheShape shape_;
    AggressorSpec spec_;
    gpu::Stream stream_, control_;
    gpu::Module module_;
    std::unique_ptr<PlacedKernel> kernel_;
    gpu::Buffer memory_, flags_;
    std::unique_ptr<MappedMemory> mapped_;
    gpu::Array<std::uint64_t> starts_;  ///< of chains of pointers
    /// Lines to visit, which multiprocessors do so (none: all), and how far they have got.
    gpu::Array<std::uint32_t> list_, workers_, ticket_;
    std::uint32_t partsOfList_ = 0;
    double workingShare_ = 1;  ///< of the blocks
    Ring ring_;
    bool running_ = false;
};

}  // namespace bulkhead::stress
