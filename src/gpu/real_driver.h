#pragma once

#include <string>

#include "driver/driver_api.h"

namespace bulkhead::gpu {

/// From now on the driver is the one that any program in this process's place would get: Bulkhead's own, with walls,
/// where that comes first. Before realDriver().
void openDriverOfPrograms();

/// The installed NVIDIA driver, loaded at the first call. Throws Error, in one line: no driver, one that lacks a call,
/// or one that finds no GPU. The only place that loads it.
const driver::DriverApi& realDriver();

/// A GPU of the driver's, by its number, without a context on it. Throws Error if there is none.
driver::CUdevice realDevice(int ordinal);
/// The file that the driver was loaded from.
std::string realDriverFile();
/// What tells a card apart from all others.
std::string uuidOf(const driver::DriverApi&, driver::CUdevice);

/// Whether an MPS daemon answers where this process would ask for one.
bool underMps();

/// Throws Error with the driver's own name for what went wrong.
void check(const driver::DriverApi&, driver::CUresult, const char* what);

}  // namespace bulkhead::gpu
