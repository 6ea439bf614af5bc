#include "isolate/tenancy.h"

#include <algorithm>

#include "base/error.h"

namespace bulkhead::isolate {
namespace {

/// Of all memory, whatever its color.
void shareAll(Plan& plan, Bytes all) {
    for (Share& share : plan.shares)
        share.memoryBytes = static_cast<Bytes>(static_cast<double>(all) * share.partition.memory) >> 20 << 20;
}

/// Those who may not look leave it to others.
bool lookAtUnknown(KeptGpu& kept, const walls::SmSet& own) {
    try {
        return kept.lookAtUnknown(own);
    } catch (const Error&) {
        return false;
    }
}

walls::Walls withoutMemoryWall(walls::Walls walls, Bytes memory) {
    walls.colors.clear();
    walls.memory = memory;
    return walls;
}

}  // namespace

std::unique_ptr<Tenancy> Tenancy::join(gpu::Gpu gpu, LeaseBook& book, const std::string& partition, bool memoryWall,
                                       const walls::Survey* survey) {
    auto place = std::make_unique<Tenancy>(std::move(gpu));
    const auto divideIt = [&](const std::vector<Partition>& partitions) {
        if (needsKeeper(place->gpu.name())) place->kept = KeptGpu::find(place->gpu, book);
        std::optional<DividedGpu> divided = divide(place->gpu, partitions, book.map(), place->kept, survey);
        if (place->kept && memoryWall &&
            lookAtUnknown(*place->kept, wallsOf(divided->plan.find(partition), divided->walled).sms))
            divided = divide(place->gpu, partitions, book.map(), place->kept);
        place->walled.emplace(std::move(divided->walled));
        place->plan = std::move(divided->plan);
        if (!memoryWall) shareAll(place->plan, place->kept ? place->kept->allBytes() : place->gpu.info().memoryBytes);
        return place->plan;
    };
    place->lease = book.join(partition, divideIt, memoryWall);
    walls::Walls walls = wallsOf(place->lease.share(), *place->walled);
    if (!memoryWall) {
        walls = withoutMemoryWall(std::move(walls), place->lease.share().memoryBytes);
        if (place->kept) place->kept->release();
    }
    place->tenant.emplace(place->walled->enclose(walls));
    return place;
}

}  // namespace bulkhead::isolate
