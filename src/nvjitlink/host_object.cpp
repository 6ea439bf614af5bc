#include "nvjitlink/host_object.h"

#include <ar.h>
#include <elf.h>

#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include "driver/fatbin.h"

namespace bulkhead::nvjitlink {
namespace {

/// So many bytes at an offset, if they are there.
Image part(Image bytes, std::uint64_t offset, std::uint64_t size) {
    return offset <= bytes.size() && size <= bytes.size() - offset ? bytes.subspan(offset, size) : Image();
}

template <class Structure>
std::optional<Structure> at(Image bytes, std::uint64_t offset) {
    const Image found = part(bytes, offset, sizeof(Structure));
    if (found.empty()) return std::nullopt;
    Structure value;
    std::memcpy(&value, found.data(), sizeof value);
    return value;
}

std::string_view nameAt(Image names, std::uint32_t offset) {
    if (offset >= names.size()) return {};
    const auto* const begin = reinterpret_cast<const char*>(names.data()) + offset;
    return {begin, strnlen(begin, names.size() - offset)};
}

/// A section holds one fatbin behind another, each at a multiple of eight bytes.
void appendFatbins(std::vector<Image>& found, Image section) {
    constexpr std::size_t kAlignment = 8, kSizeAt = 8;
    while (driver::Fatbin::beginsAt(section)) {
        const std::optional<std::uint64_t> payload = at<std::uint64_t>(section, kSizeAt);
        if (!payload || *payload > section.size() - driver::Fatbin::kHeaderBytes) return;
        const std::size_t bytes = driver::Fatbin::kHeaderBytes + *payload;
        found.push_back(section.first(bytes));
        const std::size_t next = (bytes + kAlignment - 1) / kAlignment * kAlignment;
        section = next < section.size() ? section.subspan(next) : Image();
    }
}

}  // namespace

bool isElf(Image bytes) {
    return bytes.size() >= SELFMAG && std::memcmp(bytes.data(), ELFMAG, SELFMAG) == 0;
}

bool isArchive(Image bytes) {
    return bytes.size() >= SARMAG && std::memcmp(bytes.data(), ARMAG, SARMAG) == 0;
}

std::vector<Image> fatbinsOfObject(Image bytes) {
    std::vector<Image> found;
    const std::optional<Elf64_Ehdr> header = at<Elf64_Ehdr>(bytes, 0);
    if (!header || !isElf(bytes) || header->e_ident[EI_CLASS] != ELFCLASS64) return found;
    const auto section = [&](unsigned number) {
        return at<Elf64_Shdr>(bytes, header->e_shoff + std::uint64_t{number} * sizeof(Elf64_Shdr));
    };
    const std::optional<Elf64_Shdr> namesSection = section(header->e_shstrndx);
    if (!namesSection) return found;
    const Image names = part(bytes, namesSection->sh_offset, namesSection->sh_size);
    for (unsigned i = 0; i < header->e_shnum; ++i) {
        const std::optional<Elf64_Shdr> one = section(i);
        if (!one) break;
        const std::string_view name = nameAt(names, one->sh_name);
        if (name == "__nv_relfatbin" || name == ".nv_fatbin")
            appendFatbins(found, part(bytes, one->sh_offset, one->sh_size));
    }
    return found;
}

std::vector<Image> fatbinsOfArchive(Image bytes) {
    std::vector<Image> found;
    for (std::uint64_t offset = SARMAG;;) {
        const std::optional<ar_hdr> member = at<ar_hdr>(bytes, offset);
        if (!member) return found;
        std::uint64_t size = 0;
        std::from_chars(member->ar_size, member->ar_size + sizeof member->ar_size, size);
        const Image content = part(bytes, offset + sizeof(ar_hdr), size);
        for (const Image fatbin : fatbinsOfObject(content)) found.push_back(fatbin);
        offset += sizeof(ar_hdr) + size + size % 2;
    }
}

}  // namespace bulkhead::nvjitlink
