// Calls of the driver in any order, with any values that do not name memory of the host: each returns a code, and what
// was launched ends. Every byte chooses, so that any bytes are a program.

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "any_bytes.h"
#include "driver/simulator_api.h"

namespace {

using namespace bulkhead;
using namespace bulkhead::driver;

const char* const kKernels = R"(.version 7.8
.target sm_90
.address_size 64
.extern .func (.param .b64 result) malloc(.param .b64 bytes);
.extern .func free(.param .b64 place);
.visible .global .align 4 .u32 word = 1;
.visible .entry touch(.param .u64 p, .param .u32 n)
{
    .reg .pred %q; .reg .b32 %r<5>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x; rem.u32 %r3, %r2, %r1;
    mul.wide.u32 %rd2, %r3, 4; add.u64 %rd3, %rd1, %rd2; ld.global.u32 %r4, [%rd3]; add.u32 %r4, %r4, 1;
    st.global.u32 [%rd3], %r4; ret;
}
.visible .entry heap(.param .u64 bytes, .param .u32 keep)
{
    .reg .pred %q<3>; .reg .b32 %r<3>; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [bytes]; ld.param.u32 %r1, [keep];
    { .param .b64 n; .param .b64 r; st.param.b64 [n], %rd1; call (r), malloc, (n); ld.param.b64 %rd2, [r]; }
    setp.eq.u64 %q1, %rd2, 0; @%q1 ret;
    st.u8 [%rd2], %r1; setp.ne.u32 %q2, %r1, 0; @%q2 ret;
    { .param .b64 a; st.param.b64 [a], %rd2; call free, (a); }
    ret;
}
.visible .entry alone() .maxntid 32, 1, 1 { ret; }
)";

/// What other programs have, to be linked with the above.
const char* const kPieces[] = {
    R"(.version 7.8
.target sm_90
.address_size 64
.extern .global .align 4 .u32 word;
.visible .entry read() { .reg .b32 %r; ld.global.u32 %r, [word]; ret; }
)",
    R"(.version 7.8
.target sm_90
.address_size 64
.visible .global .align 4 .u32 word = 5;
)",
    R"(.version 7.8
.target sm_90
.address_size 64
.visible .entry read() { nonsense; }
)",
    "",
};

constexpr std::uint64_t kNumbers[] = {
    0,          1,          2,          3,          4,    16,    31,      32,
    33,         255,        1024,       1025,       4096, 65536, 1 << 20, (1 << 20) + 1,
    1ull << 31, 1ull << 32, 1ull << 40, 1ull << 63, ~0ull};

/// What bytes choose. Of none left, the first.
class Choices {
  public:
    Choices(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}
    bool any() const { return left_ != 0; }
    std::uint8_t byte() {
        if (left_ == 0) return 0;
        --left_;
        return *data_++;
    }
    std::size_t below(std::size_t n) { return byte() % n; }
    std::uint64_t number() {
        const std::uint8_t b = byte();
        return b < 128 ? kNumbers[b % std::size(kNumbers)] : b;
    }
    float ratio() { return static_cast<float>(static_cast<std::int8_t>(byte())) / 64; }

  private:
    const std::uint8_t* data_;
    std::size_t left_;
};

/// Taken away and made anew now and then, as it remembers what it has done.
class Gpu {
  public:
    Gpu() {
        arch::DeviceProfile profile = arch::findProfile("h200");
        arch::applySettings(profile, {"sm.count=2"});
        device_ = simulatorApi().addDevice(profile, {});
        api.cuInit(0);
        api.cuDevicePrimaryCtxRetain(&context_, device_);
        api.cuCtxSetCurrent(context_);
        if (api.cuModuleLoadData(&module_, kKernels) != CUDA_SUCCESS || !begin()) std::abort();
    }
    ~Gpu() {
        api.cuCtxSetCurrent(nullptr);
        simulatorApi().removeDevice(device_);
    }
    Gpu(const Gpu&) = delete;
    Gpu& operator=(const Gpu&) = delete;

    void call(Choices&);
    /// Whether it is as it was.
    bool end() { return api.cuCtxSynchronize() == CUDA_SUCCESS; }

  private:
    const DriverApi& api = simulatedDriver();
    bool begin() {
        return api.cuMemAlloc(&buffer_, kBytes) == CUDA_SUCCESS && api.cuStreamCreate(&streams_[1], 1) == CUDA_SUCCESS;
    }
    CUstream stream(Choices& c) { return streams_[c.below(2)]; }
    CUlaunchAttributeValue value(Choices&, CUlaunchAttributeID);
    void launch(Choices&);
    void link(Choices&);
    void load(Choices&);

    static constexpr std::size_t kBytes = 4096;
    CUdevice device_ = 0;
    CUcontext context_ = nullptr;
    CUmodule module_ = nullptr;
    CUdeviceptr buffer_ = 0;
    CUstream streams_[2] = {};
    std::uint32_t words_[16] = {};  ///< to be shared with device code
};

