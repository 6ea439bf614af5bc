#include "cli/elf_file.h"

#include <elf.h>
#include <fmt/format.h>

#include <cstring>

namespace bulkhead::cli {
namespace {

/// Entries of a kind at a place in the file; those that would lie beyond its end are left out.
template <class Entry>
std::vector<Entry> entries(std::string_view bytes, std::uint64_t offset, std::uint64_t count) {
    if (offset > bytes.size()) return {};
    count = std::min<std::uint64_t>(count, (bytes.size() - offset) / sizeof(Entry));
    std::vector<Entry> all(count);
    if (count) std::memcpy(all.data(), bytes.data() + offset, count * sizeof(Entry));
    return all;
}

std::string textAt(std::string_view bytes, std::uint64_t offset) {
    if (offset >= bytes.size()) return {};
    const std::string_view rest = bytes.substr(offset);
    return std::string(rest.substr(0, rest.find('\0')));
}

/// Where an address of the loaded program lies in the file.
std::optional<std::uint64_t> fileOffset(const std::vector<Elf64_Phdr>& segments, std::uint64_t address) {
    for (const Elf64_Phdr& s : segments)
        if (s.p_type == PT_LOAD && address >= s.p_vaddr && address - s.p_vaddr < s.p_filesz)
            return s.p_offset + (address - s.p_vaddr);
    return std::nullopt;
}

std::vector<std::string> neededLibraries(std::string_view bytes, const std::vector<Elf64_Phdr>& segments) {
    std::vector<std::string> names;
    for (const Elf64_Phdr& segment : segments) {
        if (segment.p_type != PT_DYNAMIC) continue;
        const auto list = entries<Elf64_Dyn>(bytes, segment.p_offset, segment.p_filesz / sizeof(Elf64_Dyn));
        std::optional<std::uint64_t> strings;
        for (const Elf64_Dyn& entry : list)
            if (entry.d_tag == DT_STRTAB) strings = fileOffset(segments, entry.d_un.d_ptr);
        if (!strings) continue;
        for (const Elf64_Dyn& entry : list)
            if (entry.d_tag == DT_NEEDED) names.push_back(textAt(bytes, *strings + entry.d_un.d_val));
    }
    return names;
}

bool hasSection(std::string_view bytes, const Elf64_Ehdr& header, std::string_view name) {
    const auto sections = entries<Elf64_Shdr>(bytes, header.e_shoff, header.e_shnum);
    if (header.e_shstrndx >= sections.size()) return false;
    const std::uint64_t names = sections[header.e_shstrndx].sh_offset;
    for (const Elf64_Shdr& section : sections)
        if (textAt(bytes, names + section.sh_name) == name) return true;
    return false;
}

}  // namespace

std::optional<ElfFile> ElfFile::read(std::string_view bytes) {
    if (!bytes.starts_with(std::string_view(ELFMAG, SELFMAG)) || bytes.size() < sizeof(Elf64_Ehdr)) return std::nullopt;
    ElfFile file;
    Elf64_Ehdr header;
    std::memcpy(&header, bytes.data(), sizeof header);
    file.machine = header.e_machine;
    file.is64Bit = header.e_ident[EI_CLASS] == ELFCLASS64;
    if (!file.is64Bit) return file;
    file.needed = neededLibraries(bytes, entries<Elf64_Phdr>(bytes, header.e_phoff, header.e_phnum));
    file.hasDeviceCode = hasSection(bytes, header, ".nv_fatbin");
    return file;
}

std::string machineName(std::uint16_t machine) {
    switch (machine) {
        case EM_X86_64:
            return "x86-64";
        case EM_AARCH64:
            return "aarch64";
        default:
            return fmt::format("machine {}", machine);
    }
}

std::uint16_t ownMachine() {
#if defined(__aarch64__)
    return EM_AARCH64;
#else
    return EM_X86_64;
#endif
}

}  // namespace bulkhead::cli
