#pragma once

namespace bulkhead::workloads {

/// The suite's filter, [row][column] around the element; a border of one element has no result.
constexpr float kConv2dFilter[3][3] = {{0.2f, 0.5f, -0.8f}, {-0.3f, 0.6f, -0.9f}, {0.4f, 0.7f, 0.1f}};

}  // namespace bulkhead::workloads
