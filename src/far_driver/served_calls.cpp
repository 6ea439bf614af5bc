// The other end of what client.cpp and its like ask, call by call.

#include "far_driver/served_calls.h"

#include <vector>

#include "driver/pointer_attributes.h"
#include "driver/shared_machine.h"
#include "driver/simulated_driver.h"
#include "driver/simulator_api.h"
#include "driver/state.h"

namespace bulkhead::far_driver {
namespace {

using namespace driver;

constexpr std::size_t kMost = std::size_t{1} << 20;  ///< of anything that is counted

const DriverApi& api() {
    return simulatedDriver();
}

std::size_t countIn(Message& request, std::size_t most) {
    const auto count = request.take<std::size_t>();
    if (count > most) throw Error("a request of {} of something", count);
    return count;
}

template <class T>
std::vector<T> takeSeveral(Message& request, std::size_t count) {
    std::vector<T> several;
    for (std::size_t i = 0; i < count; ++i) several.push_back(request.take<T>());
    return several;
}

template <auto member>
struct ServedPlainly;
template <class... Parameters, CUresult (*DriverApi::*member)(Parameters...)>
struct ServedPlainly<member> {
    static CUresult serve(Message& request, Message& reply) {
        (void)request, (void)reply;
        // Braces: parameters are read in their order.
        std::tuple<typename Passing<Parameters>::Held...> held{typename Passing<Parameters>::Held(request)...};
        return std::apply(
            [&](auto&... each) {
                const CUresult result = (api().*member)(each.argument()...);
                (each.answer(reply), ...);
                return result;
            },
            held);
    }
};

template <auto member>
CUresult text(Message& request, Message& reply) {
    const bool given = request.take<bool>();
    const auto length = request.take<int>();
    const auto device = request.take<CUdevice>();
    if (length < 0 || static_cast<std::size_t>(length) > kMost) throw Error("a text of {} bytes", length);
    std::vector<char> words(static_cast<std::size_t>(length) + 1);
    const CUresult result = (api().*member)(given ? words.data() : nullptr, length, device);
    reply.putBytes(words.data(), static_cast<std::size_t>(length));
    return result;
}

CUresult pointerAttribute(Message& request, Message& reply) {
    const auto attribute = request.take<CUpointer_attribute>();
    const auto address = request.take<CUdeviceptr>();
    std::uint64_t value = 0;
    const CUresult result = api().cuPointerGetAttribute(&value, attribute, address);
    reply.put(value);
    return result;
}
CUresult poolSetAttribute(Message& request, Message&) {
    const auto pool = request.take<CUmemoryPool>();
    const auto attribute = request.take<CUmemPool_attribute>();
    auto value = request.take<std::uint64_t>();
    return api().cuMemPoolSetAttribute(pool, attribute, &value);
}
CUresult poolGetAttribute(Message& request, Message& reply) {
    const auto pool = request.take<CUmemoryPool>();
    const auto attribute = request.take<CUmemPool_attribute>();
    std::uint64_t value = 0;
    const CUresult result = api().cuMemPoolGetAttribute(pool, attribute, &value);
    reply.put(value);
    return result;
}
CUresult setAccess(Message& request, Message&) {
    const auto address = request.take<CUdeviceptr>();
    const auto bytes = request.take<std::size_t>();
    const std::size_t count = countIn(request, kMost);
    const auto access = takeSeveral<CUmemAccessDesc>(request, count);
    return api().cuMemSetAccess(address, bytes, access.data(), count);
}
CUresult splitByCount(Message& request, Message& reply) {
    const bool given = request.take<bool>();
    auto groups = request.take<unsigned>();
    const auto input = request.take<CUdevResource>();
    const bool rest = request.take<bool>();
    const auto flags = request.take<unsigned>();
    const auto minimum = request.take<unsigned>();
    if (groups > kMost) throw Error("{} groups of SMs", groups);
    std::vector<CUdevResource> result(given ? groups : 0);
    CUdevResource remaining = {};
    const CUresult code = api().cuDevSmResourceSplitByCount(given ? result.data() : nullptr, &groups, &input,
                                                            rest ? &remaining : nullptr, flags, minimum);
    reply.put(groups);
    for (unsigned i = 0; given && i < groups && i < result.size(); ++i) reply.put(result[i]);
    if (rest) reply.put(remaining);
    return code;
}
CUresult generateDesc(Message& request, Message& reply) {
    const auto count = request.take<unsigned>();
    auto resources = takeSeveral<CUdevResource>(request, std::min<std::size_t>(count, kMost));
    CUdevResourceDesc description = nullptr;
    const CUresult code = api().cuDevResourceGenerateDesc(&description, resources.data(), count);
    reply.put(description);
    return code;
}

// Copies. What came with a request, or goes with its answer, is pageable memory here: a copy from it is taken over at
// once, and one to it has ended when the call has.

/// Before memory is taken for a copy here.
void expectFits(std::size_t bytes) {
    std::size_t free = 0, total = 0;
    if (bytes > kMost && (api().cuMemGetInfo(&free, &total) != CUDA_SUCCESS || bytes > total))
        throw Error("a copy of {} bytes, more than the GPU's memory holds", bytes);
}

template <bool async>
CUresult copyIn(Message& request, Message&) {
    const auto to = request.take<CUdeviceptr>();
    const auto stream = request.take<CUstream>();
    const auto bytes = request.take<std::size_t>();
    const std::uint8_t* from = request.takeBytes(bytes);
    const HostWindow window(from, bytes);
    return async ? api().cuMemcpyHtoDAsync(to, from, bytes, stream) : api().cuMemcpyHtoD(to, from, bytes);
}
template <bool async>
CUresult copyOut(Message& request, Message& reply) {
    const auto from = request.take<CUdeviceptr>();
    const auto stream = request.take<CUstream>();
    const auto bytes = request.take<std::size_t>();
    expectFits(bytes);
    std::vector<std::uint8_t>& to = reply.bytes();
    const std::size_t before = to.size();
    to.resize(before + bytes);
    const HostWindow window(to.data() + before, bytes);
    return async ? api().cuMemcpyDtoHAsync(to.data() + before, from, bytes, stream)
                 : api().cuMemcpyDtoH(to.data() + before, from, bytes);
}

CUresult copyBox(Message& request, Message& reply) {
    const bool async = request.take<bool>();
    const auto stream = request.take<CUstream>();
    const bool fromThere = request.take<bool>(), toThere = request.take<bool>();
    auto box = request.take<CUDA_MEMCPY3D>();
    std::size_t bytes = 0;
    if (__builtin_mul_overflow(box.WidthInBytes, box.Height, &bytes) ||
        __builtin_mul_overflow(bytes, box.Depth, &bytes))
        throw Error("a copy of more than any memory holds");
    expectFits(bytes);
    if (fromThere) {
        box.srcMemoryType = kHostMemory;
        box.srcHost = request.takeBytes(bytes);
        box.srcXInBytes = box.srcY = box.srcZ = 0;
        box.srcPitch = box.WidthInBytes;
        box.srcHeight = box.Height;
    }
    if (toThere) {
        box.dstMemoryType = kHostMemory;
        reply.bytes().resize(reply.bytes().size() + bytes);
        box.dstHost = reply.bytes().data() + reply.bytes().size() - bytes;
        box.dstXInBytes = box.dstY = box.dstZ = 0;
        box.dstPitch = box.WidthInBytes;
        box.dstHeight = box.Height;
    }
    const HostWindow from(box.srcHost, fromThere ? bytes : 0), to(box.dstHost, toThere ? bytes : 0);
    return async ? api().cuMemcpy3DAsync(&box, stream) : api().cuMemcpy3D(&box);
}

// Modules and launches.

CUresult load(Message& request, Message& reply) {
    std::vector<std::uint8_t>& image = request.bytes();
    image.push_back(0);  // text ends so
    CUmodule module = nullptr;
    const CUresult result = api().cuModuleLoadData(&module, image.data());
    reply.put(module);
    return result;
}

CUresult launch(Message& request, Message&) {
    auto config = request.take<CUlaunchConfig>();
    if (config.numAttrs > kMost) throw Error("{} attributes of a launch", config.numAttrs);
    auto attributes = takeSeveral<CUlaunchAttribute>(request, config.numAttrs);
    config.attrs = attributes.data();
    const auto function = request.take<CUfunction>();
    std::size_t bytes = countIn(request, kMost);
    const std::uint8_t* arguments = request.takeBytes(bytes);
    void* extra[] = {reinterpret_cast<void*>(std::uintptr_t{1}), const_cast<std::uint8_t*>(arguments),
                     reinterpret_cast<void*>(std::uintptr_t{2}), &bytes, nullptr};
    return api().cuLaunchKernelEx(&config, function, nullptr, bytes > 0 ? extra : nullptr);
}

CUresult potentialBlockSize(Message& request, Message& reply) {
    const auto function = request.take<CUfunction>();
    const auto dynamicBytes = request.take<std::size_t>();
    const auto limit = request.take<int>();
    const auto flags = request.take<unsigned>();
    int grid = 0, block = 0;
    const CUresult result =
        api().cuOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, function, nullptr, dynamicBytes, limit, flags);
    reply.put(grid);
    reply.put(block);
    return result;
}

// Of simulated GPUs alone.

CUresult setAllocation(Message& request, Message&) {
    sim::AllocationOptions options;
    options.pageBytes = request.take<Bytes>();
    const std::size_t count = countIn(request, kMost);
    options.colors = takeSeveral<std::uint32_t>(request, count);
    return simulatorApi().setAllocation(options);
}
CUresult physicalAddress(Message& request, Message& reply) {
    std::uint64_t physical = 0;
    const CUresult result = simulatorApi().physicalAddress(&physical, request.take<CUdeviceptr>());
    reply.put(physical);
    return result;
}
CUresult pageColor(Message& request, Message& reply) {
    std::uint32_t color = 0;
    const CUresult result = simulatorApi().pageColor(&color, request.take<CUdeviceptr>());
    reply.put(color);
    return result;
}
CUresult limitThreads(Message& request, Message&) {
    return simulatorApi().limitThreads(request.take<double>());
}
CUresult seconds(Message&, Message& reply) {
    return call([&] {
        const sim::Machine& gpu = *state().devices.begin()->second->gpu;
        reply.put(gpu.seconds(gpu.now()));
    });
}

using Table = std::array<ServedCall, kRequests>;

template <auto... members>
void enter(Table& table, CallList<members...>) {
    ((table[numberOf(members)] = ServedPlainly<members>::serve), ...);
}

Table makeServedTable() {
    Table table = {};
    enter(table, PlainCalls());
    const auto at = [&](auto member) -> ServedCall& { return table[numberOf(member)]; };
    at(&DriverApi::cuDeviceGetName) = text<&DriverApi::cuDeviceGetName>;
    at(&DriverApi::cuDeviceGetPCIBusId) = text<&DriverApi::cuDeviceGetPCIBusId>;
    at(&DriverApi::cuPointerGetAttribute) = pointerAttribute;
    at(&DriverApi::cuMemPoolSetAttribute) = poolSetAttribute;
    at(&DriverApi::cuMemPoolGetAttribute) = poolGetAttribute;
    at(&DriverApi::cuMemSetAccess) = setAccess;
    at(&DriverApi::cuDevSmResourceSplitByCount) = splitByCount;
    at(&DriverApi::cuDevResourceGenerateDesc) = generateDesc;
    at(&DriverApi::cuMemcpyHtoD) = copyIn<false>;
    at(&DriverApi::cuMemcpyHtoDAsync) = copyIn<true>;
    at(&DriverApi::cuMemcpyDtoH) = copyOut<false>;
    at(&DriverApi::cuMemcpyDtoHAsync) = copyOut<true>;
    at(&DriverApi::cuMemcpy3D) = copyBox;
    at(&DriverApi::cuModuleLoadData) = load;
    at(&DriverApi::cuLaunchKernelEx) = launch;
    at(&DriverApi::cuOccupancyMaxPotentialBlockSizeWithFlags) = potentialBlockSize;
    const auto also = [&](Request request) -> ServedCall& { return table[static_cast<std::size_t>(request)]; };
    also(Request::setAllocation) = setAllocation;
    also(Request::physicalAddress) = physicalAddress;
    also(Request::pageColor) = pageColor;
    also(Request::limitThreads) = limitThreads;
    also(Request::seconds) = seconds;
    return table;
}

}  // namespace

const Table& servedCalls() {
    static const Table table = makeServedTable();
    return table;
}

}  // namespace bulkhead::far_driver
