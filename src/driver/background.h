#pragma once

namespace bulkhead::driver {

/// Whether a thread of the driver's own runs the simulation while the program waits elsewhere than in a call. Once it
/// is off, nothing runs any more but in calls.
void workWhileHostWaits(bool);

}  // namespace bulkhead::driver
