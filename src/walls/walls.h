#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "dissect/l2_region.h"
#include "gpu/gpu.h"
#include "sdk/include/bulkhead/span.h"

namespace bulkhead::dissect {
struct MapFile;
}

namespace bulkhead::walls {

constexpr Bytes kColoredPage = 4_KiB;  ///< the smallest page that GPUs have (Fractional GPUs, IV-F)
constexpr Bytes kSector = 32;  ///< what an access moves at least, and a reduction of eight lanes presses as a whole

/// Which SMs, by the number that %smid has there.
using SmSet = std::vector<bool>;

/// How SMs lie to each other.
struct L2Topology {
    std::vector<std::uint8_t> sideOf;         ///< of each SM: the half of the L2 that it is near to; that of the
                                              ///< first is 0. All 0 where the L2 has one side
    std::vector<dissect::L2Region> regionOf;  ///< of each SM: that side, and the half of it that it is nearer to
    unsigned sides() const;
    unsigned sms() const { return static_cast<unsigned>(sideOf.size()); }
};

/// What decides the color of memory. Memory of different colors shares no L2 slice.
enum class Coloring : std::uint8_t {
    none,    ///< no memory walls
    pages,   ///< the driver takes physical pages by their color, where it can choose them
    sides,   ///< any driver: two colors, by the side of the L2; addresses are translated by arithmetic
    slices,  ///< any driver: a color a slice; addresses are translated by a division and small tables
};

/// What keeps a tenant's blocks on its SMs.
enum class BlockPlacement : std::uint8_t {
    blocks,     ///< any driver: blocks that find themselves outside leave, the others share out the work
    driver,     ///< a green context of exactly these SMs; kernels and launches stay as they are
    automatic,  ///< the driver where it can, else blocks
};

/// What a tenant is walled into.
struct Walls {
    SmSet sms;                     ///< empty: no compute wall
    std::vector<unsigned> colors;  ///< below WalledGpu::colors(); none or all: no memory wall
    Bytes memory = 0;              ///< that it may allocate; 0 with no memory wall: as much as there is
};

class BlockSource;
class ColorSpace;
class PartitionContext;
class WalledContext;
struct Survey;
struct WalledGpuState;

struct WalledGpuOptions {
    Coloring coloring = Coloring::none;
    /// Of `sides` and `slices`: memory that is divided among the colors, taken at once. In 2 MB pages, of which each
    /// color has its part: a tenant with one of two colors can have half of it.
    Bytes memory = 0;
    BlockPlacement placement = BlockPlacement::blocks;
    /// Of blocks: physical blocks of a launch, for each that the GPU has room for. Those that leave at once make room
    /// outside the walls, which the hardware may fill before the places inside.
    double oversubscription = 1.25;
    /// Of `slices`: a map that dissect wrote. The other kinds need none.
    const dissect::MapFile* map = nullptr;
    /// What is known of the GPU, so that nothing need be timed. Null: it is found by timing.
    const Survey* survey = nullptr;
    /// Of `sides`, with a survey: where memory comes from, in steps, as the tenant asks for it. Null: `memory` bytes of
    /// this process's own.
    std::shared_ptr<BlockSource> blocks;
};

/// A GPU on which walls are put up, in this process. Unless a survey tells, it finds the topology by timing, and for
/// `sides` and `slices` the color of every page of its memory; that takes the GPU for itself for a while (the H200: a
/// second and less for sides). Slices have the same numbers for all partition contexts of a walled GPU, and for walled
/// GPUs of different processes if the map tells how far they are from SMs; pages and sides have the same numbers
/// everywhere.
class WalledGpu {
  public:
    /// Throws Error: a coloring that this GPU cannot have, or too little memory.
    WalledGpu(gpu::Gpu&, const WalledGpuOptions&);

