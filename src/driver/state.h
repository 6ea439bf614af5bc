#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "driver/driver_api.h"
#include "driver/jit_options.h"
#include "driver/linked_image.h"
#include "ptx/module.h"
#include "sim/machine.h"

// What the simulated driver knows, shared by the files that implement its calls. Everything here is under one lock,
// which a call holds from its beginning to its end, but while a function of the program runs in a stream. The
// simulation runs inside the calls that wait, and in a thread of its own while the program waits elsewhere
// (background.h). Where several processes use one GPU, each has all of this to itself but for the machine
// (shared_machine.h).

namespace bulkhead::driver {

/// Shared memory that a block may have of which nobody has asked for more.
constexpr std::int64_t kSharedWithoutOptIn = 48 << 10;

/// CUlimit: those that have a meaning here. What is set of a stack or of printf is remembered; neither has a fixed size
/// in the simulator.
constexpr CUlimit kStackBytes = 0, kPrintfBytes = 1, kHeapBytes = 2, kPersistingL2Bytes = 6;

constexpr CUmemLocationType kDeviceLocation = 1;
constexpr CUmemAccess_flags kNoAccess = 0, kReadOnly = 1, kReadWrite = 3;

/// The calls themselves, spread over the files of this folder by area.
namespace simulated {
#define BULKHEAD_DECLARE_CALL(name, symbol, variant, parameters, arguments) CUresult name parameters;
BULKHEAD_DRIVER_CALLS(BULKHEAD_DECLARE_CALL)
#undef BULKHEAD_DECLARE_CALL
}  // namespace simulated

using CUlaunchAttributes = std::map<CUlaunchAttributeID, CUlaunchAttributeValue>;

/// How a range of device addresses came to be.
struct Allocation {
    enum class Kind : std::uint8_t { device, managed, pooled, graph } kind = Kind::device;
    Bytes bytes = 0;
    unsigned long long id = 0;
    CUmemoryPool pool = nullptr;
    std::weak_ptr<struct GraphMemory> graphMemory;
    std::vector<CUcontext> sharedWith;  ///< contexts of other devices that the pool's access has given it to
};

/// Addresses that were reserved, and what is mapped there.
struct Reservation {
    struct Piece {
        Bytes bytes = 0, offset = 0;
        std::shared_ptr<struct PhysicalHandle> memory;  ///< of any device
        std::map<CUcontext, bool> access;               ///< roots whose kernels may use it, and whether they may write
    };
    Bytes bytes = 0;
    std::map<CUdeviceptr, Piece> pieces;
};

/// Physical memory without an address, of cuMemCreate.
struct PhysicalHandle {
    CUdevice device = 0;
    CUmemAllocationProp properties = {};
    std::unique_ptr<sim::PhysicalBlock> block;
    unsigned references = 1;  ///< of the program's; mappings hold the memory as well
};

/// Host memory that devices reach at its own address.
struct HostRange {
    Bytes bytes = 0;
    unsigned flags = 0;
    enum class Kind : std::uint8_t { allocated, registered, managed } kind = Kind::allocated;
    CUcontext owner = nullptr;
    unsigned long long id = 0;
    std::shared_ptr<sim::HostBacking> memory;  ///< of allocated ones
};

/// A CUDA array: texels of device memory.
struct CUarray_st {
    CUcontext context = nullptr;  ///< a root
    CUDA_ARRAY3D_DESCRIPTOR description = {};
    sim::Image image;
    CUdeviceptr memory = 0;  ///< 0: a level of a mipmapped array, whose memory it is
    Bytes bytes = 0;
};

struct CUmipmappedArray_st {
    CUcontext context = nullptr;
    CUDA_ARRAY3D_DESCRIPTOR description = {};
    sim::Image image;
    CUdeviceptr memory = 0;
    std::vector<std::unique_ptr<CUarray_st>> levels;
};

/// What a texture or surface object was made from.
struct ImageObject {
    CUDA_RESOURCE_DESC resource = {};
    CUDA_TEXTURE_DESC texture = {};
    std::optional<CUDA_RESOURCE_VIEW_DESC> view;
};

struct Device;
class SharedMachine;

struct CUctx_st {
    Device* device = nullptr;
    /// Whose memory and modules it uses: its own, or, of a green context, the primary one's.
    CUcontext root = nullptr;
    sim::ContextId id = 0;
    unsigned long long number = 0;
    unsigned flags = 0;
    bool isPrimary = false, destroyed = false;
    unsigned attached = 0;  ///< by cuCtxAttach, and not detached
    std::vector<bool> sms;  ///< which SMs it may use; empty = all
    CUgreenCtx green = nullptr;

