#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "gpu/device_info.h"

namespace bulkhead::sim {
class Gpu;
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
    Stream(ContextRef, bool isDefault);
    ContextRef context_;
    std::shared_ptr<driver::CUstream_st> handle_;  ///< null for the default stream
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
    /// Needed before launches with more dynamic shared memory than a kernel has by default (48 KB).
    void allowDynamicShared(std::size_t bytes);
    /// Blocks of that many threads that fit on one multiprocessor.
    int blocksPerMultiprocessor(unsigned threads, std::size_t dynamicSharedBytes = 0) const;
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

    const DeviceInfo& info() const;
    const driver::DriverApi& api() const;

  private:
    friend class Gpu;
    explicit Context(ContextRef state) : state_(std::move(state)) {}
    ContextRef state_;
};

/// What only a simulated GPU can be told.
struct SimulationOptions {
    std::string scheduler = "gto";
    std::vector<std::string> settings;  ///< KEY=VALUE, figures of its profile
    sim::Observer* observer = nullptr;
    std::function<void(const sim::Gpu&)> heartbeat;
};

/// A GPU, simulated or real.
class Gpu {
  public:
    /// "sim:NAME" or "sim:FILE.json" makes a simulated GPU; "cuda:N" opens a real one. Throws Error: no such profile,
    /// no driver, no such GPU, or a driver that is too old.
    static Gpu open(const std::string& name, const SimulationOptions& = {});

    const std::string& name() const { return name_; }
    /// "GPU-" and 32 digits, of this card and no other; empty for a simulated one.
    std::string uuid();
    const DeviceInfo& info() const { return primary_.info(); }
    const driver::DriverApi& api() const { return primary_.api(); }
    /// The context that a process has by default.
    Context& context() { return primary_; }
    /// Another address space on the same GPU. Contexts take turns; on a simulated GPU, `concurrent` ones run side by
    /// side, as processes do under MPS (a real GPU has that between processes only: Error).
    Context createContext(bool concurrent = false);
    /// A context whose work stays on a share of the multiprocessors, as many as asked for rounded up to what the
    /// hardware can give. Throws Error where the driver has no green contexts.
    Context createGreenContext(unsigned multiprocessors);
    /// Two that have no multiprocessor in common: such a share, and all the others.
    std::pair<Context, Context> createGreenPair(unsigned multiprocessors);
    /// A context of another table of calls that stands before this GPU's; destroyed with its last owner.
    /// `explain` tells what went wrong in the last call that failed, or nothing.
    Context adoptContext(const driver::DriverApi&, driver::CUcontext, std::function<std::string()> explain);
    /// The machine itself, for what no driver tells; null for a real GPU.
    sim::Gpu* simulator();

  private:
    Gpu(std::string name, Context primary) : name_(std::move(name)), primary_(std::move(primary)) {}
    /// A share of the multiprocessors, and the others.
    std::pair<driver::CUdevResource, driver::CUdevResource> share(unsigned multiprocessors) const;
    Context makeGreen(driver::CUdevResource);
    std::string name_;
    Context primary_;
};

}  // namespace bulkhead::gpu
