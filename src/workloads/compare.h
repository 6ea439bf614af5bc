#pragma once

#include <cmath>
#include <cstddef>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace bulkhead::workloads {

/// Throws Error at the first element that is further from the reference than `relative` times its size plus `absolute`.
template <class T>
void expectNear(std::string_view what, const std::vector<T>& reference, const std::vector<T>& actual, double relative,
                double absolute) {
    if (reference.size() != actual.size())
        throw Error("{}: {} elements, the reference has {}", what, actual.size(), reference.size());
    for (std::size_t i = 0; i < reference.size(); ++i) {
        const double expected = static_cast<double>(reference[i]), got = static_cast<double>(actual[i]);
        if (!(std::abs(got - expected) <= relative * std::abs(expected) + absolute))
            throw Error("{}[{}] is {}, the reference has {}", what, i, got, expected);
    }
}

template <class T>
void expectEqual(std::string_view what, const std::vector<T>& reference, const std::vector<T>& actual) {
    if (reference.size() != actual.size())
        throw Error("{}: {} elements, the reference has {}", what, actual.size(), reference.size());
    for (std::size_t i = 0; i < reference.size(); ++i)
        if (!(actual[i] == reference[i]))
            throw Error("{}[{}] is {}, the reference has {}", what, i, actual[i], reference[i]);
}

}  // namespace bulkhead::workloads
