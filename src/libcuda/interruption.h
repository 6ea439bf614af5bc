#pragma once

namespace bulkhead::libcuda {

/// Lets Ctrl-C end the program only once its statistics so far are written, if they are wanted. Programs that handle it
/// themselves are left alone, and a second Ctrl-C ends the program at once.
void writeStatisticsWhenInterrupted();

/// Called by the simulation: writes them and ends the program if it has been interrupted.
void endIfInterrupted();

}  // namespace bulkhead::libcuda
