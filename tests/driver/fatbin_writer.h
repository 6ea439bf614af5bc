#pragma once

#include <lz4.h>
#include <zstd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace bulkhead::driver {

/// Writes fatbins as CUDA's compilers do, apart from the reader: every offset is written here from the format's
/// description.
class FatbinWriter {
  public:
    enum class Packing { none, lz4, zstd };

    void addPtx(const std::string& text, unsigned sm, Packing packing = Packing::none) {
        const std::string content = text + '\0';
        std::string stored = content;
        std::uint64_t flags = 0;
        if (packing == Packing::lz4) {
            stored.resize(static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(content.size()))));
            stored.resize(static_cast<std::size_t>(LZ4_compress_default(
                content.data(), stored.data(), static_cast<int>(content.size()), static_cast<int>(stored.size()))));
            flags = 0x2000;
        } else if (packing == Packing::zstd) {
            stored.resize(ZSTD_compressBound(content.size()));
            stored.resize(ZSTD_compress(stored.data(), stored.size(), content.data(), content.size(), 3));
            flags = 0x8000;
        }
        add(1, 80, sm, stored, flags, content.size());
    }
    void addMachineCode(unsigned sm) { add(2, 64, sm, std::string("\x7f\x45\x4c\x46 not really", 15), 0, 0); }

    /// The whole, with its header.
    std::vector<std::uint8_t> bytes() const {
        std::vector<std::uint8_t> all(16);
        put<std::uint32_t>(all, 0, 0xba55ed50);
        put<std::uint16_t>(all, 4, 1);
        put<std::uint16_t>(all, 6, 16);
        put<std::uint64_t>(all, 8, entries_.size());
        all.insert(all.end(), entries_.begin(), entries_.end());
        return all;
    }

  private:
    template <class T>
    static void put(std::vector<std::uint8_t>& to, std::size_t offset, T value) {
        std::memcpy(to.data() + offset, &value, sizeof value);
    }
    void add(std::uint16_t kind, std::uint32_t headerBytes, unsigned sm, const std::string& stored, std::uint64_t flags,
             std::uint64_t unpackedBytes) {
        const std::size_t padded = (stored.size() + 7) / 8 * 8;
        std::vector<std::uint8_t> entry(headerBytes + padded);
        put<std::uint16_t>(entry, 0, kind);
        put<std::uint16_t>(entry, 2, 0x101);
        put<std::uint32_t>(entry, 4, headerBytes);
        put<std::uint64_t>(entry, 8, padded);
        put<std::uint32_t>(entry, 16, flags ? static_cast<std::uint32_t>(stored.size()) : 0);
        put<std::uint32_t>(entry, 28, sm);
        put<std::uint64_t>(entry, 40, flags);
        put<std::uint64_t>(entry, 56, flags ? unpackedBytes : 0);
        std::memcpy(entry.data() + headerBytes, stored.data(), stored.size());
        entries_.insert(entries_.end(), entry.begin(), entry.end());
    }
    std::vector<std::uint8_t> entries_;
};

/// What a program's registration passes: a header that points to the fatbin.
struct FatbinWrapper {
    std::uint32_t magic = 0x466243b1, version = 1;
    const void* data = nullptr;
    void* unused = nullptr;
};

}  // namespace bulkhead::driver
