// Copies and fills. Each takes its turn in a stream: it lasts as long as the host link or the DRAM needs for its bytes,
// longer where kernels want the same memory, and the bytes move at its end.

#include <algorithm>
#include <cstring>
#include <limits>

#include "driver/flat_copy.h"
#include "driver/pointer_attributes.h"
#include "driver/state.h"

namespace bulkhead::driver {
namespace {

/// A box of bytes; a linear copy is one row.
struct Shape {
    Bytes width = 0, height = 1, depth = 1;
    Bytes bytes() const { return width * height * depth; }
};

/// Where a box begins, and how far apart its rows and slices are.
struct Side {
    CUdeviceptr address = 0;
    Bytes pitch = 0, slice = 0;
    Location at = {};
    ArrayPart part = {};  ///< of a CUDA array, which has no address

    CUdeviceptr row(Bytes y, Bytes z) const { return address + y * pitch + z * slice; }
    Bytes extent(const Shape& s) const { return (s.depth - 1) * slice + (s.height - 1) * pitch + s.width; }
    bool onDevice() const { return at.kind == MemoryKind::device; }
    /// The bytes live in the device's memory, whoever can reach them.
    bool deviceSide() const { return onDevice() || at.kind == MemoryKind::managed; }
    std::uint8_t* host(Bytes y, Bytes z) const { return reinterpret_cast<std::uint8_t*>(row(y, z)); }
};

enum class Wait : bool { no, yes };

/// No memory holds more, and arithmetic on less does not overflow.
void requirePossible(const Shape& shape) {
    constexpr double kMost = 0x1p46;
    const bool fits =
        shape.width < kMost && shape.height < kMost && shape.depth < kMost &&
        static_cast<double>(shape.width) * static_cast<double>(shape.height) * static_cast<double>(shape.depth) < kMost;
    require(fits, CUDA_ERROR_INVALID_VALUE, "more than any memory holds");
}

void find(CUcontext context, Side& side, const Shape& shape) {
    if (side.part.array) {
        requireArrayPart(side.part, shape.width, shape.height, shape.depth);
        side.at = {MemoryKind::device, side.part.array->context, side.part.array->image.levels[0].address,
                   side.part.array->bytes};
        return;
    }
    require(side.address != 0, CUDA_ERROR_INVALID_VALUE, "a null pointer");
    side.at = locate(context, side.address);
    if (side.onDevice()) {
        requireDeviceRange(side.at.context, side.address, side.extent(shape));
    } else if (side.at.kind != MemoryKind::pageable) {
        require(side.extent(shape) <= side.at.base + side.at.bytes - side.address, CUDA_ERROR_INVALID_VALUE,
                "more than the allocation holds");
    }
}

/// A row that a CUDA array has a part in goes by way of the host.
void moveArrayRow(const Side& to, const Side& from, Bytes y, Bytes z, Bytes width) {
    std::vector<std::uint8_t> row(width);
    if (from.part.array)
        readArrayRow(from.part, y, z, row.data(), width);
    else if (from.onDevice())
        readDevice(from.at.context, from.row(y, z), row.data(), width);
    else
        std::memcpy(row.data(), from.host(y, z), width);
    if (to.part.array)
        writeArrayRow(to.part, y, z, row.data(), width);
    else if (to.onDevice())
        writeDevice(to.at.context, to.row(y, z), row.data(), width);
    else
        std::memcpy(to.host(y, z), row.data(), width);
}

void moveRow(const Side& to, const Side& from, Bytes y, Bytes z, Bytes width) {
    if (to.part.array || from.part.array) return moveArrayRow(to, from, y, z, width);
    if (!from.onDevice()) {
        if (to.onDevice())
            writeDevice(to.at.context, to.row(y, z), from.host(y, z), width);
        else
            std::memmove(to.host(y, z), from.host(y, z), width);
    } else if (!to.onDevice()) {
        readDevice(from.at.context, from.row(y, z), to.host(y, z), width);
    } else {
        moveDevice(to.at.context, to.row(y, z), from.at.context, from.row(y, z), width);
    }
}

/// What of a side lies in device memory.
std::optional<sim::CopiedBox> boxOf(CUcontext context, const Side& side, const Shape& shape) {
    if (!side.deviceSide() || side.part.array) return std::nullopt;
    CUcontext owner = side.at.context ? side.at.context : context->root;
    return sim::CopiedBox{
        &memoryOf(owner).space(), side.address, shape.width, shape.height, shape.depth, side.pitch, side.slice};
}

void move(const Shape& shape, const Side& to, const Side& from) {
    for (Bytes z = 0; z < shape.depth; ++z)
        for (Bytes y = 0; y < shape.height; ++y) moveRow(to, from, y, z, shape.width);
}

/// A copy of pageable memory as it is now, for one that happens later.
std::shared_ptr<std::vector<std::uint8_t>> stage(const Shape& shape, Side& from) {
    auto staged = std::make_shared<std::vector<std::uint8_t>>(shape.bytes());
    const Side to = {reinterpret_cast<CUdeviceptr>(staged->data()), shape.width, shape.width * shape.height, {}, {}};
    move(shape, to, from);
    from = to;
    return staged;
}

/// Runs `body` as part of a stream: memory that has gone since the call is the program's fault, not a reason to stop.
std::function<void()> inStream(CUcontext context, std::function<void()> body) {
    return [context, body = std::move(body)] {
        try {
            body();
        } catch (const Error& error) {
            markFailed(context, CUDA_ERROR_ILLEGAL_ADDRESS, error.what());
        }
    };
}

/// Puts a copy into a stream; both sides have been found.
void put(CUcontext context, CUstream stream, const Shape& shape, const Side& to, const Side& from,
         const std::shared_ptr<std::vector<std::uint8_t>>& staged) {
    std::function<void()> action = inStream(context, [shape, to, from, staged] { move(shape, to, from); });
    Device& device = *stream->context->device;
    const sim::Transfer transfer = {0, boxOf(context, from, shape), boxOf(context, to, shape)};
    if (to.deviceSide() && from.deviceSide())
        enqueue(stream, deviceSeconds(context, 2 * shape.bytes()), transfer, std::move(action));
    else if (to.deviceSide())
        enqueueOnEngine(stream, device.copyIn, linkSeconds(context, shape.bytes()), transfer, std::move(action));
    else if (from.deviceSide())
        enqueueOnEngine(stream, device.copyOut, linkSeconds(context, shape.bytes()), transfer, std::move(action));
    else
        enqueue(stream, 0, std::move(action));
}

/// A copy as a graph's node has it.
CUDA_MEMCPY3D described(const Shape& shape, const Side& to, const Side& from) {
    const auto type = [](const Side& side) {
        return side.part.array ? kArrayMemory : side.deviceSide() ? kDeviceMemory : kHostMemory;
    };
    CUDA_MEMCPY3D box = {};
    box.srcArray = from.part.array, box.dstArray = to.part.array;
    box.srcXInBytes = from.part.x, box.srcY = from.part.y, box.srcZ = from.part.z;
    box.dstXInBytes = to.part.x, box.dstY = to.part.y, box.dstZ = to.part.z;
    box.srcMemoryType = type(from), box.dstMemoryType = type(to);
    box.srcHost = from.host(0, 0), box.dstHost = to.host(0, 0);
    box.srcDevice = from.address, box.dstDevice = to.address;
    box.srcPitch = from.pitch, box.dstPitch = to.pitch;
    box.srcHeight = from.pitch ? from.slice / from.pitch : 0;
    box.dstHeight = to.pitch ? to.slice / to.pitch : 0;
    box.WidthInBytes = shape.width, box.Height = shape.height, box.Depth = shape.depth;
    return box;
}

/// With Wait::yes the caller's memory is the program's again when this returns.
void copy(CUcontext context, CUstream stream, Shape shape, Side to, Side from, Wait wait) {
    requirePossible(shape);
    if (wait == Wait::yes) requireNotCapturing(stream), requireSafe();
    if (shape.bytes() == 0) return;
    find(context, to, shape);
    find(context, from, shape);
    if (wait == Wait::no && captureCopy(context, stream, described(shape, to, from))) return;
    std::shared_ptr<std::vector<std::uint8_t>> staged;
    const bool fromPageable = from.at.kind == MemoryKind::pageable, toPageable = to.at.kind == MemoryKind::pageable;
    const bool onDevice = to.deviceSide() && from.deviceSide();
    order(stream);
    if (wait == Wait::no && fromPageable) staged = stage(shape, from);
    put(context, stream, shape, to, from, staged);
    if (!onDevice && (wait == Wait::yes || toPageable)) waitFor(stream);
}

CUresult copyNow(const Shape& shape, const Side& to, const Side& from) {
    return call([&] {
        CUcontext context = current();
        copy(context, defaultStream(context), shape, to, from, Wait::yes);
    });
}
CUresult copyLater(const Shape& shape, const Side& to, const Side& from, CUstream stream) {
    return call([&] {
        CUcontext context = current();
        copy(context, streamOf(context, stream), shape, to, from, Wait::no);
    });
}

CUdeviceptr addressOf(const void* pointer) {
    return reinterpret_cast<CUdeviceptr>(pointer);
}
Side at(CUdeviceptr address) {
    return {address, 0, 0, {}, {}};
}

/// Calls that say which side is the device's refuse a host pointer there.
CUresult requireDevice(CUdeviceptr address, std::size_t bytes) {
    return call([&] {
        require(bytes == 0 || locate(current(), address).kind != MemoryKind::pageable, CUDA_ERROR_INVALID_VALUE,
                "a host pointer in place of a device's");
    });
}

CUdeviceptr baseOf(CUmemorytype type, const void* host, CUdeviceptr device) {
    if (type == kHostMemory) return addressOf(host);
    require(type == kDeviceMemory || type == kUnifiedMemory, CUDA_ERROR_INVALID_VALUE, "no such kind of memory");
    return device;
}

struct Box {
    Shape shape;
    Side to, from;
};

Box boxOf(const CUDA_MEMCPY3D* c) {
    requireOutput(c);
    const auto side = [&](CUmemorytype type, const void* host, CUdeviceptr device, CUarray array, Bytes x, Bytes y,
                          Bytes z, Bytes pitch, Bytes rows) {
        if (type == kArrayMemory) return Side{0, 0, 0, {}, {known(array), x, y, z}};
        if (pitch == 0) pitch = x + c->WidthInBytes;
        if (rows == 0) rows = y + c->Height;
        require(pitch < (Bytes{1} << 40) && rows < (Bytes{1} << 24), CUDA_ERROR_INVALID_VALUE, "a pitch too large");
        require(c->Height <= 1 || pitch >= x + c->WidthInBytes, CUDA_ERROR_INVALID_VALUE, "rows that overlap");
        const Bytes slice = pitch * rows;
        return Side{baseOf(type, host, device) + z * slice + y * pitch + x, pitch, slice, {}, {}};
    };
    Box box;
    box.shape = {c->WidthInBytes, c->Height, c->Depth};
    box.to = side(c->dstMemoryType, c->dstHost, c->dstDevice, c->dstArray, c->dstXInBytes, c->dstY, c->dstZ,
                  c->dstPitch, c->dstHeight);
    box.from = side(c->srcMemoryType, c->srcHost, c->srcDevice, c->srcArray, c->srcXInBytes, c->srcY, c->srcZ,
                    c->srcPitch, c->srcHeight);
    return box;
}

CUresult copyBox(const CUDA_MEMCPY3D* description, std::optional<CUstream> stream) {
    return call([&] {
        CUcontext context = current();
        const Box box = boxOf(description);
        copy(context, stream ? streamOf(context, *stream) : defaultStream(context), box.shape, box.to, box.from,
             stream ? Wait::no : Wait::yes);
    });
}

/// Where a fill goes; nothing if it is empty.
std::optional<Side> targetOf(CUcontext context, const CUDA_MEMSET_NODE_PARAMS& fill) {
    const unsigned element = fill.elementSize;
    require(element == 1 || element == 2 || element == 4, CUDA_ERROR_INVALID_VALUE, "elements of 1, 2 or 4 bytes");
    requirePossible({fill.width, fill.height, element});
    const Shape shape = {fill.width * element, fill.height, 1};
    if (shape.bytes() == 0) return std::nullopt;
    require(fill.dst % element == 0 && (fill.height == 1 || (fill.pitch % element == 0 && fill.pitch >= shape.width)),
            CUDA_ERROR_INVALID_VALUE, "a misaligned address or pitch");
    Side side = {fill.dst, fill.pitch, 0, {}};
    find(context, side, shape);
    require(side.at.kind != MemoryKind::pageable, CUDA_ERROR_INVALID_VALUE, "a host pointer in place of a device's");
    return side;
}

void put(CUcontext context, CUstream stream, const CUDA_MEMSET_NODE_PARAMS& fill, const Side& side) {
    const Bytes width = fill.width * fill.elementSize;
    const sim::Transfer transfer = {0, std::nullopt, boxOf(context, side, {width, fill.height, 1})};
    enqueue(stream, deviceSeconds(context, width * fill.height), transfer, inStream(context, [=] {
                std::vector<std::uint8_t> row(width);
                for (Bytes i = 0; i < width; i += fill.elementSize)
                    std::memcpy(row.data() + i, &fill.value, fill.elementSize);
                for (Bytes y = 0; y < fill.height; ++y) {
                    if (side.onDevice())
                        fillDevice(side.at.context, side.row(y, 0), row.data(), width);
                    else
                        std::memcpy(side.host(y, 0), row.data(), width);
                }
            }));
}

/// Sets every element of a box to a value of 1, 2 or 4 bytes.
CUresult fill(CUdeviceptr to, Bytes pitch, unsigned value, unsigned elementBytes, Bytes width, Bytes height,
              std::optional<CUstream> stream) {
    return call([&] {
        CUcontext context = current();
        CUstream on = stream ? streamOf(context, *stream) : defaultStream(context);
        if (!stream) requireNotCapturing(on), requireSafe();
        const CUDA_MEMSET_NODE_PARAMS wanted = {to, pitch, value, elementBytes, width, height};
        const std::optional<Side> side = targetOf(context, wanted);
        if (!side || (stream && captureFill(context, on, wanted))) return;
        order(on);
        put(context, on, wanted, *side);
        if (!side->deviceSide() && !stream) waitFor(on);
    });
}

}  // namespace

void checkCopy(CUcontext context, const CUDA_MEMCPY3D& copy) {
    Box box = boxOf(&copy);
    requirePossible(box.shape);
    if (box.shape.bytes() == 0) return;
    find(context, box.to, box.shape);
    find(context, box.from, box.shape);
}

void enqueueCopy(CUcontext context, CUstream stream, const CUDA_MEMCPY3D& copy) {
    Box box = boxOf(&copy);
    if (box.shape.bytes() == 0) return;
    find(context, box.to, box.shape);
    find(context, box.from, box.shape);
    put(context, stream, box.shape, box.to, box.from, nullptr);
}

void checkFill(CUcontext context, const CUDA_MEMSET_NODE_PARAMS& fill) {
    targetOf(context, fill);
}

void enqueueFill(CUcontext context, CUstream stream, const CUDA_MEMSET_NODE_PARAMS& fill) {
    if (const std::optional<Side> side = targetOf(context, fill)) put(context, stream, fill, *side);
}

namespace simulated {

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
    return copyNow({bytes}, at(to), at(from));
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
    return copyLater({bytes}, at(to), at(from), stream);
}
CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, std::size_t bytes) {
    if (const CUresult bad = requireDevice(to, bytes)) return bad;
    return copyNow({bytes}, at(to), at(addressOf(from)));
}
CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, std::size_t bytes) {
    if (const CUresult bad = requireDevice(from, bytes)) return bad;
    return copyNow({bytes}, at(addressOf(to)), at(from));
}
CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
    if (const CUresult bad = requireDevice(to, bytes)) return bad;
    if (const CUresult bad = requireDevice(from, bytes)) return bad;
    return copyNow({bytes}, at(to), at(from));
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
    if (const CUresult bad = requireDevice(to, bytes)) return bad;
    return copyLater({bytes}, at(to), at(addressOf(from)), stream);
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
    if (const CUresult bad = requireDevice(from, bytes)) return bad;
    return copyLater({bytes}, at(addressOf(to)), at(from), stream);
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
    if (const CUresult bad = requireDevice(to, bytes)) return bad;
    if (const CUresult bad = requireDevice(from, bytes)) return bad;
    return copyLater({bytes}, at(to), at(from), stream);
}

