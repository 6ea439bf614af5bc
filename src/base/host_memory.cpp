#include "base/host_memory.h"

#include <unistd.h>

namespace bulkhead {

Bytes hostMemory() {
    return static_cast<Bytes>(::sysconf(_SC_PHYS_PAGES)) * static_cast<Bytes>(::sysconf(_SC_PAGESIZE));
}

}  // namespace bulkhead
