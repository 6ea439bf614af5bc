// CUDA arrays, texture objects and surface objects. An array's texels lie in device memory, in tiles (sim/mem/image.h);
// what a kernel is given is a handle into the table of its context's address space.

#include <algorithm>
#include <bit>
#include <cstring>

#include "driver/state.h"

namespace bulkhead::driver {
namespace {

struct ImageFormat {
    CUarray_format format;
    sim::TexelFormat::Kind kind;
    std::uint8_t bytes;
};
using TexelKind = sim::TexelFormat::Kind;
constexpr ImageFormat kImageFormats[] = {
    {kUint8, TexelKind::unsignedInteger, 1},
    {kUint16, TexelKind::unsignedInteger, 2},
    {kUint32, TexelKind::unsignedInteger, 4},
    {kSint8, TexelKind::signedInteger, 1},
    {kSint16, TexelKind::signedInteger, 2},
    {kSint32, TexelKind::signedInteger, 4},
    {kHalf, TexelKind::real, 2},
    {kFloat, TexelKind::real, 4},
};

sim::TexelFormat texelFormat(CUarray_format format, unsigned channels) {
    require(channels == 1 || channels == 2 || channels == 4, CUDA_ERROR_INVALID_VALUE,
            "texels have 1, 2 or 4 channels");
    for (const ImageFormat& f : kImageFormats)
        if (f.format == format) return {f.kind, f.bytes, static_cast<std::uint8_t>(channels)};
    throw Failure{CUDA_ERROR_INVALID_VALUE, "no format of a channel that is supported"};
}

/// CUdevice_attribute: what an H200 says, and any GPU since compute capability 8.0.
struct ImageLimit {
    CUdevice_attribute attribute;
    int value;
};
constexpr int kMost1D = 131072, kMost2DHeight = 65536, kMost3D = 16384, kMostLayeredSide = 32768, kMostLayers = 2048;
constexpr int kMostSurfaceRow = 32768;
constexpr int kMostCubeLayers = 2046, kMostLinear = 1 << 28, kMostPitch = 2097120, kMostPitchedHeight = 65000;
constexpr std::size_t kTextureAlignment = 512, kPitchAlignment = 32;
constexpr ImageLimit kImageLimits[] = {
    {21, kMost1D},
    {22, kMost1D},
    {23, kMost2DHeight},
    {24, kMost3D},
    {25, kMost3D},
    {26, kMost3D},
    {27, kMostLayeredSide},
    {28, kMostLayeredSide},
    {29, kMostLayers},
    {42, kMostLayeredSide},
    {43, kMostLayers},
    {44, 1},
    {45, kMostLayeredSide},
    {46, kMostLayeredSide},
    {47, 8192},
    {48, 8192},
    {49, 32768},
    {52, kMostLayeredSide},
    {53, kMostLayeredSide},
    {54, kMostCubeLayers},
    {55, kMostLayeredSide},
    {56, kMost1D},
    {57, kMost2DHeight},
    {58, kMost3D},
    {59, kMost3D},
    {60, kMost3D},
    {61, kMostLayeredSide},
    {62, kMostLayers},
    {63, kMostLayeredSide},
    {64, kMostLayeredSide},
    {65, kMostLayers},
    {66, kMostLayeredSide},
    {67, kMostLayeredSide},
    {68, kMostCubeLayers},
    {69, kMostLinear},
    {70, kMost1D},
    {71, kMostPitchedHeight},
    {72, kMostPitch},
    {73, kMostLayeredSide},
    {74, kMostLayeredSide},
    {77, kMostLayeredSide},
};

void requireArrayShape(const CUDA_ARRAY3D_DESCRIPTOR& d) {
    constexpr unsigned kKnown = kArrayLayered | kArraySurface | kArrayCubemap | kArrayGather;
    constexpr unsigned kOthers = 0x40 | 0x80 | 0x100;  // sparse, deferred and video arrays
    constexpr unsigned kForGraphics = 0x10 | 0x20;     // depth textures and color attachments
    require((d.Flags & kOthers) == 0, CUDA_ERROR_NOT_SUPPORTED, "a flag of arrays that is not supported");
    require((d.Flags & kForGraphics) == 0, CUDA_ERROR_INVALID_VALUE, "arrays for graphics are graphics' own");
    require((d.Flags & ~(kKnown | kOthers | kForGraphics)) == 0, CUDA_ERROR_INVALID_VALUE, "no such flag of arrays");
    const bool layered = d.Flags & kArrayLayered, cube = d.Flags & kArrayCubemap;
    require(d.Width > 0, CUDA_ERROR_INVALID_VALUE, "an array of no width");
    const auto within = [](std::size_t value, int most) { return value <= static_cast<std::size_t>(most); };
    if (cube) {
        require(d.Width == d.Height && d.Depth > 0 && d.Depth % 6 == 0 && (layered || d.Depth == 6),
                CUDA_ERROR_INVALID_VALUE, "a cube has six square faces, and so has each of its layers");
        require(within(d.Width, kMostLayeredSide) && within(d.Depth / 6, kMostCubeLayers / 6), CUDA_ERROR_INVALID_VALUE,
                "a cube too large");
    } else if (layered) {
        require(d.Depth > 0, CUDA_ERROR_INVALID_VALUE, "a layered array of no layers");
        require(within(d.Width, kMostLayeredSide) && within(d.Height, kMostLayeredSide) && within(d.Depth, kMostLayers),
                CUDA_ERROR_INVALID_VALUE, "a layered array too large");
    } else if (d.Depth > 0) {
        require(d.Height > 0, CUDA_ERROR_INVALID_VALUE, "an array with a depth and no height");
        // A deep array may be as deep as others are wide, if it is half as wide and high.
        const bool isUsual = within(d.Width, kMost3D) && within(d.Height, kMost3D) && within(d.Depth, kMost3D);
        const bool isDeep =
            within(d.Width, kMost3D / 2) && within(d.Height, kMost3D / 2) && within(d.Depth, 2 * kMost3D);
        require(isUsual || isDeep, CUDA_ERROR_INVALID_VALUE, "an array too large");
    } else {
        const bool isRow = d.Height == 0 && (d.Flags & kArraySurface);
        require(within(d.Width, isRow ? kMostSurfaceRow : kMost1D) && within(d.Height, kMost2DHeight),
                CUDA_ERROR_INVALID_VALUE, "an array too large");
    }
    require(!(d.Flags & kArrayGather) || (d.Height > 0 && d.Depth == 0 && within(d.Width, kMostLayeredSide) &&
                                          within(d.Height, kMostLayeredSide)),
            CUDA_ERROR_INVALID_VALUE, "only two-dimensional arrays are for gathers");
}

/// How large each level is; addresses follow.
sim::Image imageOf(const CUDA_ARRAY3D_DESCRIPTOR& d, unsigned levels) {
    sim::Image image;
    image.format = texelFormat(d.Format, d.NumChannels);
    image.cube = d.Flags & kArrayCubemap;
    image.layered = d.Flags & kArrayLayered;
    const bool hasDepth = d.Depth > 0 && !image.layered && !image.cube;
    image.dimensions = hasDepth ? 3 : d.Height > 0 ? 2 : 1;
    image.chooseTiles();
    for (unsigned l = 0; l < levels; ++l) {
        const auto smaller = [l](std::size_t size) {
            return static_cast<std::uint32_t>(std::max<std::size_t>(size >> l, 1));
        };
        sim::Image::Level level;
        level.width = smaller(d.Width);
        level.height = smaller(d.Height);
        level.slices = hasDepth ? smaller(d.Depth) : static_cast<std::uint32_t>(std::max<std::size_t>(d.Depth, 1));
        image.levels.push_back(level);
    }
    return image;
}

/// Takes memory for all levels. Returns its address and its bytes.
std::pair<CUdeviceptr, Bytes> placeImage(CUcontext context, sim::Image& image) {
    Bytes bytes = 0;
    for (sim::Image::Level& level : image.levels) bytes += image.place(level, 0);
    constexpr Bytes kMost = Bytes{1} << 46;
    require(bytes < kMost, CUDA_ERROR_OUT_OF_MEMORY, "more than any memory holds");
    const CUdeviceptr address = allocateDevice(context, bytes, Allocation::Kind::device);
    CUdeviceptr at = address;
    for (sim::Image::Level& level : image.levels) at += image.place(level, at);
    return {address, bytes};
}

CUarray createArray(CUcontext context, const CUDA_ARRAY3D_DESCRIPTOR& d) {
    requireArrayShape(d);
    auto array = std::make_unique<CUarray_st>();
    array->context = context->root;
    array->description = d;
    array->image = imageOf(d, 1);
    std::tie(array->memory, array->bytes) = placeImage(context, array->image);
    CUarray handle = remember(array.get());
    context->root->arrays.emplace(handle, std::move(array));
    return handle;
}

/// Where the bytes of a row's part lie in the host's memory: visit(bytes, count), tile by tile.
template <class Visit>
void eachPieceOfRow(const ArrayPart& part, Bytes y, Bytes z, Bytes bytes, Visit visit) {
    const CUarray array = part.array;
    const sim::Image& image = array->image;
    const sim::Image::Level& level = image.levels[0];
    const unsigned texel = image.format.bytes();
    for (Bytes x = part.x, end = part.x + bytes; x < end;) {
        const Bytes count = std::min(end - x, image.together(x));
        const CUdeviceptr at =
            image.at(level, static_cast<std::uint32_t>(x / texel), static_cast<std::uint32_t>(part.y + y),
                     static_cast<std::uint32_t>(part.z + z)) +
            x % texel;
        std::uint8_t* piece = array->context->destroyed ? nullptr : memoryOf(array->context).space().resolve(at, count);
        if (!piece) throw Error("a CUDA array has gone");
        visit(piece, count, at);
        x += count;
    }
}

sim::TextureSampler::Address addressMode(CUaddress_mode mode) {
    require(mode >= 0 && mode <= 3, CUDA_ERROR_INVALID_VALUE, "no such address mode");
    return static_cast<sim::TextureSampler::Address>(mode);
}

/// Flags that a driver takes. Of cubes only: to filter across the edges of faces, as is done anyway.
void requireTextureFlags(const CUDA_TEXTURE_DESC& d, const sim::Image& image) {
    constexpr unsigned kKnown = 0x7f, kSeamless = 0x40;
    require((d.flags & ~kKnown) == 0 && (image.cube || !(d.flags & kSeamless)), CUDA_ERROR_INVALID_VALUE,
            "no such flag of this texture");
    require(std::all_of(std::begin(d.reserved), std::end(d.reserved), [](int word) { return word == 0; }),
            CUDA_ERROR_INVALID_VALUE, "what is reserved is zero");
}

sim::TextureSampler samplerOf(const CUDA_TEXTURE_DESC& d, unsigned dimensions) {
    require((d.filterMode == 0 || d.filterMode == 1) && (d.mipmapFilterMode == 0 || d.mipmapFilterMode == 1),
            CUDA_ERROR_INVALID_VALUE, "no such filter mode");
    sim::TextureSampler s;
    for (unsigned i = 0; i < std::max(dimensions, 2u); ++i) s.address[i] = addressMode(d.addressMode[i]);
    s.linear = d.filterMode == 1;
    s.linearLevels = d.mipmapFilterMode == 1;
    s.normalizedCoordinates = d.flags & kNormalizedCoordinates;
    s.asInteger = d.flags & kReadAsInteger;
    s.fromSrgb = d.flags & kFromSrgb;
    s.levelBias = d.mipmapLevelBias;
    s.leastLevel = d.minMipmapLevelClamp;
    s.mostLevel = d.maxMipmapLevelClamp;
    std::copy(std::begin(d.borderColor), std::end(d.borderColor), s.border);
    return s;
}

/// Of plain memory that a texture shows, a driver looks at where it begins only: what lies outside of an allocation is
/// found by the fetch that reads it.
void requirePlainMemory(CUdeviceptr address) {
    require(address != 0, CUDA_ERROR_INVALID_VALUE, "a texture of no memory");
    require(address % kTextureAlignment == 0, CUDA_ERROR_INVALID_VALUE,
            "a texture's memory begins at a multiple of 512");
}

sim::Image linearImage(const CUDA_RESOURCE_DESC& r) {
    const auto& d = r.res.linear;
    sim::Image image;
    image.format = texelFormat(d.format, d.numChannels);
    image.dimensions = 1;
    image.isBuffer = true;
    requirePlainMemory(d.devPtr);
    const std::size_t texels = d.sizeInBytes / image.format.bytes();
    constexpr std::size_t kMostTexels = std::size_t{kMostLinear} + 1;  // one more than the attribute says
    require(texels <= kMostTexels, CUDA_ERROR_INVALID_VALUE, "a linear texture has at most 2^28 texels");
    image.levels = {{d.devPtr, static_cast<std::uint32_t>(texels), 1, 1, d.sizeInBytes, d.sizeInBytes}};
    return image;
}

sim::Image pitchedImage(const CUDA_RESOURCE_DESC& r) {
    const auto& d = r.res.pitch2D;
    sim::Image image;
    image.format = texelFormat(d.format, d.numChannels);
    image.dimensions = 2;
    require(d.width <= kMost1D && d.height <= kMostPitchedHeight, CUDA_ERROR_INVALID_VALUE,
            "a texture of too many texels");
    require(d.pitchInBytes % kPitchAlignment == 0 && d.pitchInBytes <= kMostPitch, CUDA_ERROR_INVALID_VALUE,
            "a texture's pitch is a multiple of 32");
    requirePlainMemory(d.devPtr);
    image.levels = {{d.devPtr, static_cast<std::uint32_t>(d.width), static_cast<std::uint32_t>(d.height), 1,
                     d.pitchInBytes, d.pitchInBytes * d.height}};
    return image;
}

sim::Image resourceImage(const CUDA_RESOURCE_DESC& r) {
    require(r.flags == 0, CUDA_ERROR_INVALID_VALUE, "resources have no flags");
    switch (r.resType) {
        case kArrayResource:
            require(r.res.array.hArray, CUDA_ERROR_INVALID_VALUE, "a resource without its array");
            return known(r.res.array.hArray)->image;
        case kMipmappedResource:
            return known(r.res.mipmap.hMipmappedArray)->image;
        case kLinearResource:
            return linearImage(r);
        case kPitchResource:
            return pitchedImage(r);
        default:
            throw Failure{CUDA_ERROR_INVALID_VALUE, "no such kind of resource"};
    }
}

/// CUresourceViewFormat: three widths of vectors of each type, in this order.
sim::TexelFormat viewFormat(CUresourceViewFormat format, sim::TexelFormat own) {
    constexpr CUarray_format kOrder[] = {kUint8, kSint8, kUint16, kSint16, kUint32, kSint32, kHalf, kFloat};
    constexpr unsigned kChannels[] = {1, 2, 4};
    require(format > 0, CUDA_ERROR_INVALID_VALUE, "no such format of a view");
    const auto index = static_cast<unsigned>(format) - 1;
    if (index / 3 < std::size(kOrder)) return texelFormat(kOrder[index / 3], kChannels[index % 3]);
    // Blocks of 4 x 4 pixels: BC1 and BC4 are as large as two words, the others as four.
    constexpr unsigned kBlockBytes[] = {8, 16, 16, 8, 8, 16, 16, 16, 16, 16};
    const unsigned block = index - 3 * static_cast<unsigned>(std::size(kOrder));
    require(block < std::size(kBlockBytes) && kBlockBytes[block] == own.bytes(), CUDA_ERROR_INVALID_VALUE,
            "no format of a view that the array can have");
    throw Failure{CUDA_ERROR_NOT_SUPPORTED, "compressed formats of views are not supported"};
}

void applyView(const CUDA_RESOURCE_DESC& r, const CUDA_RESOURCE_VIEW_DESC& view, sim::Image& image) {
    if (r.resType != kArrayResource && r.resType != kMipmappedResource) return;
    const sim::TexelFormat format = viewFormat(view.format, image.format);
    require(format.bytes() == image.format.bytes(), CUDA_ERROR_INVALID_VALUE,
            "a view's texels are as large as the array's");
    image.format = format;
    const sim::Image::Level& whole = image.levels[0];
    const unsigned faces = image.cube ? 6 : 1;
    const bool hasDepth = image.dimensions == 3 || image.layered || image.cube;
    require(view.width == whole.width && view.height == (image.dimensions > 1 ? whole.height : 0) &&
                view.depth == (hasDepth ? whole.slices : 0),
            CUDA_ERROR_INVALID_VALUE, "a view is as large as its array");
    require(std::all_of(std::begin(view.reserved), std::end(view.reserved), [](unsigned word) { return word == 0; }),
            CUDA_ERROR_INVALID_VALUE, "what is reserved is zero");
    // The driver takes one level and one layer more than there are, which show nothing.
    const auto levels = static_cast<unsigned>(image.levels.size());
    require(view.firstMipmapLevel <= view.lastMipmapLevel && view.firstMipmapLevel < levels &&
                view.lastMipmapLevel <= levels,
            CUDA_ERROR_INVALID_VALUE, "a view of levels that are not there");
    const unsigned layers = image.layered ? whole.slices / faces : 0;
    require(view.firstLayer <= view.lastLayer && view.lastLayer <= layers, CUDA_ERROR_INVALID_VALUE,
            "a view of layers that are not there");
    image.levels.erase(image.levels.begin() + std::min(view.lastMipmapLevel, levels - 1) + 1, image.levels.end());
    image.levels.erase(image.levels.begin(), image.levels.begin() + view.firstMipmapLevel);
    if (!image.layered) return;
    const unsigned first = std::min(view.firstLayer, layers - 1), last = std::min(view.lastLayer, layers - 1);
    for (sim::Image::Level& level : image.levels) {
        level.address += first * faces * level.slice;
        level.slices = (last - first + 1) * faces;
    }
}

template <class Map>
auto& objectIn(Map& objects, typename Map::key_type handle) {
    const auto found = objects.find(handle);
    require(found != objects.end(), CUDA_ERROR_INVALID_VALUE,
            "an object that the driver never gave out, or has destroyed");
    return found->second;
}

void destroyLevels(CUmipmappedArray array) {
    for (const auto& level : array->levels) forget(level.get());
    forget(array);
}

}  // namespace

std::optional<int> imageLimit(CUdevice_attribute attribute) {
    for (const ImageLimit& limit : kImageLimits)
        if (limit.attribute == attribute) return limit.value;
    return std::nullopt;
}

void requireArrayPart(const ArrayPart& part, Bytes width, Bytes height, Bytes depth) {
    const sim::Image::Level& level = part.array->image.levels[0];
    const Bytes row = Bytes{level.width} * part.array->image.format.bytes();
    require(part.x <= row && width <= row - part.x && part.y <= level.height && height <= level.height - part.y &&
                part.z <= level.slices && depth <= level.slices - part.z,
            CUDA_ERROR_INVALID_VALUE, "more than the array holds");
}

void readArrayRow(const ArrayPart& part, Bytes y, Bytes z, void* to, Bytes bytes) {
    auto* target = static_cast<std::uint8_t*>(to);
    eachPieceOfRow(part, y, z, bytes, [&](const std::uint8_t* piece, Bytes count, CUdeviceptr at) {
        std::memcpy(target, piece, count);
        gpuOf(part.array->context).copiedFrom(part.array->context->id, at, count);
        target += count;
    });
}

void writeArrayRow(const ArrayPart& part, Bytes y, Bytes z, const void* from, Bytes bytes) {
    const auto* source = static_cast<const std::uint8_t*>(from);
    eachPieceOfRow(part, y, z, bytes, [&](std::uint8_t* piece, Bytes count, CUdeviceptr at) {
        std::memcpy(piece, source, count);
        gpuOf(part.array->context).copiedTo(part.array->context->id, at, count);
        source += count;
    });
}

void forgetImagesOf(CUcontext context) {
    for (const auto& [handle, array] : context->arrays) forget(handle);
    for (const auto& [handle, array] : context->mipmappedArrays) destroyLevels(handle);
    context->arrays.clear();
    context->mipmappedArrays.clear();
    context->textures.clear();
    context->surfaces.clear();
}

namespace simulated {

CUresult cuArray3DCreate(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR* description) {
    return call([&] {
        CUcontext context = current();
        requireOutput(array, description);
        *array = createArray(context, *description);
    });
}
CUresult cuArrayCreate(CUarray* array, const CUDA_ARRAY_DESCRIPTOR* description) {
    return call([&] {
        CUcontext context = current();
        requireOutput(array, description);
        const CUDA_ARRAY_DESCRIPTOR& d = *description;
        *array = createArray(context, {d.Width, d.Height, 0, d.Format, d.NumChannels, 0});
    });
}
CUresult cuArray3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR* description, CUarray array) {
    return call([&] {
        current();
        requireOutput(description);
        *description = known(array)->description;
    });
}
CUresult cuArrayGetDescriptor(CUDA_ARRAY_DESCRIPTOR* description, CUarray array) {
    return call([&] {
        current();
        requireOutput(description);
        const CUDA_ARRAY3D_DESCRIPTOR& d = known(array)->description;
        *description = {d.Width, d.Height, d.Format, d.NumChannels};
    });
}
CUresult cuArrayDestroy(CUarray array) {
    return call([&] {
        current();
        CUcontext owner = known(array)->context;
        require(array->memory != 0, CUDA_ERROR_INVALID_HANDLE, "a level goes with its mipmapped array");
        waitForAll(owner);
        forget(array);
        freeDevice(owner, array->memory);
        owner->arrays.erase(array);
    });
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray* array, const CUDA_ARRAY3D_DESCRIPTOR* description, unsigned levels) {
    return call([&] {
        CUcontext context = current();
        requireOutput(array, description);
        const CUDA_ARRAY3D_DESCRIPTOR& d = *description;
        requireArrayShape(d);
        const bool hasDepth = !(d.Flags & (kArrayLayered | kArrayCubemap));
        const std::size_t largest = std::max({d.Width, d.Height, hasDepth ? d.Depth : 0});
        const auto most = static_cast<unsigned>(std::bit_width(largest));
        auto made = std::make_unique<CUmipmappedArray_st>();
        made->context = context->root;
        made->description = d;
        made->image = imageOf(d, std::clamp(levels, 1u, most));
        made->memory = placeImage(context, made->image).first;
        for (const sim::Image::Level& level : made->image.levels) {
            auto part = std::make_unique<CUarray_st>();
            part->context = context->root;
            part->description = d;
            part->description.Width = level.width;
            if (d.Height) part->description.Height = level.height;
            if (d.Depth) part->description.Depth = level.slices;
            part->image = made->image;
            part->image.levels = {level};
            part->bytes = level.slice * level.slices;
            remember(part.get());
            made->levels.push_back(std::move(part));
        }
        *array = remember(made.get());
        context->root->mipmappedArrays.emplace(*array, std::move(made));
    });
}
CUresult cuMipmappedArrayGetLevel(CUarray* level, CUmipmappedArray array, unsigned index) {
    return call([&] {
        current();
        requireOutput(level);
        require(index < known(array)->levels.size(), CUDA_ERROR_INVALID_VALUE, "a level that is not there");
        *level = array->levels[index].get();
    });
}
CUresult cuMipmappedArrayDestroy(CUmipmappedArray array) {
    return call([&] {
        current();
        CUcontext owner = known(array)->context;
        waitForAll(owner);
        destroyLevels(array);
        freeDevice(owner, array->memory);
        owner->mipmappedArrays.erase(array);
    });
}

CUresult cuTexObjectCreate(CUtexObject* texture, const CUDA_RESOURCE_DESC* resource,
                           const CUDA_TEXTURE_DESC* description, const CUDA_RESOURCE_VIEW_DESC* view) {
    return call([&] {
        CUcontext context = current();
        requireOutput(texture, resource, description);
        sim::Texture made;
        made.image = resourceImage(*resource);
        requireTextureFlags(*description, made.image);
        made.sampler = samplerOf(*description, made.image.dimensions);
        if (view) applyView(*resource, *view, made.image);
        const CUtexObject handle = state().nextId++;
        memoryOf(context).space().images.textures.emplace(handle, std::move(made));
        ImageObject& object = context->root->textures[handle];
        object.resource = *resource;
        object.texture = *description;
        // Of a slice's third dimension nothing is asked; another mode than the known ones is kept as clamp.
        if (CUaddress_mode& mode = object.texture.addressMode[2]; mode < 0 || mode > 3) mode = 1;
        if (view && (resource->resType == kArrayResource || resource->resType == kMipmappedResource))
            object.view = *view;
        *texture = handle;
    });
}
CUresult cuTexObjectDestroy(CUtexObject texture) {
    return call([&] {
        CUcontext context = current();
        if (texture == 0) return;
        objectIn(context->root->textures, texture);
        waitForAll(context);
        context->root->textures.erase(texture);
        memoryOf(context).space().images.textures.erase(texture);
    });
}
CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC* resource, CUtexObject texture) {
    return call([&] {
        requireOutput(resource);
        *resource = objectIn(current()->root->textures, texture).resource;
    });
}
CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC* description, CUtexObject texture) {
    return call([&] {
        requireOutput(description);
        *description = objectIn(current()->root->textures, texture).texture;
    });
}
CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC* view, CUtexObject texture) {
    return call([&] {
        requireOutput(view);
        const ImageObject& object = objectIn(current()->root->textures, texture);
        *view = object.view.value_or(CUDA_RESOURCE_VIEW_DESC{});
    });
}

