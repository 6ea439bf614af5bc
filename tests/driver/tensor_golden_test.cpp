// Copies through tensor maps against what an H200 did (exec/golden/tensors_on_gpu.cpp wrote the file): which maps the
// driver makes, which 16 bytes come where, and which copies fault.

#include <fstream>
#include <map>

#include "../exec/golden/tensor_cases.h"
#include "../exec/runner.h"
#include "sim/exec/tensor_map.h"
#include "support.h"

namespace bulkhead::driver {
namespace {

using golden::TensorCase;

class RecordedTensors : public DriverTest {
  protected:
    arch::DeviceProfile profile() const override { return arch::findProfile("h200"); }

    CUresult encode(const TensorCase& c, sim::VirtualAddress buffer, CUtensorMap& map) const {
        void* const address = reinterpret_cast<void*>(buffer + golden::kTensorAt + c.address);
        if (c.mode == 'i')
            return api.cuTensorMapEncodeIm2col(&map, c.type, c.rank, address, c.dims, c.strides, c.lower, c.upper,
                                               c.channels, c.pixels, c.every, c.interleave, c.swizzle, c.promotion,
                                               c.fill);
        return api.cuTensorMapEncodeTiled(&map, c.type, c.rank, address, c.dims, c.strides, c.box, c.every,
                                          c.interleave, c.swizzle, c.promotion, c.fill);
    }
};

/// A device whose memory has the buffer, and a place for maps and for what loads bring.
struct Device {
    explicit Device(const TensorCase& c)
        : runner(golden::moduleOf(c)),
          buffer(runner.allocate(golden::kTensorBytes)),
          in(runner.allocate(sim::TensorMap::kBytes)),
          out(runner.allocate(golden::kRoomBytes)) {}

    std::string copy(const TensorCase& c, const CUtensorMap& map) {
        std::memcpy(runner.memory.resolve(in, sizeof map), &map, sizeof map);
        try {
            runner.launch("k", {{}, {128}}, in, out);
        } catch (const sim::LaunchError&) {
            return "fault";
        }
        if (c.operation == 'l') return golden::loaded(runner.download<std::uint32_t>(out, golden::wordsOf(c)));
        return golden::stored(c, runner.download<std::uint32_t>(buffer, golden::kTensorWords));
    }

    sim::Runner runner;
    sim::VirtualAddress buffer, in, out;
};

TEST_F(RecordedTensors, AreCopiedAsByAnH200) {
    std::ifstream file(std::string(BULKHEAD_SOURCE_DIR) + "/tests/exec/golden/h200-tensors.txt");
    int cases = 0;
    for (std::string line; std::getline(file, line); ++cases) {
        const std::size_t code = line.find(" code="), answer = line.find(" : ");
        const TensorCase c = golden::caseOf(line.substr(0, code));
        CUtensorMap map = {};
        constexpr sim::VirtualAddress kNowhere = 0x7f00'0000'0000;
        EXPECT_EQ(encode(c, kNowhere, map), std::stoi(line.substr(code + 6))) << line;
        if (answer == std::string::npos) continue;
        Device device(c);
        EXPECT_EQ(encode(c, device.buffer, map), CUDA_SUCCESS);
        const std::vector<std::uint32_t> words = golden::bufferOf(c);
        std::memcpy(device.runner.memory.resolve(device.buffer, golden::kTensorBytes), words.data(),
                    golden::kTensorBytes);
        EXPECT_EQ(device.copy(c, map), line.substr(answer + 3)) << line;
    }
    EXPECT_GT(cases, 1700);
}

}  // namespace
}  // namespace bulkhead::driver
