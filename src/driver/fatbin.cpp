#include "driver/fatbin.h"

#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/files.h"
#include "driver/readable_memory.h"

namespace bulkhead::driver {
namespace {

constexpr std::uint64_t kLz4 = 0x2000, kZstd = 0x8000;
constexpr std::size_t kEntryBytes = 64;        ///< what every entry's header has at least
constexpr Bytes kMostText = Bytes{256} << 20;  ///< more than any compiler writes

/// A number at an offset that is known to be inside.
template <class T>
T at(std::span<const std::uint8_t> bytes, std::size_t offset) {
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

/// Byte by byte, as a text may end before it is as long.
bool hasMagic(std::span<const std::uint8_t> bytes, std::uint32_t magic) {
    std::uint8_t wanted[sizeof magic];
    std::memcpy(wanted, &magic, sizeof magic);
    if (bytes.size() < sizeof magic) return false;
    for (std::size_t i = 0; i < sizeof magic; ++i)
        if (bytes[i] != wanted[i]) return false;
    return true;
}

Fatbin::Packing packingOf(std::uint64_t flags) {
    return flags & kZstd ? Fatbin::Packing::zstd : flags & kLz4 ? Fatbin::Packing::lz4 : Fatbin::Packing::none;
}

/// One entry at the beginning of `rest`, which moves on to the next.
std::optional<Fatbin::Entry> readEntry(std::span<const std::uint8_t>& rest) {
    if (rest.size() < kEntryBytes) throw Error("a fatbin ends inside the header of an entry");
    const auto kind = at<std::uint16_t>(rest, 0);
    const auto headerBytes = at<std::uint32_t>(rest, 4);
    const auto paddedBytes = at<std::uint64_t>(rest, 8);
    const auto packedBytes = at<std::uint32_t>(rest, 16);
    if (headerBytes < kEntryBytes || headerBytes > rest.size())
        throw Error("an entry of a fatbin has a header of {} bytes", headerBytes);
    if (paddedBytes > rest.size() - headerBytes)
        throw Error("an entry of a fatbin has {} bytes, of which {} are there", paddedBytes, rest.size() - headerBytes);
    Fatbin::Entry entry;
    entry.sm = at<std::uint32_t>(rest, 28);
    entry.packing = packingOf(at<std::uint64_t>(rest, 40));
    entry.unpackedBytes = at<std::uint64_t>(rest, 56);
    entry.payload = rest.subspan(headerBytes, paddedBytes);
    if (packedBytes > paddedBytes)
        throw Error("an entry of a fatbin has {} packed bytes in a room of {}", packedBytes, paddedBytes);
    if (entry.packing != Fatbin::Packing::none) entry.payload = entry.payload.first(packedBytes);
    rest = rest.subspan(headerBytes + paddedBytes);
    if (kind != static_cast<std::uint16_t>(Fatbin::Kind::ptx) && kind != static_cast<std::uint16_t>(Fatbin::Kind::elf))
        return std::nullopt;  // intermediate code of a linker, sources: nothing to run
    entry.kind = static_cast<Fatbin::Kind>(kind);
    return entry;
}

/// What so many bytes can unpack to at most: a byte of LZ4 stands for 255, the four of the shortest zstd block for 128
/// KB.
Bytes mostFrom(Fatbin::Packing packing, Bytes packed) {
    return packing == Fatbin::Packing::lz4 ? 255 * packed : (packed / 4 + 1) * 128_KiB;
}

std::string unpackLz4(std::span<const std::uint8_t> packed, Bytes bytes) {
    std::string text(bytes, '\0');
    const int got = LZ4_decompress_safe(reinterpret_cast<const char*>(packed.data()), text.data(),
                                        static_cast<int>(packed.size()), static_cast<int>(bytes));
    if (got < 0) throw Error("the LZ4 block of a fatbin is damaged");
    text.resize(static_cast<std::size_t>(got));
    return text;
}

std::string unpackZstd(std::span<const std::uint8_t> packed, Bytes bytes) {
    std::string text(bytes, '\0');
    const std::size_t got = ZSTD_decompress(text.data(), text.size(), packed.data(), packed.size());
    if (ZSTD_isError(got)) throw Error("the zstd frame of a fatbin is damaged: {}", ZSTD_getErrorName(got));
    text.resize(got);
    return text;
}

}  // namespace

Fatbin Fatbin::read(std::span<const std::uint8_t> bytes) {
    if (bytes.size() < kHeaderBytes || !beginsAt(bytes)) throw Error("not a fatbin");
    const auto headerBytes = at<std::uint16_t>(bytes, 6);
    const auto size = at<std::uint64_t>(bytes, 8);
    if (headerBytes < kHeaderBytes || headerBytes > bytes.size() || size > bytes.size() - headerBytes)
        throw Error("a fatbin of {} bytes is cut off at {}", size, bytes.size());
    Fatbin fatbin;
    std::span<const std::uint8_t> rest = bytes.subspan(headerBytes, size);
    while (!rest.empty())
        if (const auto entry = readEntry(rest)) fatbin.entries_.push_back(*entry);
    return fatbin;
}

bool Fatbin::beginsAt(std::span<const std::uint8_t> bytes) {
    return hasMagic(bytes, kMagic);
}

namespace {

/// As far as memory goes.
std::span<const std::uint8_t> readable(const void* at) {
    const Bytes bytes = readableFrom(at, Fatbin::kMostBytes);
    if (bytes == 0) throw Error("the image is not in memory that can be read");
    return {static_cast<const std::uint8_t*>(at), bytes};
}

/// What compilers put before a fatbin: u32 magic, u32 version, pointer to the fatbin, pointer to the pieces.
constexpr std::size_t kWrapperVersion = 4, kWrapperFatbin = 8, kWrapperPieces = 16;
constexpr std::uint32_t kLinkedVersion = 2;  ///< of several objects, whose fatbins the wrapper lists
constexpr std::size_t kMostPieces = 100'000;

const void* pointerAt(std::span<const std::uint8_t> bytes, std::size_t offset) {
    if (bytes.size() < offset + sizeof(void*)) throw Error("the wrapper of a fatbin is cut off");
    return at<const void*>(bytes, offset);
}

}  // namespace

std::span<const std::uint8_t> Fatbin::imageAt(const void* image) {
    const std::span<const std::uint8_t> bytes = readable(image);
    if (!hasMagic(bytes, kWrapperMagic)) return bytes;
    const void* const fatbin = pointerAt(bytes, kWrapperFatbin);
    if (!fatbin) throw Error("the wrapper of a fatbin points to nothing");
    if (!beginsAt(readable(fatbin))) throw Error("the wrapper of a fatbin points to something else");
    return readable(fatbin);
}

std::vector<std::span<const std::uint8_t>> Fatbin::imagesAt(const void* image) {
    const std::span<const std::uint8_t> bytes = readable(image);
    const bool linked = hasMagic(bytes, kWrapperMagic) && bytes.size() >= kWrapperPieces + sizeof(void*) &&
                        at<std::uint32_t>(bytes, kWrapperVersion) == kLinkedVersion;
    const void* const pieces = linked ? pointerAt(bytes, kWrapperPieces) : nullptr;
    if (!pieces) return {imageAt(image)};
    std::vector<std::span<const std::uint8_t>> images;
    const std::span<const std::uint8_t> list = readable(pieces);
    for (std::size_t offset = 0; images.size() < kMostPieces; offset += sizeof(void*)) {
        const void* const piece = pointerAt(list, offset);
        if (!piece) break;
        images.push_back(imageAt(piece));
    }
    if (images.empty()) throw Error("a linked program lists no fatbins");
    return images;
}

std::span<const std::uint8_t> Fatbin::bytesAt(const void* image) {
    const std::span<const std::uint8_t> bytes = imageAt(image);
    return beginsAt(bytes) ? bytes : std::span<const std::uint8_t>();
}

const Fatbin::Entry* Fatbin::bestPtx(unsigned sm) const {
    const Entry* best = nullptr;
    for (const Entry& entry : entries_) {
        if (entry.kind != Kind::ptx) continue;
        const bool better = !best || (entry.sm <= sm ? best->sm > sm || entry.sm > best->sm : entry.sm < best->sm);
        if (better) best = &entry;
    }
    return best;
}

std::string Fatbin::machineTargets() const {
    std::string list;
    for (const Entry& entry : entries_)
        if (entry.kind == Kind::elf) list += fmt::format("{}sm_{}", list.empty() ? "" : ", ", entry.sm);
    return list;
}

std::string Fatbin::text(const Entry& entry) {
    std::string text;
    if (entry.payload.size() > kMostText) throw Error("an entry of a fatbin has {} bytes", entry.payload.size());
    if (entry.packing == Packing::none) {
        text.assign(reinterpret_cast<const char*>(entry.payload.data()), entry.payload.size());
    } else {
        if (entry.unpackedBytes > std::min(kMostText, mostFrom(entry.packing, entry.payload.size())))
            throw Error("an entry of a fatbin claims to unpack to {} bytes", entry.unpackedBytes);
        text = entry.packing == Packing::lz4 ? unpackLz4(entry.payload, entry.unpackedBytes)
                                             : unpackZstd(entry.payload, entry.unpackedBytes);
    }
    text.resize(std::min(text.size(), text.find('\0')));  // entries are padded
    return text;
}

std::string readImage(const std::filesystem::path& path) {
    std::string content = readFile(path, Fatbin::kMostBytes);
    const std::span bytes(reinterpret_cast<const std::uint8_t*>(content.data()), content.size());
    if (hasMagic(bytes, Fatbin::kWrapperMagic)) throw Error("{}: points into the memory of a program", path.string());
    try {
        if (Fatbin::beginsAt(bytes)) Fatbin::read(bytes);
    } catch (const Error& error) {
        throw Error("{}: {}", path.string(), error.what());
    }
    // A little room behind it, so that a look at a header never leaves the text.
    content.append(Fatbin::kHeaderBytes, '\0');
    return content;
}

}  // namespace bulkhead::driver
