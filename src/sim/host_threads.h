#pragma once

namespace bulkhead::sim {

/// How many threads of the host a simulated GPU that is made from now on advances with, where it can use them. What it
/// does is the same with any number. BULKHEAD_THREADS, or else one for each processor.
unsigned hostThreads();
/// For this process and those that it will start.
void useHostThreads(unsigned);
/// The same, unless somebody has chosen a number.
void offerHostThreads(unsigned);
/// Where so many processes simulate at once.
void shareHostThreads(unsigned processes);

}  // namespace bulkhead::sim
