#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ptx/persistent_blocks.h"
#include "walls/color_space.h"
#include "walls/green_place.h"
#include "walls/mapped_memory.h"
#include "walls/walled_graphs.h"
#include "walls/walls.h"

namespace bulkhead::walls {

/// Leaves a call of the walled driver with a code of the driver's.
struct Failure {
    driver::CUresult code;
    std::string why;
};

/// Of the handles that CUDA has for it.
bool isDefaultStream(driver::CUstream);
/// What CU_LAUNCH_PARAM_BUFFER_POINTER and _SIZE say among a launch's extra arguments.
std::span<const std::uint8_t> packedArguments(void** extra);

/// A context inside walls, as a partition context has it: it does what the calls of the walled driver ask for, inside
/// the walls, by calls of the driver behind it. Throws Failure.
class WalledContext {
  public:
    struct Options {
        driver::CUcontext real = nullptr;  ///< the context that it shares with others
        driver::CUdevice device = 0;
        Walls walls;
        Coloring coloring = {};
        double oversubscription = 1;
        std::shared_ptr<GreenPlace> place;  ///< null where blocks find their SMs by themselves
        std::shared_ptr<ColorSpace> space;  ///< null where no addresses are translated
        std::shared_ptr<void> ground;       ///< what it stands on
    };
    WalledContext(const driver::DriverApi& inner, Options);
    ~WalledContext();
    WalledContext(const WalledContext&) = delete;
    WalledContext& operator=(const WalledContext&) = delete;

    /// Held by whoever does something with it, one at a time, or only waits for its work. Closing it waits for both.
    /// Throw Failure once it is closed, also to those who came before.
    [[nodiscard]] std::unique_lock<std::recursive_mutex> lock();
    [[nodiscard]] std::shared_lock<std::shared_mutex> stay();
    const Walls& walls() const { return walls_; }
    const driver::DriverApi& inner() const { return inner_; }
    driver::CUcontext handle() { return reinterpret_cast<driver::CUcontext>(this); }
    driver::CUcontext realContext() const { return real_; }
    driver::CUdevice device() const { return device_; }
    void makeCurrent() const;
    /// Ends everything that the program made in it: memory, modules and streams.
    void reset();
    /// The same for good.
    void close();
    bool isClosed() const { return closed_; }
    int sms() const;
    int allSms() const { return allSms_; }
    /// Whether blocks look for work where they find themselves.
    bool hasPersistentBlocks() const { return hasComputeWall() && !placedByDriver(); }
    /// Of a block's shared memory, by blocks that look for work: a word, and what dynamic shared memory is aligned to.
    int sharedBytesTaken() const { return hasPersistentBlocks() ? 16 : 0; }
    bool placedByDriver() const { return place_ != nullptr; }
    const GreenPlace* place() const { return place_.get(); }

    // Modules and launches: walled_launches.cpp.
    driver::CUmodule load(const void* image);
    void unload(driver::CUmodule);
    driver::CUfunction function(driver::CUmodule, const char* name);
    std::vector<std::string> kernelsOf(driver::CUmodule) const;
    /// Of a parameter, without those that walls add; false if there is none of that index.
    bool parameter(driver::CUfunction, std::size_t index, std::size_t* offset, std::size_t* bytes) const;
    /// A kernel's static shared memory without what walls added to it.
    int ownSharedBytes(driver::CUfunction, int all) const;
    struct Shape {
        gpu::Dim3 grid, block;
        unsigned sharedBytes = 0;
        std::uint64_t blocks() const { return std::uint64_t{grid.x} * grid.y * grid.z; }
    };
    /// Attributes are for where the driver places blocks.
    void launch(driver::CUfunction, const Shape&, driver::CUstream, void** parameters, void** extra,
                std::span<const driver::CUlaunchAttribute> attributes = {});
    /// Occupancies, and the shared memory that it may have, may have changed.
    void forgetOccupancy(driver::CUfunction);
    SmSet smsUsed() const;
    unsigned strayBlocks() const;

    // Memory: walled_memory.cpp.
    driver::CUdeviceptr allocate(Bytes);
    MappedMemory& mapped() { return mapped_; }
    driver::CUdeviceptr allocateManaged(Bytes, unsigned flags);
    /// Whether it is managed memory behind a memory wall.
    bool isManaged(driver::CUdeviceptr) const;
    void free(driver::CUdeviceptr);
    /// Whether nobody else can say anything of this address.
    bool isTranslated(driver::CUdeviceptr address) const { return space_ && space_->contains(address); }
    struct Range {
        driver::CUdeviceptr base = 0;
        Bytes bytes = 0;
    };
    std::optional<Range> allocationAt(driver::CUdeviceptr) const;
    driver::CUdeviceptr realAddress(driver::CUdeviceptr) const;
    unsigned colorOf(driver::CUdeviceptr) const;
    const ColorSpace* space() const { return space_.get(); }
    Bytes memoryUsed() const { return used_; }
    void memoryInfo(std::size_t* free, std::size_t* total) const;
    bool hasMemoryWall() const { return !walls_.colors.empty(); }
    /// Whether memory has to come from the share.
    bool limitsMemory() const { return hasMemoryWall() || walls_.memory != 0; }

    // Copies and fills: walled_copies.cpp.
    /// One end of a copy: an address and the distance of its rows.
    struct End {
        driver::CUdeviceptr device = 0;
        void* host = nullptr;  ///< null: in device memory
        std::size_t pitch = 0;
    };
    void copy(const End& to, const End& from, std::size_t width, std::size_t height, driver::CUstream);
    void fill(driver::CUdeviceptr, std::size_t pitch, unsigned value, unsigned elementBytes, std::size_t width,
              std::size_t height, driver::CUstream);

