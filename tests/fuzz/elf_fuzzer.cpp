// Any bytes are an ELF file, perhaps with parts missing, or none.

#include "any_bytes.h"
#include "cli/elf_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace bulkhead;
    return fuzz::tryReading([&] { cli::ElfFile::read(fuzz::textOf(data, size)); });
}
