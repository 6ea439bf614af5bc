#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>

namespace bulkhead::staticRuntime {

/// The file that an object of this process was loaded from: it has the table of all symbols, which memory does not.
class LoadedFile {
  public:
    explicit LoadedFile(const char* path);
    ~LoadedFile();
    LoadedFile(const LoadedFile&) = delete;
    LoadedFile& operator=(const LoadedFile&) = delete;

    /// Symbols by number; none if the file cannot be read, is stripped or is damaged.
    std::size_t symbols() const { return symbols_; }
    const ElfW(Sym) & symbol(std::size_t number) const { return table_[number]; }
    const char* nameOf(const ElfW(Sym) &) const;

  private:
    void findSymbols();
    /// Whether so many bytes at an offset lie in the file.
    bool has(std::uint64_t offset, std::uint64_t bytes) const { return offset <= size_ && bytes <= size_ - offset; }

    const char* begin_ = nullptr;
    std::size_t size_ = 0;
    const ElfW(Sym) * table_ = nullptr;
    std::size_t symbols_ = 0;
    const char* names_ = nullptr;
    std::size_t nameBytes_ = 0;
};

}  // namespace bulkhead::staticRuntime
