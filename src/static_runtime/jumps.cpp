#include "static_runtime/jumps.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace bulkhead::staticRuntime {
namespace {

constexpr std::size_t kFarJumpBytes = 16;

// A jump by a distance in the instruction, and one to an address beside it. The latter uses a register that every
// calling convention leaves to whoever stands between caller and callee.
#if defined(__aarch64__)
constexpr std::size_t kNearJumpBytes = 4;
constexpr std::int64_t kReach = std::int64_t{1} << 27;
void writeNearJump(char* at, std::int64_t distance) {
    const std::uint32_t branch = 0x14000000U | (static_cast<std::uint32_t>(distance >> 2) & 0x03ffffffU);
    std::memcpy(at, &branch, sizeof branch);
}
void writeFarJump(char* at, const void* to) {
    constexpr std::uint32_t code[] = {0x58000050U, 0xd61f0200U};  // ldr x16, .+8; br x16
    std::memcpy(at, code, sizeof code);
    std::memcpy(at + sizeof code, &to, sizeof to);
}
#elif defined(__x86_64__)
constexpr std::size_t kNearJumpBytes = 5;
constexpr std::int64_t kReach = std::int64_t{1} << 31;
void writeNearJump(char* at, std::int64_t distance) {
    const auto behind = static_cast<std::int32_t>(distance - static_cast<std::int64_t>(kNearJumpBytes));
    *at = static_cast<char>(0xe9);
    std::memcpy(at + 1, &behind, sizeof behind);
}
void writeFarJump(char* at, const void* to) {
    constexpr unsigned char code[] = {0xff, 0x25, 0, 0, 0, 0};  // jmp [rip]
    std::memcpy(at, code, sizeof code);
    std::memcpy(at + sizeof code, &to, sizeof to);
}
#else
#error "Jumps are not known for this machine"
#endif

std::uintptr_t pageBytes() {
    return static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
}

/// Memory that a near jump from all of the code reaches. Below the code first: above it, the heap grows.
char* allocateNear(std::uintptr_t begin, std::uintptr_t end, std::size_t bytes) {
    constexpr std::uintptr_t kStep = 1 << 20;
    const auto reach = static_cast<std::uintptr_t>(kReach) - bytes;
    const auto tryAt = [&](std::uintptr_t at) -> char* {
        void* const wanted = reinterpret_cast<void*>(at);
        void* const got =
            ::mmap(wanted, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (got == MAP_FAILED) return nullptr;
        if (got == wanted) return static_cast<char*>(got);
        ::munmap(got, bytes);  // of a system that takes the address for a hint
        return nullptr;
    };
    for (std::uintptr_t distance = kStep; distance < reach; distance += kStep) {
        if (begin > distance && end - (begin - distance) < reach)
            if (char* const below = tryAt(begin - distance)) return below;
        if (end + distance - begin < reach)
            if (char* const above = tryAt(end + distance)) return above;
    }
    return nullptr;
}

}  // namespace

Jumps::Jumps(std::uintptr_t begin, std::uintptr_t end, std::size_t most)
    : begin_(begin & ~(pageBytes() - 1)), end_((end + pageBytes() - 1) & ~(pageBytes() - 1)), most_(most) {
    near_ = allocateNear(begin_, end_, most_ * kFarJumpBytes);
    isReady_ = near_ && protect(PROT_READ | PROT_WRITE);
}

Jumps::~Jumps() {
    if (near_) {
        ::mprotect(near_, most_ * kFarJumpBytes, PROT_READ | PROT_EXEC);
        __builtin___clear_cache(near_, near_ + most_ * kFarJumpBytes);
    }
    if (isReady_) {
        protect(PROT_READ | PROT_EXEC);
        __builtin___clear_cache(reinterpret_cast<char*>(begin_), reinterpret_cast<char*>(end_));
    }
}

bool Jumps::protect(int protection) const {
    return ::mprotect(reinterpret_cast<void*>(begin_), end_ - begin_, protection) == 0;
}

bool Jumps::lead(std::uintptr_t function, std::size_t bytes, const void* to) {
    if (count_ == most_ || bytes < kNearJumpBytes || function < begin_ || function + bytes > end_) return false;
    char* const far = near_ + count_++ * kFarJumpBytes;
    writeFarJump(far, to);
    writeNearJump(reinterpret_cast<char*>(function), far - reinterpret_cast<char*>(function));
    return true;
}

}  // namespace bulkhead::staticRuntime
