#include "sim/exec/image_access.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "sim/exec/compute_float.h"
#include "sim/exec/pending_effects.h"
#include "sim/exec/texture_filter.h"

namespace bulkhead::sim {
namespace {

unsigned firstLane(LaneMask m) {
    return static_cast<unsigned>(std::countr_zero(m));
}

/// Textures by their handles, of which the lanes of a warp mostly have the same.
class Textures {
  public:
    Textures(const Instr& i, Warp& w) : i_(i), w_(w), textures_(w.launch().memory->images.textures) {}

    const Texture& of(unsigned lane, std::uint64_t handle) {
        if (last_ && handle == handle_) return *last_;
        const auto found = textures_.find(handle);
        if (found == textures_.end())
            w_.fail(LaunchError::Cause::illegalAddress, i_, lane, fmt::format("{:#x} is no texture object", handle));
        handle_ = handle;
        last_ = &found->second;
        return *last_;
    }

  private:
    const Instr& i_;
    Warp& w_;
    const std::unordered_map<std::uint64_t, Texture>& textures_;
    const Texture* last_ = nullptr;
    std::uint64_t handle_ = 0;
};

const Image& surfaceOf(const Instr& i, Warp& w, unsigned lane, std::uint64_t handle) {
    const auto& surfaces = w.launch().memory->images.surfaces;
    const auto found = surfaces.find(handle);
    if (found == surfaces.end())
        w.fail(LaunchError::Cause::illegalAddress, i, lane, fmt::format("{:#x} is no surface object", handle));
    return found->second;
}

std::uint8_t* bytesOf(const Instr& i, Warp& w, unsigned lane, std::uint64_t address, unsigned bytes) {
    const Mapping* mapping = w.launch().memory->find(address, w.mappingHint());
    if (!mapping || !mapping->contains(address, bytes))
        w.failAddress(LaunchError::Cause::illegalAddress, i, lane, address, "memory of a texture or surface has gone");
    return mapping->host + (address - mapping->base);
}

/// The texels that the lanes of a fetch touch, gathered into accesses: the n-th of every lane together.
class TexelAccesses {
  public:
    void add(unsigned lane, std::uint64_t address, unsigned bytes) {
        const unsigned n = used_[lane]++;
        lanes_[n] |= LaneMask{1} << lane;
        address_[n][lane] = address;
        count_ = std::max(count_, n + 1);
        bytes_ = std::max(bytes_, bytes);
    }
    /// A fetch that touches none, all lanes being outside, still takes its time.
    void note(Warp& w) const {
        std::span<Access> accesses = w.beginTexels(std::max(count_, 1u), bytes_);
        for (unsigned n = 0; n < count_; ++n) {
            Access& a = accesses[n];
            a.lanes = lanes_[n];
            const unsigned leader = firstLane(lanes_[n]);
            for (unsigned lane = 0; lane < kLanes; ++lane) {
                const std::uint64_t address = address_[n][lanes_[n] >> lane & 1 ? lane : leader];
                a.address[lane] = address / bytes_ * bytes_;  // handles of lanes may differ, and so texels
            }
        }
    }

