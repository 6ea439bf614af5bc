#include "static_runtime/loaded_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

namespace bulkhead::staticRuntime {

LoadedFile::LoadedFile(const char* path) {
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    struct stat status;
    if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
        size_ = static_cast<std::size_t>(status.st_size);
        void* const mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
        if (mapped != MAP_FAILED) begin_ = static_cast<const char*>(mapped);
    }
    ::close(file);
    if (begin_) findSymbols();
}

LoadedFile::~LoadedFile() {
    if (begin_) ::munmap(const_cast<char*>(begin_), size_);
}

void LoadedFile::findSymbols() {
    const auto* const header = reinterpret_cast<const ElfW(Ehdr)*>(begin_);
    if (!has(0, sizeof *header) || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_shentsize != sizeof(ElfW(Shdr)) || header->e_shoff % alignof(ElfW(Shdr)) != 0 ||
        !has(header->e_shoff, std::uint64_t{header->e_shnum} * sizeof(ElfW(Shdr))))
        return;
    const auto* const sections = reinterpret_cast<const ElfW(Shdr)*>(begin_ + header->e_shoff);
    for (unsigned i = 0; i < header->e_shnum; ++i) {
        const ElfW(Shdr)& section = sections[i];
        if (section.sh_type != SHT_SYMTAB || section.sh_link >= header->e_shnum ||
            section.sh_offset % alignof(ElfW(Sym)) != 0 || !has(section.sh_offset, section.sh_size))
            continue;
        const ElfW(Shdr)& text = sections[section.sh_link];
        if (!has(text.sh_offset, text.sh_size) || text.sh_size == 0 || begin_[text.sh_offset + text.sh_size - 1] != 0)
            continue;
        table_ = reinterpret_cast<const ElfW(Sym)*>(begin_ + section.sh_offset);
        symbols_ = section.sh_size / sizeof(ElfW(Sym));
        names_ = begin_ + text.sh_offset;
        nameBytes_ = text.sh_size;
        return;
    }
}

const char* LoadedFile::nameOf(const ElfW(Sym) & symbol) const {
    return symbol.st_name < nameBytes_ ? names_ + symbol.st_name : "";
}

}  // namespace bulkhead::staticRuntime
