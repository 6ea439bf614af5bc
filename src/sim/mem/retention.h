#pragma once

#include <cstdint>

namespace bulkhead::sim {

/// How long L2 is to keep a line, where a program has said so: streaming lines go before others, persisting ones after.
enum class Retention : std::uint8_t { normal, streaming, persisting };

}  // namespace bulkhead::sim
