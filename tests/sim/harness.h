#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "arch/device_profile.h"
#include "ptx/module.h"
#include "sim/machine.h"

namespace bulkhead::sim::test {

/// A kernel of three pointer parameters, which `body` finds in %rd1, %rd2 and %rd3.
inline std::string kernelText(const std::string& body, const std::string& declarations = "") {
    return ".version 7.0\n.target sm_80\n.address_size 64\n" + declarations +
           "\n.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c)\n{\n"
           ".reg .pred %p<16>; .reg .b32 %r<100>; .reg .b64 %rd<100>; .reg .f32 %f<100>; .reg .f64 %fd<100>;\n"
           "ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c];\n" +
           body + "\nret;\n}\n";
}

inline std::string repeat(int times, const std::string& text) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
}

/// Tests of timing count instructions as written: results that nobody reads would go, and what waits for them.
inline arch::DeviceProfile profileWith(const std::string& name, const std::vector<std::string>& settings) {
    arch::DeviceProfile profile = arch::findProfile(name);
    profile.compiler.optimise = false;
    arch::applySettings(profile, settings);
    return profile;
}

/// A GPU with one context and one stream, and short ways to put things on it.
struct Harness {
    explicit Harness(const std::string& name = "gtx480", const std::vector<std::string>& settings = {},
                     Machine::Options options = {})
        : gpu(profileWith(name, settings), options), context(gpu.createContext()), stream(gpu.createStream(context)) {}

    VirtualAddress buffer(Bytes bytes, AllocationOptions options = {}) {
        return gpu.memory(context).allocate(bytes, options);
    }
    template <class T>
    T* data(VirtualAddress at, std::size_t count = 1) {
        return reinterpret_cast<T*>(gpu.memory(context).host(at, count * sizeof(T)));
    }

    struct Shape {
        Dim3 grid = {}, block = {};
        std::uint32_t shared = 0;
        std::vector<bool> sms = {};
        Cycles maxCycles = 0;
        AccessWindow window = {};
        Dim3 cluster = {};
        bool startsEarly = false;
        std::optional<MarkerId> whenLet = {}, whenBegun = {};
    };
    LaunchId start(const std::string& text, const Shape& shape, const std::vector<std::uint64_t>& arguments = {},
                   StreamId on = ~StreamId{0}) {
        if (on == ~StreamId{0}) on = stream;
        const LoadedModule module = gpu.load(contextOf(on), ptx::parse(text, "test.ptx"));
        LaunchSpec spec;
        spec.program = module.program;
        spec.code = module.program->kernel(module.program->kernelNames().front());
        spec.grid = shape.grid;
        spec.block = shape.block;
        spec.dynamicShared = shape.shared;
        spec.sms = shape.sms;
        spec.maxCycles = shape.maxCycles;
        spec.window = shape.window;
        spec.cluster = shape.cluster;
        spec.explicitCluster = shape.cluster.count() > 1;
        spec.startsEarly = shape.startsEarly;
        spec.whenLet = shape.whenLet;
        spec.whenBegun = shape.whenBegun;
        spec.params.resize(spec.code->kernelParamBytes);
        for (std::size_t i = 0; i < arguments.size(); ++i) std::memcpy(spec.params.data() + 8 * i, &arguments[i], 8);
        return gpu.launch(on, std::move(spec));
    }
    LaunchId run(const std::string& text, const Shape& shape, const std::vector<std::uint64_t>& arguments = {}) {
        const LaunchId launch = start(text, shape, arguments);
        gpu.finishLaunch(launch);
        return launch;
    }
    /// Cycles from start to end of a kernel that must succeed.
    Cycles cycles(const std::string& text, const Shape& shape, const std::vector<std::uint64_t>& arguments = {}) {
        const LaunchRecord& record = gpu.record(run(text, shape, arguments));
        if (record.error) throw *record.error;
        return record.ended - record.started;
    }
    StreamId newStream(ContextId of) {
        const StreamId s = gpu.createStream(of);
        if (s >= contexts.size()) contexts.resize(s + 1);
        contexts[s] = of;
        return s;
    }
    /// Of all streams.
    void finishAll() {
        gpu.finishStream(stream);
        for (StreamId s = stream + 1; s < contexts.size(); ++s) gpu.finishStream(s);
    }
    ContextId contextOf(StreamId s) const { return s == stream ? context : contexts.at(s); }

    Machine gpu;
    ContextId context;
    StreamId stream;
    std::vector<ContextId> contexts;
};

}  // namespace bulkhead::sim::test
