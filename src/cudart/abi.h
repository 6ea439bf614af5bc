#pragma once

#include "sdk/include/driver_types.h"

// The types of CUDA 13's runtime library, as programs see them. This header comes before any of the driver's: streams,
// events, memory pools and graphs are the driver's own, and its header names the structures that it finds declared.