    std::unique_ptr<CUstream_st> null;  ///< the legacy default stream
    std::map<std::thread::id, std::unique_ptr<CUstream_st>> perThread;
    std::vector<std::unique_ptr<CUstream_st>> streams;
    std::vector<sim::StreamId> spareStreams;
    std::list<std::unique_ptr<CUevent_st>> events;
    std::list<std::unique_ptr<CUmod_st>> modules;

    // Of a root.
    std::map<CUdeviceptr, Allocation> allocations;
    std::map<CUdeviceptr, Reservation> reservations;
    std::set<CUcontext> peers;  ///< whose memory its kernels may use: roots of other devices
    std::map<CUdeviceptr, std::shared_ptr<struct GraphMemory>> liveGraphMemory;  ///< allocated, and not freed yet
    std::map<CUarray, std::unique_ptr<CUarray_st>> arrays;
    std::map<CUmipmappedArray, std::unique_ptr<CUmipmappedArray_st>> mipmappedArrays;
    std::map<CUtexObject, ImageObject> textures;
    std::map<CUsurfObject, ImageObject> surfaces;
    sim::AllocationOptions placement;
    std::map<CUlimit, std::size_t> limits;
    CUdeviceptr heap = 0;  ///< of device code's malloc; 0: nobody has used it yet
    CUfunc_cache cacheConfig = 0;
    CUsharedconfig sharedConfig = 0;
    unsigned launchLogs = 0;               ///< that want to know its launches; where there are none, they are forgotten
    std::vector<sim::LaunchId> launches;   ///< in order, since somebody wants to know
    std::vector<sim::LaunchId> unchecked;  ///< launches whose end nobody has looked at yet, in order
    CUresult failed = CUDA_SUCCESS;        ///< a kernel's fault stays with its context
    std::string why;

