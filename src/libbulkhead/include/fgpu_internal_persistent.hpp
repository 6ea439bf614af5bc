#pragma once

// What FGPU's server includes; its blocks that persist are the driver's matter here.
#include <fgpu.h>
