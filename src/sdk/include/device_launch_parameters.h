#pragma once

#include "bulkhead_sdk/coordinates.h"