    ~CUctx_st();
};

struct CUgreenCtx_st {
    std::unique_ptr<CUctx_st> context;
};

struct CUmod_st {
    CUcontext context = nullptr;  ///< a root
    CUlibrary library = nullptr;  ///< that it is the image of, in that context
    sim::LoadedModule loaded;
    int ptxVersion = 0, target = 0;  ///< 75 stands for 7.5, and for sm_75
    std::map<std::string, std::unique_ptr<CUfunc_st>> functions;
    std::set<std::string> heapUsers;  ///< kernels that may allocate
    bool hasHeap = false;             ///< its code knows where the context's heap is
};

/// What a program may set of a function, or of a kernel for all contexts.
struct FunctionSettings {
    int maxDynamicShared = -1;  ///< -1: what needs no opt-in
    int sharedCarveout = sim::kNoCarveout;
    CUfunc_cache cacheConfig = 0;
    int cluster[3] = {};  ///< required; 0: as compiled
    int nonPortableCluster = 0, clusterScheduling = 0;
};

struct CUfunc_st {
    CUmodule module = nullptr;
    const sim::Code* code = nullptr;
    CUkernel kernel = nullptr;
    FunctionSettings settings;
    /// What the calls of CUDA 2 have set for the next launch.
    struct {
        sim::Dim3 block;
        unsigned sharedBytes = 0;
        std::vector<std::uint8_t> parameters;
    } next;
};

struct CUkern_st {
    CUlibrary library = nullptr;
    std::string name;
    FunctionSettings settings;
};

/// Code of no context yet: each that uses it gets a module of its own.
struct CUlib_st {
    std::shared_ptr<const ptx::Module> module;
    std::map<std::string, std::unique_ptr<CUkern_st>> kernels;
    std::map<CUcontext, CUmodule> loaded;
};

/// What a stream's next captured node depends on, or an event stands for.
struct CapturedPlace {
    std::shared_ptr<struct Capture> capture;  ///< null: none
    std::vector<CUgraphNode> nodes;
    std::vector<CUgraphEdgeData> edges;  ///< to each of these nodes
};

struct CUstream_st {
    CUcontext context = nullptr;
    sim::StreamId id = 0;
    bool blocking = true;  ///< waits for the default stream, and it for this one
    int priority = 0;
    unsigned long long number = 0;
    CUlaunchAttributes attributes;  ///< of launches that have none of the kind themselves
    CapturedPlace captured;
};

struct CUevent_st {
    CUcontext context = nullptr;
    bool timed = true;
    std::optional<sim::MarkerId> marker;  ///< of its last record
    CapturedPlace captured;               ///< if the last record was in a stream that is captured
};

struct CUmemPoolHandle_st {
    Device* device = nullptr;
    std::uint64_t releaseThreshold = 0, used = 0, usedHigh = 0;
    std::map<CUmemPool_attribute, int> reuse;
    std::map<CUdevice, CUmemAccess_flags> access;  ///< of other devices, by ordinal; none: none
};

/// A function of the program in a stream, whose turn has come. The stream waits for `done`.
struct HostFunction {
    std::function<void()> body;
    sim::MarkerId done = 0;
};

struct Device {
    CUdevice ordinal = 0;
    std::uint32_t place = 0;  ///< of its addresses, among the devices of now
    std::shared_ptr<sim::Machine> gpu;
    CUcontext primary = nullptr;
    int retained = 0;
    unsigned primaryFlags = 0;
    Bytes persistingL2 = 0;                           ///< set aside for lines that persist
    sim::Sharing sharing = sim::Sharing::timeSliced;  ///< of contexts that programs make
    std::unique_ptr<CUmemPoolHandle_st> defaultPool;
    CUmemoryPool pool = nullptr;
    struct {
        Bytes used = 0, usedHigh = 0, reserved = 0, reservedHigh = 0;
    } graphMemory;
    /// Copies from and to the host take turns on an engine each way.
    std::optional<sim::StreamId> copyIn, copyOut;
    std::deque<HostFunction> dueFunctions;
    unsigned runningFunctions = 0;
    std::optional<sim::StreamId> signals;  ///< where ends of functions are recorded
};

struct CUlinkState_st {
    LinkedImage image;
    JitOptions options;
    bool failed = false;  ///< an input could not be linked with those before
};

struct CUdevResourceDesc_st {
    std::vector<bool> sms;
};

enum class HandleKind : std::uint8_t {
    context,
    green,
    module,
    library,
    kernel,
    function,
    stream,
    event,
    pool,
    link,
    graph,
    node,
    exec,
    userObject,
    array,
    mipmappedArray,
};

template <class Handle>
constexpr HandleKind kindOf() {
    if constexpr (std::is_same_v<Handle, CUcontext>) return HandleKind::context;
    if constexpr (std::is_same_v<Handle, CUgreenCtx>) return HandleKind::green;
    if constexpr (std::is_same_v<Handle, CUmodule>) return HandleKind::module;
    if constexpr (std::is_same_v<Handle, CUlibrary>) return HandleKind::library;
    if constexpr (std::is_same_v<Handle, CUkernel>) return HandleKind::kernel;
    if constexpr (std::is_same_v<Handle, CUfunction>) return HandleKind::function;
    if constexpr (std::is_same_v<Handle, CUstream>) return HandleKind::stream;
    if constexpr (std::is_same_v<Handle, CUevent>) return HandleKind::event;
    if constexpr (std::is_same_v<Handle, CUmemoryPool>) return HandleKind::pool;
    if constexpr (std::is_same_v<Handle, CUlinkState>) return HandleKind::link;
    if constexpr (std::is_same_v<Handle, CUgraph>) return HandleKind::graph;
    if constexpr (std::is_same_v<Handle, CUgraphNode>) return HandleKind::node;
    if constexpr (std::is_same_v<Handle, CUgraphExec>) return HandleKind::exec;
    if constexpr (std::is_same_v<Handle, CUuserObject>) return HandleKind::userObject;
    if constexpr (std::is_same_v<Handle, CUarray>) return HandleKind::array;
    if constexpr (std::is_same_v<Handle, CUmipmappedArray>) return HandleKind::mipmappedArray;
}

struct Driver {
    static inline std::mutex mutex;
    std::condition_variable_any functionEnded;
    std::atomic<std::uint64_t> calls = 0;        ///< begun so far
    std::atomic<std::uint32_t> callsInside = 0;  ///< begun and not ended
    bool initialized = false;
    CUdevice nextOrdinal = 0;
    std::map<CUdevice, std::unique_ptr<Device>> devices;
    std::map<std::uintptr_t, HostRange> hostRanges;
    std::map<CUmemGenericAllocationHandle, std::shared_ptr<PhysicalHandle>> physical;
    std::map<std::uint64_t, std::weak_ptr<PhysicalHandle>> shared;  ///< by the number of the file that stands for it
    std::map<CUlibrary, std::unique_ptr<CUlib_st>> libraries;
    std::map<CUmemoryPool, std::unique_ptr<CUmemPoolHandle_st>> pools;
    std::map<CUlinkState, std::unique_ptr<CUlinkState_st>> links;
    std::map<CUdevResourceDesc, std::unique_ptr<CUdevResourceDesc_st>> resources;
    std::list<std::unique_ptr<CUctx_st>> contexts;  ///< destroyed ones too: a stale handle must be known for one
    std::list<std::unique_ptr<CUgreenCtx_st>> greens;
    std::map<CUgraph, std::shared_ptr<CUgraph_st>> graphs;  ///< those that programs own
    std::map<CUgraphExec, std::shared_ptr<CUgraphExec_st>> execs;
    std::map<CUuserObject, std::shared_ptr<CUuserObject_st>> userObjects;
    std::map<CUgraphConditionalHandle, std::weak_ptr<struct Condition>> conditions;
    std::vector<std::shared_ptr<struct Capture>> captures;  ///< under way
    std::unordered_map<const void*, HandleKind> handles;    ///< every one that was given out and not destroyed
    unsigned long long nextId = 1;                          ///< of contexts, streams, buffers and physical memory
    bool numbersAnew = false;                               ///< of SMs, in green contexts
    std::unique_ptr<sim::Overruns> overruns;                ///< told of reads beside allocations; null: they are errors
    std::shared_ptr<SharedMachine> machine;                 ///< with other processes; null: this one has its GPUs alone
    std::atomic<bool> abandoned = false;                    ///< the process is gone
    std::string printed;                                    ///< by its kernels, for a process elsewhere
    std::atomic<bool> hasPrinted = false;

