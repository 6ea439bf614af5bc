#pragma once

#include <string>

/// In device code that is to be linked, clang gives a static variable that the host names a name of its own, ending in
/// __static__ and a number. Kernels that it had compiled before it saw the host's use still have the old one, as an
/// extern variable that nobody defines (seen with clang 19). Gives these the new one.
void joinStaticVariables(std::string& ptx);
