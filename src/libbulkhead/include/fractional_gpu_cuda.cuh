#pragma once

// What programs written for FGPU include.
#include <fgpu.h>