    void print(std::string_view);
};

/// Of the process that this thread calls for.
Driver& state();
/// From now on this thread calls for that process; null: for its own. Returns the one before.
Driver* callFor(Driver*);

/// Leaves a call with a code of the driver's.
struct Failure {
    CUresult code;
    std::string why;
};

/// What is said of the calling thread's last call that failed.
std::string& lastErrorText();
/// True while a function of the program runs inside a call: it may call nothing.
bool& insideHostFunction();

/// Carries out a call under the lock; what is thrown becomes its result.
CUresult guarded(void (*body)(void*), void* data);
template <class Body>
CUresult call(Body&& body) {
    return guarded([](void* data) { (*static_cast<std::remove_reference_t<Body>*>(data))(); }, &body);
}
void requireInitialized();

inline void require(bool condition, CUresult code, const char* why) {
    if (!condition) throw Failure{code, why};
}
template <class... Pointers>
void requireOutput(Pointers... pointers) {
    require(((pointers != nullptr) && ...), CUDA_ERROR_INVALID_VALUE, "no place for a result");
}

template <class Handle>
Handle remember(Handle handle) {
    state().handles[handle] = kindOf<Handle>();
    return handle;
}
template <class Handle>
void forget(Handle handle) {
    state().handles.erase(handle);
}
template <class Handle>
bool isKnown(Handle handle) {
    const auto found = state().handles.find(handle);
    return found != state().handles.end() && found->second == kindOf<Handle>();
}
template <class Handle>
Handle known(Handle handle) {
    require(isKnown(handle), CUDA_ERROR_INVALID_HANDLE, "a handle that the driver never gave out, or has destroyed");
    return handle;
}

Device& deviceAt(CUdevice);

/// The context that is current, whatever its state.
CUcontext currentContext();
/// The context that is current, fit for work: throws its sticky error.
CUcontext current();
/// A context named by its handle: known, and not destroyed.
CUcontext liveContext(CUcontext);
/// The current one for null.
CUcontext contextOrCurrent(CUcontext);
std::vector<CUcontext>& contextStack();

/// A context on a device. `root`: of a green one, whose memory it uses.
std::unique_ptr<CUctx_st> newContext(Device&, sim::Sharing, CUcontext root = nullptr);
CUcontext createContext(Device&, sim::Sharing, unsigned flags);
CUcontext primaryContext(Device&);  ///< made if need be
/// Ends everything made in it. The handle stays known as a destroyed one.
void destroyContext(CUcontext);
/// The same for one of a device that goes away.
void destroyDevice(Device&);

inline sim::Machine& gpuOf(CUcontext context) {
    return *context->device->gpu;
}
inline sim::ContextMemory& memoryOf(CUcontext context) {
    return gpuOf(context).memory(context->root->id);
}

/// Looks at launches that have ended since; the first that failed marks the context, and is thrown.
void checkLaunches(CUcontext);
void markFailed(CUcontext, CUresult, std::string why);
CUresult codeOf(sim::LaunchError::Cause);
void waitFor(CUstream);
void waitForAll(CUcontext);
std::vector<sim::StreamId> streamsOf(CUcontext);

/// The stream that a handle names in the current context, default streams among them.
CUstream streamOf(CUcontext, CUstream);
/// The stream that calls without one work in.
CUstream defaultStream(CUcontext);
std::unique_ptr<CUstream_st> newStream(CUcontext, bool blocking, int priority);
CUstream createStream(CUcontext, unsigned flags, int priority);
/// The most urgent priority of streams: a number below 0, which is that of all others.
int greatestPriority(const Device&);
/// The default stream and the blocking ones wait for each other: whatever is about to be put into the stream comes
/// after what the other side holds now.
void order(CUstream);
/// Puts a function of the program into a stream, as part of what order() was called for.
void enqueueHostFunction(CUstream, std::function<void()>);
/// Runs the program's functions that are due, outside of the lock. False: there were none.
bool runDueFunctions(Device&);
/// Runs the simulation by `run`, which ends early for functions of the program that come due, until `done`.
void simulate(Device&, const std::function<bool()>& done, const std::function<void(sim::Machine&)>& run);
void finishStream(Device&, sim::StreamId);
/// Puts something that takes a while into a stream.
void enqueue(CUstream, double seconds, std::function<void()> action);
/// A copy or a fill that takes so long by itself.
void enqueue(CUstream, double seconds, sim::Transfer, std::function<void()> action);
/// The same on an engine that serves one at a time.
void enqueueOnEngine(CUstream, std::optional<sim::StreamId>& engine, double seconds, sim::Transfer,
                     std::function<void()> action);
/// Lets simulated time pass for a program that polls.
void poll(CUcontext);
/// Calls a function of the program, which must not call the driver.
void runHostFunction(const std::function<void()>&);

// Work that streams and graphs hold: checked when it was made, put into a stream when its turn comes.
struct KernelWork {
    CUfunction function = nullptr;
    CUkernel kernel = nullptr;    ///< if the program named that
    CUcontext context = nullptr;  ///< to run in
    sim::Dim3 grid, block;
    unsigned sharedBytes = 0;
    std::vector<std::uint8_t> parameters;  ///< packed
    CUlaunchAttributes attributes;

