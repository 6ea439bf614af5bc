#pragma once

namespace bulkhead::libcuda {

/// Where BULKHEAD_BESIDE asks for it: opens the chosen GPU with an aggressor on it, beside whatever the program will do
/// there (corun/in_process_aggressor.h). False where it does not. Throws Error.
bool openBeside();

}  // namespace bulkhead::libcuda