namespace {

/// The memory of a context that need not be current, as cuMemcpyPeer names it.
CUdeviceptr requirePeer(CUcontext context, CUdeviceptr address, std::size_t bytes) {
    requireDeviceRange(liveContext(context)->root, address, bytes);
    return address;
}

CUresult copyPeer(CUdeviceptr to, CUcontext toContext, CUdeviceptr from, CUcontext fromContext, std::size_t bytes,
                  std::optional<CUstream> stream) {
    return call([&] {
        CUcontext context = current();
        if (bytes == 0) return;
        CUstream on = stream ? streamOf(context, *stream) : defaultStream(context);
        Side target = at(requirePeer(toContext, to, bytes)), source = at(requirePeer(fromContext, from, bytes));
        target.at = {MemoryKind::device, toContext->root, to, bytes};
        source.at = {MemoryKind::device, fromContext->root, from, bytes};
        if (!stream) requireNotCapturing(on), requireSafe();
        if (stream && captureCopy(context, on, described({bytes}, target, source))) return;
        if (!stream && toContext->device != fromContext->device) waitForAll(fromContext), waitForAll(toContext);
        order(on);
        const bool sameDevice = toContext->device == fromContext->device;
        const double seconds = sameDevice ? deviceSeconds(context, 2 * bytes) : linkSeconds(context, bytes);
        const Shape shape = {bytes};
        sim::Transfer transfer;
        if (sameDevice) transfer = {0, boxOf(context, source, shape), boxOf(context, target, shape)};
        enqueue(on, seconds, transfer, inStream(context, [=] { move(shape, target, source); }));
        if (!stream) waitFor(on);
    });
}

}  // namespace

CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext toContext, CUdeviceptr from, CUcontext fromContext, std::size_t bytes) {
    return copyPeer(to, toContext, from, fromContext, bytes, std::nullopt);
}
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext toContext, CUdeviceptr from, CUcontext fromContext,
                           std::size_t bytes, CUstream stream) {
    return copyPeer(to, toContext, from, fromContext, bytes, stream);
}

CUresult cuMemcpy2D(const CUDA_MEMCPY2D* copy) {
    if (!copy) return CUDA_ERROR_INVALID_VALUE;
    const CUDA_MEMCPY3D box = flat(*copy);
    return copyBox(&box, std::nullopt);
}
CUresult cuMemcpy2DUnaligned(const CUDA_MEMCPY2D* copy) {
    return cuMemcpy2D(copy);
}
CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D* copy, CUstream stream) {
    if (!copy) return CUDA_ERROR_INVALID_VALUE;
    const CUDA_MEMCPY3D box = flat(*copy);
    return copyBox(&box, stream);
}
CUresult cuMemcpy3D(const CUDA_MEMCPY3D* copy) {
    return copyBox(copy, std::nullopt);
}
CUresult cuMemcpy3DAsync(const CUDA_MEMCPY3D* copy, CUstream stream) {
    return copyBox(copy, stream);
}

