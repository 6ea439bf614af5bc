#include "stress/order_statistics.h"

#include "stress/probability.h"

namespace bulkhead::stress {

std::optional<std::size_t> rankAbove(std::size_t n, double quantile, double confidence) {
    // The sample of rank r is at or above it where at most r - 1 are below.
    if (n == 0 || binomialCdf(n - 1, n, quantile) < confidence) return std::nullopt;
    std::size_t low = 0, high = n - 1;  // how many below; P grows with it
    while (low < high) {
        const std::size_t middle = (low + high) / 2;
        if (binomialCdf(middle, n, quantile) >= confidence)
            high = middle;
        else
            low = middle + 1;
    }
    return low + 1;
}

std::optional<std::size_t> rankBelow(std::size_t n, double quantile, double confidence) {
    // Seen from above, the other way round.
    const std::optional<std::size_t> rank = rankAbove(n, 1 - quantile, confidence);
    return rank ? std::optional(n + 1 - *rank) : std::nullopt;
}

}  // namespace bulkhead::stress