CUresult cuSurfObjectCreate(CUsurfObject* surface, const CUDA_RESOURCE_DESC* resource) {
    return call([&] {
        CUcontext context = current();
        requireOutput(surface, resource);
        require(resource->resType == kArrayResource, CUDA_ERROR_INVALID_VALUE, "a surface shows an array");
        CUarray array = known(resource->res.array.hArray);
        const CUsurfObject handle = state().nextId++;
        memoryOf(context).space().images.surfaces.emplace(handle, array->image);
        context->root->surfaces[handle].resource = *resource;
        *surface = handle;
    });
}
CUresult cuSurfObjectDestroy(CUsurfObject surface) {
    return call([&] {
        CUcontext context = current();
        if (surface == 0) return;
        objectIn(context->root->surfaces, surface);
        waitForAll(context);
        context->root->surfaces.erase(surface);
        memoryOf(context).space().images.surfaces.erase(surface);
    });
}
CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC* resource, CUsurfObject surface) {
    return call([&] {
        requireOutput(resource);
        *resource = objectIn(current()->root->surfaces, surface).resource;
    });
}

CUresult cuDeviceGetTexture1DLinearMaxWidth(std::size_t* texels, CUarray_format format, unsigned channels,
                                            CUdevice device) {
    return call([&] {
        requireOutput(texels);
        deviceAt(device);
        texelFormat(format, channels);
        *texels = kMostLinear;
    });
}

}  // namespace simulated
}  // namespace bulkhead::driver
