#include "sim/mem/physical_memory.h"

#include <bit>

#include "base/error.h"

namespace bulkhead::sim {

PhysicalMemory::PhysicalMemory(const arch::DeviceProfile& profile)
    : map_(profile.map),
      frames_(static_cast<std::size_t>((profile.dram.bytes - profile.memory.reservedBytes) >> kFrameShift), kFree),
      freeBytes_(totalBytes()),
      random_(static_cast<std::uint64_t>(profile.memory.seed)) {}

bool PhysicalMemory::available(arch::PhysicalAddress page, Bytes pageBytes) const {
    const std::uint32_t frame = frames_[page >> kFrameShift];
    if (frame == kFree) return true;
    if (frame == kWhole || pageBytes > (Bytes{1} << kFrameShift) / 2) return false;
    const Cut& cut = cut_[frame - 2];
    const auto first = static_cast<std::uint32_t>(page >> kSmallShift) % kSmallPerFrame;
    for (std::uint32_t i = 0; i < pageBytes >> kSmallShift; ++i)
        if (cut.used[(first + i) / 64] >> ((first + i) % 64) & 1) return false;
    return true;
}

void PhysicalMemory::take(arch::PhysicalAddress page, Bytes pageBytes) {
    freeBytes_ -= pageBytes;
    std::uint32_t& frame = frames_[page >> kFrameShift];
    if (pageBytes >> kFrameShift) {
        frame = kWhole;
        return;
    }
    if (frame == kFree) {
        if (spareCuts_.empty()) {
            spareCuts_.push_back(static_cast<std::uint32_t>(cut_.size()));
            cut_.emplace_back();
        }
        frame = spareCuts_.back() + 2;
        spareCuts_.pop_back();
    }
    Cut& cut = cut_[frame - 2];
    const auto first = static_cast<std::uint32_t>(page >> kSmallShift) % kSmallPerFrame;
    for (std::uint32_t i = 0; i < pageBytes >> kSmallShift; ++i, ++cut.count)
        cut.used[(first + i) / 64] |= std::uint64_t{1} << ((first + i) % 64);
}

void PhysicalMemory::giveBack(arch::PhysicalAddress page, Bytes pageBytes) {
    freeBytes_ += pageBytes;
    std::uint32_t& frame = frames_[page >> kFrameShift];
    if (pageBytes >> kFrameShift) {
        frame = kFree;
        return;
    }
    Cut& cut = cut_[frame - 2];
    const auto first = static_cast<std::uint32_t>(page >> kSmallShift) % kSmallPerFrame;
    for (std::uint32_t i = 0; i < pageBytes >> kSmallShift; ++i, --cut.count)
        cut.used[(first + i) / 64] &= ~(std::uint64_t{1} << ((first + i) % 64));
    if (cut.count == 0) {
        spareCuts_.push_back(frame - 2);
        frame = kFree;
    }
}

bool PhysicalMemory::findRun(Bytes pages, Bytes pageBytes, arch::PhysicalAddress& first) const {
    Bytes run = 0;
    for (arch::PhysicalAddress at = 0; at + pageBytes <= totalBytes(); at += pageBytes) {
        const std::uint32_t frame = frames_[at >> kFrameShift];
        if (frame == kWhole) {  // step over it at once
            run = 0;
            at = ((at >> kFrameShift) + 1) << kFrameShift;
            at -= pageBytes;
            continue;
        }
        run = available(at, pageBytes) ? run + 1 : 0;
        if (run == pages) {
            first = at - (pages - 1) * pageBytes;
            return true;
        }
    }
    return false;
}

std::vector<arch::PhysicalAddress> PhysicalMemory::allocate(Bytes bytes, Bytes pageBytes, PagePlacement placement,
                                                            const Colors& chosen) {
    if (!std::has_single_bit(pageBytes) || pageBytes < (1u << kSmallShift) || pageBytes > (1u << kFrameShift))
        throw Error("a page of {} bytes is not supported: use 4096, 65536 or 2097152", pageBytes);
    const std::uint32_t colors = map_.colors(pageBytes);
    std::vector<bool> wantedColor(colors, chosen.empty());
    for (const std::uint32_t color : chosen) {
        if (color >= colors)
            throw Error("color {} of {} KB pages does not exist: there are {}", color, pageBytes >> 10, colors);
        wantedColor[color] = true;
    }
    const Bytes wanted = bytes / pageBytes + (bytes % pageBytes ? 1 : 0);
    if (wanted > freeBytes_ / pageBytes)
        throw Error("out of device memory: {} bytes asked for, {} free", bytes, freeBytes_);

    std::vector<arch::PhysicalAddress> pages;
    pages.reserve(wanted);
    const auto fits = [&](arch::PhysicalAddress page) {
        return available(page, pageBytes) && (chosen.empty() || wantedColor[map_.color(page, pageBytes)]);
    };
    const auto accept = [&](arch::PhysicalAddress page) {
        take(page, pageBytes);
        pages.push_back(page);
    };
    if (placement == PagePlacement::contiguous && chosen.empty()) {
        arch::PhysicalAddress first = 0;
        if (findRun(wanted, pageBytes, first)) {
            for (Bytes i = 0; i < wanted; ++i) accept(first + i * pageBytes);
            return pages;
        }
    }
    const Bytes total = totalBytes() / pageBytes;
    if (placement == PagePlacement::scattered) {
        // Random tries find a page fast unless memory is nearly full; then the scan below finishes the job.
        for (Bytes tries = 0; pages.size() < wanted && tries < 64 * wanted + 256; ++tries) {
            const arch::PhysicalAddress page = random_.next() % total * pageBytes;
            if (fits(page)) accept(page);
        }
    }
    for (Bytes i = 0; i < total && pages.size() < wanted; ++i)
        if (fits(i * pageBytes)) accept(i * pageBytes);
    if (pages.size() < wanted) {
        release(pages, pageBytes);
        throw Error("out of device memory: {} pages of {} KB{} asked for, {} found", wanted, pageBytes >> 10,
                    chosen.empty() ? std::string() : fmt::format(" and color {}", fmt::join(chosen, ", ")),
                    pages.size());
    }
    return pages;
}

void PhysicalMemory::release(const std::vector<arch::PhysicalAddress>& pages, Bytes pageBytes) {
    for (arch::PhysicalAddress page : pages) giveBack(page, pageBytes);
}

}  // namespace bulkhead::sim
