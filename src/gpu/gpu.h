#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "gpu/capabilities.h"
#include "gpu/device_info.h"
#include "sim/separation.h"
#include "sim/timing.h"

namespace bulkhead::arch {
struct DeviceProfile;
}
namespace bulkhead::far_driver {
struct Place;
}
namespace bulkhead::sim {
class Machine;
class Observer;
}  // namespace bulkhead::sim

namespace bulkhead::gpu {

struct Dim3 {
    unsigned x = 1, y = 1, z = 1;
};

/// A driver and one of its contexts, shared by everything made in it: nothing outlives what it stands on.
struct ContextState;
using ContextRef = std::shared_ptr<ContextState>;

/// An order of work: what is put into one stream happens one after the other.
class Stream {
  public:
    /// Waits for everything put into it. Throws Error if a kernel failed.
    void synchronize();
    driver::CUstream handle() const { return handle_.get(); }

  private:
    friend class Context;
    friend class Event;
    friend class Kernel;
    explicit Stream(ContextRef);
    ContextRef context_;
    std::shared_ptr<driver::CUstream_st> handle_;
};

/// A moment in a stream.
class Event {
  public:
    void record(const Stream&);
    void synchronize();
    /// Between two events that have happened. Simulated GPUs count simulated time.
    double secondsSince(const Event& start) const;

  private:
    friend class Context;
    explicit Event(ContextRef);
    ContextRef context_;
    std::shared_ptr<driver::CUevent_st> handle_;
};

/// Device memory without a type. Freed with its last owner.
class Buffer {
  public:
    Buffer() = default;
    driver::CUdeviceptr address() const { return address_; }
    std::size_t bytes() const { return bytes_; }
    void copyIn(const void* from, std::size_t bytes, std::size_t offset = 0);
    void copyOut(void* to, std::size_t bytes, std::size_t offset = 0) const;
    void fill(std::uint8_t value);
    /// A fill that takes its turn in a stream.
    void fill(std::uint8_t value, const Stream&);
    /// The first bytes of another buffer, copied on the GPU when the stream comes to it.
    void copyFrom(const Buffer&, std::size_t bytes, const Stream&);

  private:
    friend class Context;
    Buffer(ContextRef, std::size_t bytes);
    ContextRef context_;
    std::shared_ptr<void> owner_;
    driver::CUdeviceptr address_ = 0;
    std::size_t bytes_ = 0;
};

/// An array in device memory. As an argument of a kernel it is its address.
template <class T>
class Array {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    Array() = default;
    Array(Buffer buffer, std::size_t size) : buffer_(std::move(buffer)), size_(size) {}
    std::size_t size() const { return size_; }
    driver::CUdeviceptr address() const { return buffer_.address(); }
    Buffer& buffer() { return buffer_; }
    const Buffer& buffer() const { return buffer_; }
    /// All of another array, copied on the GPU when the stream comes to it.
    void copyFrom(const Array& from, const Stream& stream) {
        buffer_.copyFrom(from.buffer_, from.size_ * sizeof(T), stream);
    }
    void upload(std::span<const T> from) { buffer_.copyIn(from.data(), from.size_bytes()); }
    std::vector<T> download() const {
        std::vector<T> to(size_);
        buffer_.copyOut(to.data(), size_ * sizeof(T));
        return to;
    }
    /// The content, which nonsense replaces: what is found here later, somebody wrote after this.
    std::vector<T> take() {
        constexpr std::uint8_t kNonsense = 0xA5;
        std::vector<T> content = download();
        buffer_.fill(kNonsense);
        return content;
    }

  private:
    Buffer buffer_;
    std::size_t size_ = 0;
};

class LaunchTimer;

/// A kernel of a module.
class Kernel {
  public:
    Kernel() = default;
    /// Puts a launch into the stream. Each argument has the type that the kernel's parameter has (their number and
    /// sizes are checked); an Array stands for its address.
    template <class... Arguments>
    void launch(const Stream& stream, Dim3 grid, Dim3 block, std::size_t sharedBytes, const Arguments&... arguments) {
        std::vector<Argument> list;
        list.reserve(sizeof...(arguments));
        (list.push_back(argument(arguments)), ...);
        launchWith(stream, grid, block, sharedBytes, list);
    }
    /// The same with arguments whose types only the caller of this program knows.
    void launchBytes(const Stream&, Dim3 grid, Dim3 block, std::size_t sharedBytes,
                     std::span<const std::vector<std::uint8_t>> arguments);
    /// Launches may give a block that much dynamic shared memory, where GPUs have more than programs get by default.
    void permitShared(std::size_t dynamicBytes);
    /// Blocks of that many threads that fit on one SM.
    int blocksPerSm(unsigned threads, std::size_t dynamicSharedBytes = 0) const;
    const std::string& name() const { return name_; }
    driver::CUfunction handle() const { return handle_; }

  private:
    friend class Module;
    struct Argument {
        const void* data;
        std::size_t bytes;
        driver::CUdeviceptr address;
    };
    template <class T>
    static Argument argument(const T& value) {
        static_assert(std::is_trivially_copyable_v<T>);
        return {&value, sizeof value, 0};
    }
    template <class T>
    static Argument argument(const Array<T>& array) {
        return {nullptr, sizeof(driver::CUdeviceptr), array.address()};
    }
    void launchWith(const Stream&, Dim3 grid, Dim3 block, std::size_t sharedBytes, std::vector<Argument>&);

    ContextRef context_;
    std::shared_ptr<driver::CUmod_st> module_;
    driver::CUfunction handle_ = nullptr;
    std::string name_;
    bool parametersKnown_ = false;  ///< whether the driver can tell
    std::vector<std::size_t> parameterBytes_;
};

/// Device code in a context.
class Module {
  public:
    Module() = default;
    /// Throws Error if there is none of that name.
    Kernel kernel(const std::string& name) const;
    /// The address and size of a variable of the module.
    std::pair<driver::CUdeviceptr, std::size_t> variable(const std::string& name) const;