CUlaunchAttributeValue Gpu::value(Choices& c, CUlaunchAttributeID id) {
    CUlaunchAttributeValue v = {};
    if (id == 1) {
        auto* const base = c.below(4) ? reinterpret_cast<void*>(buffer_ + c.number()) : nullptr;
        const auto bytes = static_cast<std::size_t>(c.number());
        const float ratio = c.ratio();
        const auto hit = static_cast<CUaccessProperty>(c.below(5)), miss = static_cast<CUaccessProperty>(c.below(5));
        v.accessPolicyWindow = {base, bytes, ratio, hit, miss};
    } else {
        const auto x = static_cast<unsigned>(c.number()), y = static_cast<unsigned>(c.number());
        v.clusterDim = {x, y, static_cast<unsigned>(c.below(3))};
    }
    return v;
}

void Gpu::launch(Choices& c) {
    const std::size_t which = c.below(3);
    CUfunction function = nullptr;
    api.cuModuleGetFunction(&function, module_, std::array{"touch", "heap", "alone"}[which]);
    std::uint64_t first = which == 0 ? buffer_ : c.number();
    unsigned second = which == 0 ? 1000 : static_cast<unsigned>(c.below(2));
    void* parameters[] = {&first, &second};
    std::vector<CUlaunchAttribute> attributes(c.below(3));
    for (CUlaunchAttribute& a : attributes) {
        a.id = static_cast<CUlaunchAttributeID>(c.below(16));
        a.value = value(c, a.id);
    }
    CUlaunchConfig config = {};
    config.gridDimX = static_cast<unsigned>(c.below(5));
    config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = static_cast<unsigned>(c.number());
    config.blockDimY = static_cast<unsigned>(c.below(3));
    config.blockDimZ = 1;
    config.sharedMemBytes = static_cast<unsigned>(c.number());
    config.hStream = stream(c);
    config.attrs = attributes.data();
    config.numAttrs = static_cast<unsigned>(attributes.size());
    api.cuLaunchKernelEx(&config, function, parameters, nullptr);
}

void Gpu::link(Choices& c) {
    CUlinkState state = nullptr;
    if (api.cuLinkCreate(0, nullptr, nullptr, &state) != CUDA_SUCCESS) return;
    for (std::size_t n = c.below(4); n-- > 0;) {
        std::string text = c.below(3) ? kPieces[c.below(std::size(kPieces))] : kKernels;
        if (c.below(4) == 0) text.resize(text.size() * c.byte() / 256);
        api.cuLinkAddData(state, static_cast<CUjitInputType>(c.below(8)), text.data(), text.size(), "piece", 0, nullptr,
                          nullptr);
    }
    void* image = nullptr;
    std::size_t bytes = 0;
    CUmodule made = nullptr;
    if (api.cuLinkComplete(state, &image, &bytes) == CUDA_SUCCESS) {
        if (api.cuModuleLoadData(&made, image) != CUDA_SUCCESS) std::abort();  // what was linked can be loaded
        api.cuModuleUnload(made);
    }
    api.cuLinkDestroy(state);
}

/// A variable that lies in memory of the program's.
void Gpu::load(Choices& c) {
    const char* names[] = {"word", c.below(2) ? "other" : "word"};
    void* addresses[] = {words_, c.below(3) ? words_ + 4 : nullptr};
    CUjit_option options[] = {17, 18, 19};
    void* values[] = {names, addresses, reinterpret_cast<void*>(std::uintptr_t{c.below(3)})};
    const bool registered = c.below(2) && api.cuMemHostRegister(words_, sizeof words_, 0) == CUDA_SUCCESS;
    CUmodule made = nullptr;
    const unsigned count = static_cast<unsigned>(c.below(4));
    if (api.cuModuleLoadDataEx(&made, kPieces[c.below(std::size(kPieces))], count, options, values) == CUDA_SUCCESS) {
        CUfunction read = nullptr;
        if (registered && api.cuModuleGetFunction(&read, made, "read") == CUDA_SUCCESS) {
            api.cuLaunchKernel(read, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
            api.cuCtxSynchronize();
        }
        api.cuModuleUnload(made);
    }
    if (registered) api.cuMemHostUnregister(words_);
}

void Gpu::call(Choices& c) {
    std::size_t size = 0;
    switch (c.below(8)) {
        case 0:
            api.cuCtxSetLimit(static_cast<CUlimit>(c.below(11)), c.number());
            break;
        case 1:
            api.cuCtxGetLimit(&size, static_cast<CUlimit>(c.below(11)));
            break;
        case 2: {
            const auto id = static_cast<CUlaunchAttributeID>(c.below(4) ? 1 : c.below(16));
            const CUlaunchAttributeValue v = value(c, id);
            api.cuStreamSetAttribute(stream(c), id, &v);
            break;
        }
        case 3: {
            CUlaunchAttributeValue v = {};
            api.cuStreamGetAttribute(stream(c), static_cast<CUlaunchAttributeID>(c.below(16)), &v);
            api.cuStreamCopyAttributes(stream(c), stream(c));
            break;
        }
        case 4:
            api.cuCtxResetPersistingL2Cache();
            break;
        case 5:
            link(c);
            break;
        case 6:
            load(c);
            break;
        default:
            launch(c);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr int kInputs = 200;
    static std::unique_ptr<Gpu> gpu;
    static int inputs = 0;
    if (!gpu || ++inputs % kInputs == 0) {
        gpu.reset();
        gpu = std::make_unique<Gpu>();
    }
    Choices choices(data, size);
    while (choices.any()) gpu->call(choices);
    if (!gpu->end()) gpu.reset();
    return 0;
}
