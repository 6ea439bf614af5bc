#pragma once

#include <cstdint>
#include <string>

#include "arch/address_map.h"
#include "gpgpusim/configuration.h"

namespace bulkhead::gpgpusim {

/// Which bits of an address are what, as -gpgpu_mem_addr_mapping says:
/// `dramid@8;00000000.00000000.00000000.00000000.0000RRRR.RRRRRRRR.BBBCCCCB.CCSSSSSS`. R: row, B: bank, C: column, S:
/// column within a burst, D: channel. With `dramid@N` the channel is taken out of the address at bit N, by division if
/// channels are no power of two, before the letters count.
struct AddressBits {
    int channelBit = -1;  ///< N of dramid@N; -1: the letters D say
    std::uint64_t channel = 0, bank = 0, row = 0, column = 0;
};

AddressBits addressBits(const Setting&);

struct MemoryShape {
    std::int64_t channels = 1, slicesPerChannel = 1;
    std::int64_t partitionHash = 0;  ///< -gpgpu_memory_partition_indexing
    std::int64_t sets = 1, lineBytes = 128;
    char setIndex = 'L';  ///< of L2
};

struct MemoryMap {
    arch::AddressMap map;
    std::string difference;  ///< from what GPGPU-Sim does; empty: none
};

/// The map of slices, sets, banks and rows that GPGPU-Sim 4 makes of these. `s` is for messages.
MemoryMap memoryMap(const Setting& s, const AddressBits&, const MemoryShape&);

}  // namespace bulkhead::gpgpusim