namespace {

Side inArray(CUarray array, std::size_t offset) {
    return {0, 0, 0, {}, {array, offset, 0, 0}};
}
/// One row of an array, which must be the driver's.
CUresult copyArray(CUarray first, CUarray second, Bytes bytes, const Side& to, const Side& from,
                   std::optional<CUstream> stream) {
    return call([&] {
        CUcontext context = current();
        known(first), known(second);
        copy(context, stream ? streamOf(context, *stream) : defaultStream(context), {bytes}, to, from,
             stream ? Wait::no : Wait::yes);
    });
}

}  // namespace

CUresult cuMemcpyDtoA(CUarray to, std::size_t toOffset, CUdeviceptr from, std::size_t bytes) {
    if (const CUresult bad = requireDevice(from, bytes)) return bad;
    return copyArray(to, to, bytes, inArray(to, toOffset), at(from), std::nullopt);
}
CUresult cuMemcpyAtoD(CUdeviceptr to, CUarray from, std::size_t fromOffset, std::size_t bytes) {
    if (const CUresult bad = requireDevice(to, bytes)) return bad;
    return copyArray(from, from, bytes, at(to), inArray(from, fromOffset), std::nullopt);
}
CUresult cuMemcpyHtoA(CUarray to, std::size_t toOffset, const void* from, std::size_t bytes) {
    return copyArray(to, to, bytes, inArray(to, toOffset), at(addressOf(from)), std::nullopt);
}
CUresult cuMemcpyAtoH(void* to, CUarray from, std::size_t fromOffset, std::size_t bytes) {
    return copyArray(from, from, bytes, at(addressOf(to)), inArray(from, fromOffset), std::nullopt);
}
CUresult cuMemcpyAtoA(CUarray to, std::size_t toOffset, CUarray from, std::size_t fromOffset, std::size_t bytes) {
    return copyArray(to, from, bytes, inArray(to, toOffset), inArray(from, fromOffset), std::nullopt);
}
CUresult cuMemcpyHtoAAsync(CUarray to, std::size_t toOffset, const void* from, std::size_t bytes, CUstream stream) {
    return copyArray(to, to, bytes, inArray(to, toOffset), at(addressOf(from)), stream);
}
CUresult cuMemcpyAtoHAsync(void* to, CUarray from, std::size_t fromOffset, std::size_t bytes, CUstream stream) {
    return copyArray(from, from, bytes, at(addressOf(to)), inArray(from, fromOffset), stream);
}

CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, std::size_t count) {
    return fill(to, 0, value, 1, count, 1, std::nullopt);
}
CUresult cuMemsetD16(CUdeviceptr to, unsigned short value, std::size_t count) {
    return fill(to, 0, value, 2, count, 1, std::nullopt);
}
CUresult cuMemsetD32(CUdeviceptr to, unsigned value, std::size_t count) {
    return fill(to, 0, value, 4, count, 1, std::nullopt);
}
CUresult cuMemsetD2D8(CUdeviceptr to, std::size_t pitch, unsigned char value, std::size_t width, std::size_t height) {
    return fill(to, pitch, value, 1, width, height, std::nullopt);
}
CUresult cuMemsetD2D16(CUdeviceptr to, std::size_t pitch, unsigned short value, std::size_t width, std::size_t height) {
    return fill(to, pitch, value, 2, width, height, std::nullopt);
}
CUresult cuMemsetD2D32(CUdeviceptr to, std::size_t pitch, unsigned value, std::size_t width, std::size_t height) {
    return fill(to, pitch, value, 4, width, height, std::nullopt);
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream) {
    return fill(to, 0, value, 1, count, 1, stream);
}
CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, std::size_t count, CUstream stream) {
    return fill(to, 0, value, 2, count, 1, stream);
}
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, std::size_t count, CUstream stream) {
    return fill(to, 0, value, 4, count, 1, stream);
}
CUresult cuMemsetD2D8Async(CUdeviceptr to, std::size_t pitch, unsigned char value, std::size_t width,
                           std::size_t height, CUstream stream) {
    return fill(to, pitch, value, 1, width, height, stream);
}
CUresult cuMemsetD2D16Async(CUdeviceptr to, std::size_t pitch, unsigned short value, std::size_t width,
                            std::size_t height, CUstream stream) {
    return fill(to, pitch, value, 2, width, height, stream);
}
CUresult cuMemsetD2D32Async(CUdeviceptr to, std::size_t pitch, unsigned value, std::size_t width, std::size_t height,
                            CUstream stream) {
    return fill(to, pitch, value, 4, width, height, stream);
}

}  // namespace simulated
}  // namespace bulkhead::driver
