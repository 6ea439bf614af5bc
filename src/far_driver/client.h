#pragma once

#include <string>

#include "far_driver/calls.h"
#include "far_driver/connection.h"

// What the files share that make calls.

namespace bulkhead::far_driver {

/// Asks by this thread's connection. The message becomes the answer.
CUresult ask(std::uint32_t what, Message&);
inline CUresult ask(Request what, Message& message) {
    return ask(static_cast<std::uint32_t>(what), message);
}

/// Fails this thread's call, in words.
CUresult refuse(CUresult, std::string why);

void enterCopies(DriverApi&);
void enterModules(DriverApi&);
void enterHostMemory(DriverApi&);

/// Calls that a type of each parameter describes.
template <auto member>
struct FarCall;
template <class... Parameters, CUresult (*DriverApi::*member)(Parameters...)>
struct FarCall<member> {
    static CUresult call(Parameters... parameters) {
        Message message;
        (Passing<Parameters>::ask(message, parameters), ...);
        const CUresult result = ask(numberOf(member), message);
        if (message.left() > 0) (Passing<Parameters>::answered(message, parameters), ...);
        return result;
    }
};

}  // namespace bulkhead::far_driver
