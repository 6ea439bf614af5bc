#include "far_driver/client.h"

#include <cstdio>
#include <mutex>

#include "driver/pointer_attributes.h"
#include "driver/simulated_driver.h"
#include "driver/state.h"
#include "far_driver/far_driver.h"
#include "far_driver/greeting.h"

namespace bulkhead::far_driver {
namespace {

using namespace driver;

/// The process that has the GPU. Never destroyed: programs call the driver to the very end.
struct Joined {
    Place place;
    std::uint64_t token = 0;
    Connection first;  ///< as long as it is open, the process is there
};
std::mutex joining;
Joined* joined = nullptr;

thread_local Connection ofThread;

std::optional<Connection> greet(const Place& place, const Greeting& greeting, Message& answer) {
    std::optional<Connection> connection = Connection::open(place.folder, place.socket);
    if (!connection) return std::nullopt;
    Message message;
    message.put(greeting);
    const bool sent = connection->send(static_cast<std::uint32_t>(Request::greet), message);
    std::optional<Connection::Received> received = sent ? connection->receive() : std::nullopt;
    if (!received) return std::nullopt;
    if (received->head != CUDA_SUCCESS) throw Error("{}", printable(received->message.takeText()));
    answer = std::move(received->message);
    return connection;
}

Keeper keeperAt(const Connection& connection, Message& answer) {
    const Connection::Peer peer = connection.peer();
    return {peer.process, peer.user, answer.takeText()};
}

/// False where it is gone.
bool connectThread() {
    if (ofThread) return true;
    const std::lock_guard lock(joining);
    if (!joined || !joined->first) return false;
    try {
        Message answer;
        Greeting greeting;
        greeting.token = joined->token;
        std::optional<Connection> connection = greet(joined->place, greeting, answer);
        if (!connection) return false;
        ofThread = std::move(*connection);
        return true;
    } catch (const Error&) {
        return false;
    }
}

template <class... Arguments>
void ignore(Arguments...) {}

namespace closed {
#define BULKHEAD_REFUSE(name, symbol, variant, parameters, arguments)                                         \
    CUresult name parameters {                                                                                \
        ignore arguments;                                                                                     \
        return refuse(CUDA_ERROR_NOT_SUPPORTED, #name " is not supported on a GPU that another process has"); \
    }
BULKHEAD_DRIVER_CALLS(BULKHEAD_REFUSE)
#undef BULKHEAD_REFUSE
}  // namespace closed

template <auto... members>
void enter(DriverApi& api, CallList<members...>) {
    ((api.*members = FarCall<members>::call), ...);
}

/// Text into a place of so many bytes.
template <auto member>
CUresult textOf(char* to, int length, CUdevice device) {
    Message message;
    message.put(to != nullptr);
    message.put(length);
    message.put(device);
    const CUresult result = ask(numberOf(member), message);
    if (result == CUDA_SUCCESS)
        std::memcpy(to, message.takeBytes(static_cast<std::size_t>(length)), static_cast<std::size_t>(length));
    return result;
}

std::size_t bytesOf(PointerAttribute attribute) {
    using A = PointerAttribute;
    switch (attribute) {
        case A::context:
        case A::devicePointer:
        case A::hostPointer:
        case A::bufferId:
        case A::rangeStart:
        case A::rangeBytes:
        case A::allowedHandles:
        case A::pool:
        case A::mappingBytes:
        case A::mappingBase:
            return sizeof(std::uint64_t);
        default:
            return sizeof(int);
    }
}

CUresult pointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
    if (!data) return refuse(CUDA_ERROR_INVALID_VALUE, "no place for a result");
    Message message;
    message.put(attribute);
    message.put(address);
    const CUresult result = ask(numberOf(&DriverApi::cuPointerGetAttribute), message);
    const std::size_t bytes = bytesOf(static_cast<PointerAttribute>(attribute));
    if (result == CUDA_SUCCESS) std::memcpy(data, message.takeBytes(sizeof(std::uint64_t)), bytes);
    return result;
}

/// As many bytes as the attribute has: an int, or a number of 64 bits.
std::size_t bytesOfPoolAttribute(CUmemPool_attribute attribute) {
    constexpr CUmemPool_attribute kLastReuse = 3;
    return attribute <= kLastReuse ? sizeof(int) : sizeof(std::uint64_t);
}
CUresult poolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
    if (!value) return refuse(CUDA_ERROR_INVALID_VALUE, "no value");
    std::uint64_t wide = 0;
    std::memcpy(&wide, value, bytesOfPoolAttribute(attribute));
    Message message;
    message.put(pool);
    message.put(attribute);
    message.put(wide);
    return ask(numberOf(&DriverApi::cuMemPoolSetAttribute), message);
}
CUresult poolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
    if (!value) return refuse(CUDA_ERROR_INVALID_VALUE, "no place for a result");
    Message message;
    message.put(pool);
    message.put(attribute);
    const CUresult result = ask(numberOf(&DriverApi::cuMemPoolGetAttribute), message);
    if (result == CUDA_SUCCESS)
        std::memcpy(value, message.takeBytes(sizeof(std::uint64_t)), bytesOfPoolAttribute(attribute));
    return result;
}

CUresult setAccess(CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc* access, std::size_t count) {
    if (!access) return refuse(CUDA_ERROR_INVALID_VALUE, "no description");
    Message message;
    message.put(address);
    message.put(bytes);
    message.put(count);
    message.putBytes(access, count * sizeof *access);
    return ask(numberOf(&DriverApi::cuMemSetAccess), message);
}