    const L2Topology& topology() const;
    Coloring coloring() const;
    /// So many SMs of a region that follow each other can only be given together: the driver's smallest groups, where a
    /// survey tells no more of them.
    unsigned smsTogether() const;
    /// How many colors there are: of pages as many as the address hash allows, 2 sides, or as many as slices.
    unsigned colors() const;
    /// The side of the L2 that a color belongs to.
    unsigned sideOf(unsigned color) const;
    /// Where a color lies; half 0 if it has part in both.
    dissect::L2Region regionOf(unsigned color) const;
    /// Whether colors have the same numbers in every process.
    bool colorsNamed() const;
    /// Bytes that a tenant with these colors could have at most.
    Bytes memoryOf(const std::vector<unsigned>& colors) const;

    /// Makes a place inside walls. Several may stand at the same time; the walled GPU keeps no count of who has which
    /// color or SM, but never gives the same memory twice. Throws Error: walls that this walled GPU cannot give, or
    /// more memory than is left in the colors.
    PartitionContext enclose(const Walls&);

    /// Tries random sectors of a tenant's memory by timing (of pages: by asking), and counts those that are not of its
    /// colors. Clears words of those that it tries.
    std::size_t countWrongColors(const PartitionContext&, const gpu::Buffer&, std::size_t samples, std::uint64_t seed);

  private:
    std::shared_ptr<ColorSpace> spaceOf(const std::vector<unsigned>& colors);
    std::shared_ptr<WalledGpuState> state_;
};

/// A place inside walls: a context whose modules, memory and launches keep within them, for code that knows nothing of
/// it. All partition contexts of a walled GPU live in the GPU's primary context (contexts of one process take turns on
/// real GPUs), with streams and a default stream of their own, so work of different partition contexts runs side by
/// side. Between processes there is one walled GPU and one partition context each, under MPS.
///
/// Device code must be PTX or a fatbin that has PTX. Kernels of which a wall would change the meaning are refused when
/// they are asked for. Where blocks place themselves, launches of one partition context run one after the other,
/// whatever their streams. Memory is cleared before it is given out again. More than the share is
/// CUDA_ERROR_OUT_OF_MEMORY, and cuMemGetInfo tells the share.
class PartitionContext {
  public:
    gpu::Context& context() { return context_; }
    const Walls& walls() const;
    /// Blocks or the driver.
    BlockPlacement placement() const;
    /// The green context that confines work to its SMs, where the driver places blocks; else null.
    driver::CUcontext placeOfDriver() const;

    /// Where an address that was allocated here really is. The same address where nothing is translated.
    driver::CUdeviceptr realAddress(driver::CUdeviceptr) const;
    /// Where random whole sectors of an allocation really are. What begins within a sector would reach into the next:
    /// contention with itself, which looks like that with any slice.
    std::vector<driver::CUdeviceptr> sampleSectors(const gpu::Buffer&, std::size_t samples, std::uint64_t seed) const;
    /// The color of an address that was allocated here.
    unsigned colorOf(driver::CUdeviceptr) const;
    Bytes memoryUsed() const;

    /// How an address that was allocated here is translated, and its offset among the addresses of the color; see
    /// walls/span.h. Throws Error where it is not translated in that way.
    std::pair<SideColor, Bytes> sideColor(driver::CUdeviceptr) const;
    std::pair<SliceColor, Bytes> sliceColor(driver::CUdeviceptr) const;

    /// What blocks noted so far: the SMs on which some have worked, and how many worked outside the walls
    /// because none of their launch had come to run inside. Where the driver places them, those of a launch that filled
    /// the place when it was made, and none.
    SmSet smsUsed() const;
    unsigned strayBlocks() const;

  private:
    friend class WalledGpu;
    PartitionContext(std::shared_ptr<WalledContext> walled, gpu::Context context)
        : walled_(std::move(walled)), context_(std::move(context)) {}
    std::shared_ptr<WalledContext> walled_;
    gpu::Context context_;
};

/// The table of calls that stands before a driver's and puts up the walls of the context that is current.
const driver::DriverApi& walledDriver();

}  // namespace bulkhead::walls