    bool cooperative() const;
    /// Blocks of its clusters: as its attributes or its function say; none if nobody does.
    std::optional<sim::Dim3> cluster() const;
    /// Of shared memory, in percent, as its attributes or its function prefer; sim::kNoCarveout if nobody does.
    int carveout() const;
    /// The one that its attributes give it, or that of its stream.
    int priorityIn(CUstream) const;
};
/// Gives it a stream's priority for its own, if it has none and that is not the usual one.
void keepPriority(KernelWork&, int priority);
/// Throws Failure unless it is a percentage, or sim::kNoCarveout.
void requireCarveout(int percent);
/// Throws Failure for an attribute that would change a kernel's meaning and has none here.
void checkLaunchAttribute(CUlaunchAttributeID, const CUlaunchAttributeValue&);
/// That a launch triggers: for nodes of graphs.
void requireNoEvents(const CUlaunchAttributes&);
/// Throws Failure if the GPU cannot hold it.
void checkKernel(const KernelWork&);
/// Checks sizes and takes the arguments over.
KernelWork kernelWork(CUcontext, CUfunction, sim::Dim3 grid, sim::Dim3 block, unsigned sharedBytes, void** parameters,
                      void** extra, CUlaunchAttributes);
void enqueueKernel(CUstream, const KernelWork&, int priority);
void checkCopy(CUcontext, const CUDA_MEMCPY3D&);
void enqueueCopy(CUcontext, CUstream, const CUDA_MEMCPY3D&);
void checkFill(CUcontext, const CUDA_MEMSET_NODE_PARAMS&);
void enqueueFill(CUcontext, CUstream, const CUDA_MEMSET_NODE_PARAMS&);

// Captures. Each of those that throw invalidates the captures that the call would have broken.
/// True: what the stream is told goes into a graph. Throws Failure if an earlier call has broken the capture.
bool capturing(CUstream);
/// For calls that have no place in a graph: throws Failure if the stream is captured or, of the legacy default stream,
/// if one that it waits for is.
void requireNotCapturing(CUstream);
/// For calls that wait for a whole context.
void requireNoneCapturing(CUcontext);
/// For calls that may wait behind the program's back, such as allocations: throws Failure where this thread's mode
/// forbids them during a capture.
void requireSafe();
/// For calls that wait for an event.
void requireNotCaptured(CUevent);
/// The stream, or its context, goes away.
void dropCapture(CUstream);
/// The parts of stream calls that concern captures: true if the call is done with that.
bool captureKernel(CUstream, KernelWork);
bool captureCopy(CUcontext, CUstream, const CUDA_MEMCPY3D&);
bool captureFill(CUcontext, CUstream, const CUDA_MEMSET_NODE_PARAMS&);
bool captureHostFunction(CUstream, CUhostFn, void* data);
bool captureRecord(CUstream, CUevent, bool external);
bool captureWait(CUstream, CUevent, bool external);
std::optional<CUdeviceptr> captureAllocation(CUcontext, CUstream, Bytes);
bool captureRelease(CUcontext, CUstream, CUdeviceptr);
/// Frees memory of a graph's that a launch has allocated: in a stream, or once everything is done. False: it is none.
bool freeGraphMemory(CUcontext, CUdeviceptr, CUstream);

/// Calls of this thread, for as long as it lives, take the thread's own default stream for the default one.
class PerThreadDefaultStream {
  public:
    PerThreadDefaultStream();
    ~PerThreadDefaultStream();
    PerThreadDefaultStream(const PerThreadDefaultStream&) = delete;
    PerThreadDefaultStream& operator=(const PerThreadDefaultStream&) = delete;

