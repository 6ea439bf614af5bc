// Any text is a lease, or an Error that says why not: whoever can write into a shared folder may have written it.

#include "any_bytes.h"
#include "isolate/lease_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace bulkhead;
    return fuzz::tryReading([&] {
        const isolate::Holder holder = isolate::readLease(fuzz::textOf(data, size));
        fuzz::expectReadable([&] { isolate::readLease(isolate::leaseText(holder)); });
    });
}
