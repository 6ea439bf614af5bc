#pragma once

#include "libbulkhead/include/bulkhead.h"

namespace bulkhead {

/// What libbulkhead asks of Bulkhead's libcuda.so.1. It is found as NVIDIA's own libraries find tables of their driver,
/// by cuGetExportTable: other drivers have none under this name.
struct DriverTable {
    int (*join)(const char* partition);
    int (*leave)();
    int (*query)(bulkhead_place*);
    int (*partitions)(unsigned* count);
    int (*partition)(unsigned index, bulkhead_place*);
    int (*setPartitions)(const char* partitions);
    int (*physicalAddress)(const void* device, unsigned long long* physical);
    const char* (*error)();
};

/// Its name among tables, 16 bytes.
constexpr char kDriverTableName[17] = "bulkhead.table.1";

}  // namespace bulkhead