  private:
    bool before_;
};

// Modules.
/// The PTX in an image: text, a fatbin or its wrapper. Throws Failure for what cannot be executed.
std::string ptxOf(std::span<const std::uint8_t> image, const arch::DeviceProfile*);
/// An image where a program points to it, linked if it holds several modules.
ptx::Module parseImage(const void* image, const arch::DeviceProfile*);
/// A file with an image, or the call's error.
std::string imageIn(const char* path);
CUmodule loadModule(CUcontext, const ptx::Module&, CUlibrary = nullptr);
void unloadModule(CUmodule);
CUfunction functionOf(CUmodule, const std::string& name);
/// A function by its handle, or by a kernel's in the current context.
CUfunction resolveFunction(CUfunction);
CUmodule moduleOf(CUlibrary, CUcontext);
/// What a dynamic shared size may be, with what the program opted into.
std::int64_t dynamicSharedLimit(CUfunction);
/// The cluster that a function must be launched with, by its settings or as compiled; zeros if it need not.
sim::Dim3 requiredCluster(CUfunction);

// Memory.
enum class MemoryKind : std::uint8_t { device, managed, pinned, pageable };
/// What a pointer of the program points into.
struct Location {
    MemoryKind kind = MemoryKind::pageable;
    CUcontext context = nullptr;  ///< a root: of device memory
    CUdeviceptr base = 0;         ///< of the allocation, reservation or host range
    Bytes bytes = 0;
};
Location locate(CUcontext current, CUdeviceptr);
/// Reads or writes device memory of a context piece by piece. Throws Error where there is none.
void readDevice(CUcontext, CUdeviceptr, void* to, Bytes);
void writeDevice(CUcontext, CUdeviceptr, const void* from, Bytes);
/// The same by SMs, as fills are done: L2 keeps it otherwise.
void fillDevice(CUcontext, CUdeviceptr, const void* from, Bytes);
void moveDevice(CUcontext toContext, CUdeviceptr to, CUcontext fromContext, CUdeviceptr from, Bytes);
/// Throws Failure unless all of it is memory that the device may use.
void requireDeviceRange(CUcontext, CUdeviceptr, Bytes);
CUdeviceptr allocateDevice(CUcontext, Bytes, Allocation::Kind, CUmemoryPool = nullptr);
void freeDevice(CUcontext, CUdeviceptr);
void mapHostRanges(CUcontext);  ///< into a new context
void dropHostRangesOf(CUcontext);
/// Lets every context reach a range, and no longer.
void publishHostRange(CUdeviceptr, const HostRange&);
void withdrawHostRange(CUdeviceptr);
// Arrays, textures and surfaces.
/// A box of an array's bytes: those of rows, whatever tiles they lie in.
struct ArrayPart {
    CUarray array = nullptr;
    Bytes x = 0;
    Bytes y = 0, z = 0;
};
void requireArrayPart(const ArrayPart&, Bytes width, Bytes height, Bytes depth);
void readArrayRow(const ArrayPart&, Bytes y, Bytes z, void* to, Bytes bytes);
void writeArrayRow(const ArrayPart&, Bytes y, Bytes z, const void* from, Bytes bytes);
void forgetImagesOf(CUcontext);
/// A device attribute that limits textures or surfaces.
std::optional<int> imageLimit(CUdevice_attribute);

// Peers.
/// Whether kernels of one can use memory of the other.
bool canReach(const Device&, const Device& peer);
/// Ends all access to its memory, and its own to others'.
void forgetPeersOf(CUcontext root);
/// Gives a new context what pools of other devices let its device use.
void takePooled(CUcontext root);
/// Takes an allocation of a pool from all contexts of other devices.
void withdrawPooled(CUdeviceptr, Allocation&);
/// Takes memory of a device that is going away from wherever it is mapped.
void unmapMemoryOf(const Device&);
/// Waits for the work of those that may use its memory, and for its own.
void waitForUsersOf(CUcontext root);

double deviceSeconds(CUcontext, Bytes moved);
double linkSeconds(CUcontext, Bytes moved);

}  // namespace bulkhead::driver