  private:
    unsigned count_ = 0, bytes_ = 1;
    std::uint8_t used_[kLanes] = {};
    LaneMask lanes_[Warp::kMaxTexels] = {};
    std::uint64_t address_[Warp::kMaxTexels][kLanes];
};
static_assert(Warp::kMaxTexels == Taps::kMost);

/// One lane's texel, as its SM sees it.
void readTexel(const Instr& i, Warp& w, unsigned lane, const Image& image, const Tap& tap, TexelAccesses& accesses,
               std::uint8_t (&texel)[16]) {
    const unsigned bytes = image.format.bytes();
    const std::uint64_t address = image.at(image.levels[tap.level], tap.x, tap.y, tap.z);
    const std::uint8_t* from = bytesOf(i, w, lane, address, bytes);
    if (w.effects().showAtOnce())
        std::memcpy(texel, from, bytes);
    else
        w.effects().read(address, from, bytes, texel);
    accesses.add(lane, address, bytes);
}

/// One texel of a fetch, or the border.
void bytesOfTap(const Instr& i, Warp& w, unsigned lane, const Texture& texture, const Tap& tap, TexelAccesses& accesses,
                std::uint8_t (&texel)[16]) {
    if (tap.isBorder)
        encodeBorder(texture, texel);
    else
        readTexel(i, w, lane, texture.image, tap, accesses, texel);
}

void bitsOfTap(const Instr& i, Warp& w, unsigned lane, const Texture& texture, const Tap& tap, TexelAccesses& accesses,
               std::uint32_t (&channels)[4]) {
    std::uint8_t texel[16];
    bytesOfTap(i, w, lane, texture, tap, accesses, texel);
    if (returnsBits(texture)) return decodeTexelBits(texture.image.format, texel, channels);
    float values[4];
    decodeTexel(texture, texel, values);
    for (unsigned c = 0; c < 4; ++c) channels[c] = std::bit_cast<std::uint32_t>(values[c]);
}

void filterTaps(const Instr& i, Warp& w, unsigned lane, const Texture& texture, const Taps& taps,
                TexelAccesses& accesses, std::uint32_t (&channels)[4]) {
    for (std::uint32_t& channel : channels) channel = 0;
    if (taps.count == 0) return;
    if (taps.count == 1 && !isFiltered(texture))
        return bitsOfTap(i, w, lane, texture, taps.items[0], accesses, channels);
    const unsigned count = texture.image.format.channels;
    double sum[4] = {};
    for (unsigned n = 0; n < taps.count; ++n) {
        std::uint8_t texel[16];
        bytesOfTap(i, w, lane, texture, taps.items[n], accesses, texel);
        double values[4];
        filterChannels(texture, texel, values);
        for (unsigned c = 0; c < count; ++c) sum[c] += taps.items[n].weight * values[c];
    }
    for (unsigned c = 0; c < count; ++c) channels[c] = filteredChannel(texture, sum[c] / kWholeWeight);
}

/// An instruction's operands of one lane.
struct LaneOperands {
    Warp& w;
    unsigned lane;
    float real(Slot slot) const { return w.lanes<float>(slot)[lane]; }
    std::int32_t integer(Slot slot) const { return w.lanes<std::int32_t>(slot)[lane]; }
    std::uint64_t handle(const ImageSite& site) const { return w.lanes<std::uint64_t>(site.handle)[lane]; }
};

/// A layer beyond the last one is the last one, and so is a negative one: it has no sign.
std::uint32_t clampedLayer(const Image& image, const ImageSite& site, const LaneOperands& o) {
    if (!site.layered) return 0;
    const std::uint32_t layers = image.levels[0].slices / (image.cube ? 6 : 1);
    return std::min(static_cast<std::uint32_t>(o.integer(site.layer)), std::max(layers, 1u) - 1);
}

TexturePlace placeOf(const Texture& texture, const ImageSite& site, const LaneOperands& o) {
    TexturePlace place;
    place.dimensions = site.dimensions;
    place.slice = clampedLayer(texture.image, site, o);
    for (unsigned d = 0; d < site.dimensions; ++d) place.coordinate[d] = o.real(site.coordinate[d]);
    if (!site.cube) return place;
    const CubePlace on = cubePlaceOf(static_cast<double>(place.coordinate[0]), static_cast<double>(place.coordinate[1]),
                                     static_cast<double>(place.coordinate[2]));
    const Image::Level& l = texture.image.levels[0];
    place.dimensions = 2;
    place.slice = std::min(place.slice * 6 + on.face, l.slices - 1);
    const bool normalized = texture.sampler.normalizedCoordinates;
    place.coordinate[0] = static_cast<float>(normalized ? on.s : on.s * l.width);
    place.coordinate[1] = static_cast<float>(normalized ? on.t : on.t * l.height);
    return place;
}

LevelOfDetail detailOf(const Texture& texture, const ImageSite& site, const LaneOperands& o) {
    if (site.detail == ImageSite::Detail::base || texture.image.levels.size() == 1) return {};
    if (site.detail == ImageSite::Detail::level) return {static_cast<double>(o.real(site.level)), true};
    const Image::Level& l = texture.image.levels[0];
    const std::uint32_t sizes[3] = {l.width, l.height, site.cube ? l.width : l.slices};
    double squared[2] = {};
    for (unsigned d = 0; d < site.dimensions; ++d) {
        // A cube's directions run from -1 to 1 along a face.
        const double scale = site.cube ? sizes[0] / 2.0 : texture.sampler.normalizedCoordinates ? sizes[d] : 1;
        const double x = static_cast<double>(o.real(site.alongX[d])) * scale;
        const double y = static_cast<double>(o.real(site.alongY[d])) * scale;
        // No number counts as no step.
        squared[0] += x == x ? x * x : 0;
        squared[1] += y == y ? y * y : 0;
    }
    return {levelOf(std::max(squared[0], squared[1])) / 2, true};
}

Taps tapsOfLane(const Texture& texture, const ImageSite& site, const LaneOperands& o) {
    if (site.realCoordinates)
        // Rows of memory are read by index only.
        return texture.image.isBuffer ? Taps{} : tapsOf(texture, placeOf(texture, site, o), detailOf(texture, site, o));
    std::int64_t coordinate[3] = {};
    for (unsigned d = 0; d < site.dimensions; ++d) coordinate[d] = o.integer(site.coordinate[d]);
    // By index, there is nothing beyond the last layer.
    const std::uint32_t layer = clampedLayer(texture.image, site, o);
    if (site.layered && layer != static_cast<std::uint32_t>(o.integer(site.layer))) return {};
    const std::int64_t level = site.detail == ImageSite::Detail::level ? o.integer(site.level) : 0;
    return tapAt(texture, coordinate, site.dimensions, layer, level, site.detail == ImageSite::Detail::level);
}

/// OpenCL's numbers, which PTX refers to.
std::uint32_t channelTypeOf(const TexelFormat& f, bool normalizes) {
    const std::uint32_t width = f.channelBytes == 1 ? 0 : f.channelBytes == 2 ? 1 : 2;
    if (f.kind == TexelFormat::Kind::real) return f.channelBytes == 2 ? 0x10DD : 0x10DE;
    const bool isSigned = f.kind == TexelFormat::Kind::signedInteger;
    if (normalizes && width < 2) return (isSigned ? 0x10D0 : 0x10D2) + width;
    return (isSigned ? 0x10D7 : 0x10DA) + width;
}

std::uint32_t answerTo(const ImageSite& site, const Image& image, const TextureSampler* sampler, std::int64_t level) {
    using Query = ImageSite::Query;
    const bool isSize = site.query == Query::width || site.query == Query::height || site.query == Query::depth;
    if (level < 0 || level >= static_cast<std::int64_t>(image.levels.size())) {
        if (isSize) return 0;
        level = 0;
    }
    const Image::Level& l = image.levels[static_cast<std::size_t>(level)];
    const std::uint32_t layers = image.layered ? l.slices / (image.cube ? 6 : 1) : 0;
    switch (site.query) {
        case Query::width:
            return l.width;
        case Query::height:
            // Layers are a dimension more; a texture of one dimension has a second one.
            if (image.dimensions < 2) return image.layered ? layers : sampler && !image.isBuffer ? 1 : 0;
            return l.height;
        case Query::depth:
            if (image.dimensions == 2) return layers;
            return image.dimensions == 3 ? l.slices : 0;
        case Query::layers:
            return layers;
        case Query::levels:
            return static_cast<std::uint32_t>(image.levels.size());
        case Query::samples:
            return 1;
        case Query::channelType:
            return channelTypeOf(image.format, sampler && !sampler->asInteger);
        case Query::channelOrder:
            return image.format.channels == 1 ? 0x10B0 : image.format.channels == 2 ? 0x10B2 : 0x10B5;
        case Query::normalizedCoordinates:
            return sampler && sampler->normalizedCoordinates ? 1 : 0;
        case Query::filterMode:
            return sampler && sampler->linear ? 1 : 0;
        case Query::addressMode:
            return sampler ? static_cast<std::uint32_t>(sampler->address[site.which]) : 0;
        case Query::memoryLayout:
            return image.tileWidthShift || image.tileHeightShift ? 1 : 0;
    }
    return 0;
}

/// Where a lane's surface access goes; false: nowhere.
bool surfaceAddress(const Instr& i, Warp& w, unsigned lane, const ImageSite& site, const Image& image, unsigned bytes,
                    std::uint64_t& address) {
    const LaneOperands o{w, lane};
    const Image::Level& l = image.levels[0];
    const unsigned texel = image.format.bytes();
    const std::int64_t unit = site.formatted ? texel : 1;  // .p counts texels
    std::int64_t at[3] = {o.integer(site.coordinate[0]) * unit, 0, 0};
    for (unsigned d = 1; d < site.dimensions; ++d) at[d] = o.integer(site.coordinate[d]);
    // Of a layer's number, 16 bits count.
    if (site.layered) at[2] = static_cast<std::uint16_t>(o.integer(site.layer));
    const std::int64_t most[3] = {std::int64_t{l.width} * texel - bytes, std::int64_t{l.height} - 1,
                                  std::int64_t{l.slices} - 1};
    for (unsigned d = 0; d < 3; ++d) {
        if (at[d] >= 0 && at[d] <= most[d]) continue;
        if (site.outside == ImageSite::Outside::zero || most[0] < 0) return false;
        if (site.outside == ImageSite::Outside::trap)
            w.fail(LaunchError::Cause::illegalAddress, i, lane,
                   fmt::format("{} {} lies outside of the surface, which has {}",
                               d == 0   ? "the byte"
                               : d == 1 ? "the row"
                                        : "the slice",
                               at[d], d == 0 ? most[0] + bytes : most[d] + 1));
        at[d] = at[d] < 0 ? 0 : most[d];
    }
    if (at[0] % bytes)
        w.fail(LaunchError::Cause::misalignedAddress, i, lane,
               fmt::format("the byte {} of a row is not a multiple of the {} that are accessed", at[0], bytes));
    address = image.at(l, static_cast<std::uint32_t>(at[0] / texel), static_cast<std::uint32_t>(at[1]),
                       static_cast<std::uint32_t>(at[2])) +
              static_cast<std::uint64_t>(at[0] % texel);
    return true;
}

std::uint64_t dataOf(const Instr& i, Warp& w, unsigned lane, unsigned element) {
    const Slot slot = i.src[1 + element];
    return i.addressIs32 ? w.lanes<std::uint32_t>(slot)[lane] : w.lanes<std::uint64_t>(slot)[lane];
}

/// sust.p: 32 bits of each channel to what the format holds.
void encodeChannels(const Instr& i, Warp& w, unsigned lane, const TexelFormat& format, std::uint8_t* to) {
    for (unsigned c = 0; c < format.channels; ++c) {
        std::uint32_t value = c < i.elements ? static_cast<std::uint32_t>(dataOf(i, w, lane, c)) : 0;
        const unsigned bits = 8u * format.channelBytes;
        if (format.kind == TexelFormat::Kind::unsignedInteger && bits < 32) {
            value = std::min(value, (1u << bits) - 1);
        } else if (format.kind == TexelFormat::Kind::signedInteger && bits < 32) {
            const std::int32_t most = (1 << (bits - 1)) - 1;
            value = static_cast<std::uint32_t>(std::clamp(static_cast<std::int32_t>(value), -most - 1, most));
        } else if (format.kind == TexelFormat::Kind::real && bits == 16) {
            value = halfTowardZero(std::bit_cast<float>(value));
        }
        std::memcpy(to + std::size_t{c} * format.channelBytes, &value, format.channelBytes);
    }
}

}  // namespace

void runTexture(const Instr& i, Warp& w, LaneMask mask) {
    const ImageSite& site = w.code().imageSites[i.extra];
    Textures textures(i, w);
    TexelAccesses accesses;
    std::uint32_t results[kLanes][4];
    for (LaneMask m = mask; m; m &= m - 1) {
        const unsigned lane = firstLane(m);
        const LaneOperands o{w, lane};
        const Texture& texture = textures.of(lane, o.handle(site));
        filterTaps(i, w, lane, texture, tapsOfLane(texture, site, o), accesses, results[lane]);
    }
    // Results may be written to the registers of coordinates: all lanes have read theirs.
    for (LaneMask m = mask; m; m &= m - 1)
        for (unsigned c = 0; c < 4; ++c) w.lanes<std::uint32_t>(i.dst[c])[firstLane(m)] = results[firstLane(m)][c];
    accesses.note(w);
}

void runTextureGather(const Instr& i, Warp& w, LaneMask mask) {
    const ImageSite& site = w.code().imageSites[i.extra];
    Textures textures(i, w);
    TexelAccesses accesses;
    std::uint32_t results[kLanes][4];
    for (LaneMask m = mask; m; m &= m - 1) {
        const unsigned lane = firstLane(m);
        const LaneOperands o{w, lane};
        const Texture& texture = textures.of(lane, o.handle(site));
        const Taps taps = gatherTaps(texture, placeOf(texture, site, o));
        for (unsigned n = 0; n < 4; ++n) {
            // Each texel goes through the filter by itself.
            std::uint8_t texel[16];
            bytesOfTap(i, w, lane, texture, taps.items[n], accesses, texel);
            double values[4] = {};
            filterChannels(texture, texel, values);
            results[lane][n] = filteredChannel(texture, values[site.which]);
        }
    }
    for (LaneMask m = mask; m; m &= m - 1)
        for (unsigned c = 0; c < 4; ++c) w.lanes<std::uint32_t>(i.dst[c])[firstLane(m)] = results[firstLane(m)][c];
    accesses.note(w);
}

void runImageQuery(const Instr& i, Warp& w, LaneMask mask) {
    const ImageSite& site = w.code().imageSites[i.extra];
    Textures textures(i, w);
    for (LaneMask m = mask; m; m &= m - 1) {
        const unsigned lane = firstLane(m);
        const LaneOperands o{w, lane};
        const std::int64_t level = site.detail == ImageSite::Detail::level ? o.integer(site.level) : 0;
        std::uint32_t answer = 0;
        if (site.ofSurface) {
            answer = answerTo(site, surfaceOf(i, w, lane, o.handle(site)), nullptr, level);
        } else {
            const Texture& texture = textures.of(lane, o.handle(site));
            answer = answerTo(site, texture.image, &texture.sampler, level);
        }
        w.lanes<std::uint32_t>(i.dst[0])[lane] = answer;
    }
}

const TexelFormat& surfaceFormat(const Instr& i, Warp& w, unsigned lane) {
    return surfaceOf(i, w, lane, LaneOperands{w, lane}.handle(w.code().imageSites[i.extra])).format;
}

Access& locateSurface(const Instr& i, Warp& w, LaneMask mask, AccessKind kind, Places& places) {
    const ImageSite& site = w.code().imageSites[i.extra];
    unsigned bytes = unsigned{i.elementBytes} * i.elements;
    if (site.formatted) {
        const unsigned lane = firstLane(mask);
        bytes = surfaceOf(i, w, lane, LaneOperands{w, lane}.handle(site)).format.bytes();
    }
    Access& a = w.beginAccess(ptx::Space::global, kind, i.cacheOp, bytes, 0);
    a.texture = kind == AccessKind::load;
    places.linear = false;
    for (LaneMask m = mask; m; m &= m - 1) {
        const unsigned lane = firstLane(m);
        const Image& image = surfaceOf(i, w, lane, LaneOperands{w, lane}.handle(site));
        if (site.formatted && image.format.bytes() != bytes)
            w.fail(LaunchError::Cause::illegalInstruction, i, lane, "surfaces of different formats in one warp");
        if (!surfaceAddress(i, w, lane, site, image, bytes, a.address[lane])) continue;
        a.lanes |= LaneMask{1} << lane;
        places.lane[lane] = bytesOf(i, w, lane, a.address[lane], bytes);
    }
    if (a.lanes) {
        const std::uint64_t first = a.address[firstLane(a.lanes)];
        for (unsigned lane = 0; lane < kLanes; ++lane)
            if (!(a.lanes >> lane & 1)) a.address[lane] = first;
    }
    return a;
}

void runSurfaceLoad(const Instr& i, Warp& w, LaneMask mask) {
    Places places;
    const Access& a = locateSurface(i, w, mask, AccessKind::load, places);
    std::uint8_t data[kLanes][16] = {};
    for (LaneMask m = a.lanes; m; m &= m - 1) {
        const unsigned lane = firstLane(m);
        if (w.effects().showAtOnce())
            std::memcpy(data[lane], places.lane[lane], a.bytes);
        else
            w.effects().read(a.address[lane], places.lane[lane], a.bytes, data[lane]);
    }
    for (LaneMask m = mask; m; m &= m - 1) {
        const unsigned lane = firstLane(m);
        for (unsigned e = 0; e < i.elements; ++e) {
            std::uint64_t value = 0;
            std::memcpy(&value, data[lane] + std::size_t{e} * i.elementBytes, i.elementBytes);
            if (i.addressIs32)
                w.lanes<std::uint32_t>(i.dst[e])[lane] = static_cast<std::uint32_t>(value);
            else
                w.lanes<std::uint64_t>(i.dst[e])[lane] = value;
        }
    }
    if (!a.lanes) w.dropAccess();
}

void runSurfaceStore(const Instr& i, Warp& w, LaneMask mask) {
    const ImageSite& site = w.code().imageSites[i.extra];
    Places places;
    const Access& a = locateSurface(i, w, mask, AccessKind::store, places);
    if (!a.lanes) return w.dropAccess();
    const Places to = w.effects().showAtOnce() ? places : w.effects().store(a, places);
    for (LaneMask m = a.lanes; m; m &= m - 1) {
        const unsigned lane = firstLane(m);
        std::uint8_t* bytes = to.of(a, lane);
        if (site.formatted) {
            encodeChannels(i, w, lane, surfaceOf(i, w, lane, LaneOperands{w, lane}.handle(site)).format, bytes);
            continue;
        }
        for (unsigned e = 0; e < i.elements; ++e) {
            const std::uint64_t value = dataOf(i, w, lane, e);
            std::memcpy(bytes + std::size_t{e} * i.elementBytes, &value, i.elementBytes);
        }
    }
}

}  // namespace bulkhead::sim