  private:
    friend class Context;
    Module(ContextRef, const char* image);
    ContextRef context_;
    std::shared_ptr<driver::CUmod_st> handle_;
};

/// Its own address space on a GPU, with its modules, memory and streams. Copies name the same context. May be used from
/// any thread; each call makes it current where it is not.
class Context {
  public:
    Module load(const char* ptx);
    Buffer allocate(std::size_t bytes);
    template <class T>
    Array<T> array(std::size_t size) {
        return {allocate(size * sizeof(T)), size};
    }
    template <class T>
    Array<T> array(const std::vector<T>& content) {
        Array<T> a = array<T>(content.size());
        a.upload(content);
        return a;
    }
    Stream createStream();
    Stream defaultStream();
    Event createEvent();
    /// Waits for all of its streams. Throws Error if a kernel failed.
    void synchronize();
    void makeCurrent();
    /// Tells the timer of every launch from now on; null: of none.
    void timeLaunches(LaunchTimer*);

    /// Seconds of the clock that limits of its work are meant by: the wall's, or, where time passes only in calls that
    /// wait, the GPU's own.
    double now() const;
    /// Where a device address of its lies. Throws Error where the GPU does not tell, or there is no memory.
    std::uint64_t physicalAddress(driver::CUdeviceptr);
    /// The share of the GPU's threads, from 0 to 1, that it may have at once, as MPS limits its clients. Throws Error
    /// where contexts of one process do not run side by side.
    void limitThreads(double share);
    /// Whether launches on its GPU are a neighbour's from now on: see SimulationOptions::separate. Of no meaning to a
    /// real GPU.
    void launchAsNeighbour(bool);

    const DeviceInfo& info() const;
    const driver::DriverApi& api() const;

  private:
    friend class Gpu;
    explicit Context(ContextRef state) : state_(std::move(state)) {}
    ContextRef state_;
};

/// What a GPU can be told that is settable.
struct SimulationOptions {
    std::string scheduler = "gto";
    std::vector<std::string> settings;  ///< KEY=VALUE, parameters of its profile
    sim::Observer* observer = nullptr;
    sim::Timing timing = sim::Timing::whole;
    std::function<void(const class LaunchCounters&)>
        heartbeat;  ///< addDevice(): called now and then while it simulates
    /// Contexts that are made by CUDA's own calls, the primary one included, run side by side as under MPS.
    bool concurrentContexts = false;
    sim::ResourceSet separate = {};  ///< of which a neighbour has copies of its own (sim::Separation)
};

class LaunchCounters;

/// A GPU, simulated or real.
class Gpu {
  public:
    /// "sim:NAME" or "sim:FILE.json" makes a simulated GPU; "cuda:N" opens a real one. Throws Error: no such profile,
    /// no driver, no such GPU, or a driver that is too old.
    static Gpu open(const std::string& name, const SimulationOptions& = {});

    /// The simulated GPU of that name that another process has for several; empty where none does. A process can have
    /// one. Nobody counts its launches here, and what other processes do there takes its time. Throws Error.
    static std::optional<Gpu> openKept(const std::string& name, const std::vector<std::string>& settings,
                                       const far_driver::Place&);

    const std::string& name() const { return name_; }
    const Capabilities& capabilities() const { return capabilities_; }
    /// "GPU-" and 32 digits, of this card and no other; empty where each process has one of its own.
    std::string uuid();
    /// Everything about it; null where nobody knows that.
    const arch::DeviceProfile* profile() const;
    const DeviceInfo& info() const { return primary_.info(); }
    const driver::DriverApi& api() const { return primary_.api(); }
    /// The context that a process has by default.
    Context& context() { return primary_; }
    /// Another address space on the same GPU. Contexts take turns; `concurrent` ones run side by side, as processes do
    /// under MPS. Throws Error where that takes processes.
    Context createContext(bool concurrent = false);
    /// Two contexts that have no SM in common: one whose work stays on a share of them, as many as asked
    /// for rounded up to what the hardware can give, and one on all the others. Throws Error where the driver has no
    /// green contexts.
    std::pair<Context, Context> createGreenPair(unsigned sms);
    /// A context of another table of calls that stands before this GPU's; destroyed with its last owner.
    /// `explain` tells what went wrong in the last call that failed, or nothing.
    Context adoptContext(const driver::DriverApi&, driver::CUcontext, std::function<std::string()> explain);
    /// Before a simulated GPU is torn down whose work is of no more use: it is not simulated to its end, which whatever
    /// is destroyed would wait for. A real GPU takes no work back.
    void discardWork();
    /// The file that its driver was loaded from; empty where the driver is part of this program.
    std::string driverFile() const;
    /// What it counts of launches. Throws Error where it counts none.
    LaunchCounters launchCounters() const;
    /// Once launches have executed that many warp instructions in all, those that run are ended with an error, and
    /// later ones end as they start. Throws Error where the GPU is not settable.
    void limitInstructions(std::uint64_t warpInstructions);
    bool instructionLimitReached() const;

  private:
    Gpu(std::string name, Context primary);
    static Gpu openReal(const std::string& name, int ordinal);
    sim::Machine* machine() const;
    /// A share of the SMs, and the others.
    std::pair<driver::CUdevResource, driver::CUdevResource> share(unsigned sms) const;
    Context makeGreen(driver::CUdevResource);
    std::string name_;
    Capabilities capabilities_;
    Context primary_;
};

}  // namespace bulkhead::gpu