    WalledGraphs& graphs() { return graphs_; }

    // Streams: walled_streams.cpp.
    /// The stream that a handle of the program's means, ready for more work: what CUDA's default stream waits for, and
    /// what waits for it, is ordered. The default stream is our own.
    driver::CUstream enter(driver::CUstream);
    driver::CUstream createStream(unsigned flags, int priority);
    void destroyStream(driver::CUstream);
    unsigned flagsOf(driver::CUstream) const;
    /// Waits for all of the tenant's work, or for that of one of the program's streams. Called by those who stay.
    void synchronize();
    void synchronize(driver::CUstream);

  private:
    friend class WalledGraphs;

    std::shared_mutex open_;  ///< taken before the other one
    std::recursive_mutex mutex_;
    struct Parameter {
        std::size_t offset = 0, bytes = 0;
    };
    struct Function {
        std::string name;
        std::vector<Parameter> parameters;  ///< with those that walls add
        std::size_t own = 0;                ///< how many are the program's
        bool ownsShared = false;            ///< whether the program declares any
        int sharedBytesAdded = 0;
        unsigned sharedAllowed = 0;                              ///< dynamic shared memory that it is known to have
        bool usesSlots = false;                                  ///< has no shared memory for the index of a block
        std::map<std::pair<unsigned, unsigned>, int> occupancy;  ///< by threads and dynamic shared memory
    };
    struct Module {
        std::map<std::string, Function> kernels;
        std::map<std::string, std::string> refused;  ///< kernels that cannot be walled, and why
        std::set<driver::CUfunction> functions;
    };
    /// Work is counted, so that streams wait for each other only where there is something to wait for.
    struct Stream {
        unsigned flags = 0;
        std::uint64_t work = 0;           ///< given to it so far
        std::uint64_t seenByDefault = 0;  ///< of that, what the default stream has waited for
        std::uint64_t defaultSeen = 0;    ///< of the default stream's work, what this one has waited for
        bool blocks() const;              ///< whether it and the default stream wait for each other
    };
    struct Allocation {
        Bytes bytes = 0;
        std::optional<ColoredHeap::Range> range = {};  ///< of a translated one
        bool onHost = false;                           ///< not of the share
    };

    void check(driver::CUresult, const char* what) const;
    void clear();
    void expectOpen() const;
    void makeQueue();
    driver::CUdeviceptr allocateForQueue(std::size_t words);
    ptx::PersistentModule walled(std::string ptx) const;
    std::string ptxOf(const void* image) const;
    void allowShared(Function&, driver::CUfunction, const Shape&);
    unsigned placesOf(Function&, driver::CUfunction, const Shape&, bool* fewerThanFit) const;
    unsigned fillTurn(Function&, driver::CUfunction, const Shape&, ptx::PersistentLaunch&);
    void endTurn(const ptx::PersistentLaunch&);
    /// Of a launch that is captured: what it counts by is its graph's.
    void fillCapturedTurn(const Function&, ptx::PersistentLaunch&, driver::CUstream);
    void takeTurn(driver::CUstream);
    void makeStaging();
    /// Whether bytes that follow each other in the window do so in real memory.
    bool liesInOnePiece(driver::CUdeviceptr, std::size_t bytes) const;
    void plainCopy(const End& to, const End& from, std::size_t width, std::size_t height, driver::CUstream);
    void copyOnDevice(const End& to, const End& from, std::size_t width, std::size_t height, driver::CUstream);
    void launchMover(const char* name, std::size_t elements, driver::CUstream, void** parameters);
    /// Throws Failure if the share has less left.
    void expectLeft(Bytes) const;
    driver::CUdeviceptr allocatePages(Bytes);
    bool hasComputeWall() const { return !walls_.sms.empty(); }
    driver::CUstream makeStream(int priority) const;
    void wait(driver::CUstream later, driver::CUstream earlier);
    void gather();
    void waitFor(driver::CUstream real) const;
    void release(const Allocation&, driver::CUdeviceptr);

    const driver::DriverApi& inner_;
    driver::CUcontext real_;
    driver::CUdevice device_;
    Walls walls_;
    Coloring coloring_;
    double oversubscription_;
    std::shared_ptr<void> ground_;  ///< outlives the space
    std::shared_ptr<GreenPlace> place_;
    std::shared_ptr<ColorSpace> space_;
    int allSms_ = 0;
    unsigned insideCount_ = 0;  ///< SMs in the walls

    std::atomic<bool> closed_ = false;
    driver::CUstream default_ = nullptr;
    std::uint64_t defaultWork_ = 0;
    std::map<driver::CUstream, Stream> streams_;
    driver::CUdeviceptr queue_ = 0;
    driver::CUdeviceptr slots_ = 0;     ///< of the queue, made when a kernel needs them
    unsigned turn_ = 0, turnUsed_ = 0;  ///< of the queue: the next launch's, and the bytes that the one before used
    std::optional<driver::CUstream> lastLaunch_;  ///< stream of the launch before
    driver::CUevent order_ = nullptr;

    std::unordered_map<driver::CUmodule, Module> modules_;
    std::unordered_map<driver::CUfunction, Function> functions_;
    driver::CUmodule movers_ = nullptr;       ///< kernels that copy and fill
    driver::CUmemoryPool staging_ = nullptr;  ///< plain memory that they copy by way of

    std::map<driver::CUdeviceptr, Allocation> allocations_;
    MappedMemory mapped_{*this};
    WalledGraphs graphs_{*this};
    Bytes used_ = 0;
};

}  // namespace bulkhead::walls