CUresult splitByCount(CUdevResource* result, unsigned* groups, const CUdevResource* input, CUdevResource* remaining,
                      unsigned flags, unsigned minimum) {
    if (!groups || !input) return refuse(CUDA_ERROR_INVALID_VALUE, "no place for a result");
    Message message;
    message.put(result != nullptr);
    message.put(*groups);
    message.put(*input);
    message.put(remaining != nullptr);
    message.put(flags);
    message.put(minimum);
    const CUresult code = ask(numberOf(&DriverApi::cuDevSmResourceSplitByCount), message);
    if (code != CUDA_SUCCESS) return code;
    *groups = message.take<unsigned>();
    for (unsigned i = 0; result && i < *groups; ++i) result[i] = message.take<CUdevResource>();
    if (remaining) *remaining = message.take<CUdevResource>();
    return code;
}

CUresult generateDesc(CUdevResourceDesc* description, CUdevResource* resources, unsigned count) {
    if (!description || !resources) return refuse(CUDA_ERROR_INVALID_VALUE, "no place for a result");
    Message message;
    message.put(count);
    message.putBytes(resources, count * sizeof *resources);
    const CUresult code = ask(numberOf(&DriverApi::cuDevResourceGenerateDesc), message);
    if (code == CUDA_SUCCESS) *description = message.take<CUdevResourceDesc>();
    return code;
}

DriverApi makeTable() {
    DriverApi api;
#define BULKHEAD_ENTER(name, symbol, variant, parameters, arguments) api.name = closed::name;
    BULKHEAD_DRIVER_CALLS(BULKHEAD_ENTER)
#undef BULKHEAD_ENTER
    enter(api, PlainCalls());
    // What needs no device.
    api.cuGetErrorName = simulatedDriver().cuGetErrorName;
    api.cuGetErrorString = simulatedDriver().cuGetErrorString;
    api.cuDeviceGetName = textOf<&DriverApi::cuDeviceGetName>;
    api.cuDeviceGetPCIBusId = textOf<&DriverApi::cuDeviceGetPCIBusId>;
    api.cuPointerGetAttribute = pointerGetAttribute;
    api.cuMemPoolSetAttribute = poolSetAttribute;
    api.cuMemPoolGetAttribute = poolGetAttribute;
    api.cuMemSetAccess = setAccess;
    api.cuDevSmResourceSplitByCount = splitByCount;
    api.cuDevResourceGenerateDesc = generateDesc;
    enterCopies(api);
    enterModules(api);
    enterHostMemory(api);
    return api;
}

}  // namespace

CUresult refuse(CUresult code, std::string why) {
    lastErrorText() = std::move(why);
    return code;
}

CUresult ask(std::uint32_t what, Message& message) {
    const auto gone = [&] {
        message = {};
        return refuse(CUDA_ERROR_MPS_RPC_FAILURE, "the process that has the GPU is gone");
    };
    if (!connectThread() || !ofThread.send(what, message)) return gone();
    std::optional<Connection::Received> received = ofThread.receive();
    if (!received) return gone();
    message = std::move(received->message);
    const auto code = static_cast<CUresult>(received->head);
    std::string why = message.takeText();
    const std::string printed = message.takeText();
    if (!printed.empty()) std::fwrite(printed.data(), 1, printed.size(), stdout);
    if (code != CUDA_SUCCESS) lastErrorText() = std::move(why);
    return code;
}

std::optional<Keeper> ask(const Place& place) {
    Message answer;
    Greeting greeting;
    greeting.looksOnly = true;
    const std::optional<Connection> connection = greet(place, greeting, answer);
    if (!connection) return std::nullopt;
    answer.take<std::uint64_t>();
    return keeperAt(*connection, answer);
}

void end(const Place& place) {
    Message answer;
    Greeting greeting;
    greeting.looksOnly = true;
    const std::optional<Connection> connection = greet(place, greeting, answer);
    if (!connection || !connection->send(static_cast<std::uint32_t>(Request::end), {})) return;
    std::optional<Connection::Received> received = connection->receive();
    if (received && received->head != CUDA_SUCCESS) throw Error("{}", printable(received->message.takeText()));
}

std::optional<Keeper> join(const Place& place) {
    const std::lock_guard lock(joining);
    if (joined) throw Error("this process uses the GPU of another one already");
    Message answer;
    std::optional<Connection> connection = greet(place, {}, answer);
    if (!connection) return std::nullopt;
    auto made = std::make_unique<Joined>();
    made->place = place;
    made->token = answer.take<std::uint64_t>();
    Keeper keeper = keeperAt(*connection, answer);
    made->first = std::move(*connection);
    joined = made.release();
    return keeper;
}

bool hasJoined() {
    const std::lock_guard lock(joining);
    return joined != nullptr;
}

const DriverApi& farDriver() {
    static const DriverApi api = makeTable();
    return api;
}

CUresult setAllocation(const sim::AllocationOptions& options) {
    Message message;
    message.put(options.pageBytes);
    message.put(options.colors.size());
    for (const auto color : options.colors) message.put(color);
    return ask(Request::setAllocation, message);
}
CUresult physicalAddress(std::uint64_t* physical, CUdeviceptr address) {
    Message message;
    message.put(address);
    const CUresult code = ask(Request::physicalAddress, message);
    if (code == CUDA_SUCCESS) *physical = message.take<std::uint64_t>();
    return code;
}
CUresult pageColor(std::uint32_t* color, CUdeviceptr address) {
    Message message;
    message.put(address);
    const CUresult code = ask(Request::pageColor, message);
    if (code == CUDA_SUCCESS) *color = message.take<std::uint32_t>();
    return code;
}
CUresult limitThreads(double share) {
    Message message;
    message.put(share);
    return ask(Request::limitThreads, message);
}
double seconds() {
    Message message;
    return ask(Request::seconds, message) == CUDA_SUCCESS ? message.take<double>() : 0;
}

}  // namespace bulkhead::far_driver
