#include "driver/fatbin.h"

#include "base/error.h"
#include "base/random.h"
#include "fatbin_writer.h"
#include "support.h"

namespace bulkhead::driver {
namespace {

using Packing = FatbinWriter::Packing;

std::string chosen(const FatbinWriter& writer, unsigned sm) {
    const std::vector<std::uint8_t> bytes = writer.bytes();
    const Fatbin fatbin = Fatbin::read(bytes);
    const Fatbin::Entry* entry = fatbin.bestPtx(sm);
    return entry ? Fatbin::text(*entry) : "none";
}

TEST(FatbinReader, textComesBackFromEveryPacking) {
    std::string text = "// a text\n";
    while (text.size() < 5000) text += text;
    for (const Packing packing : {Packing::none, Packing::lz4, Packing::zstd}) {
        FatbinWriter writer;
        writer.addPtx(text, 75, packing);
        EXPECT_EQ(chosen(writer, 75), text);
    }
}

TEST(FatbinReader, theHighestTargetThatTheDeviceHasIsTaken) {
    FatbinWriter writer;
    writer.addPtx("fifty", 50);
    writer.addMachineCode(61);
    writer.addPtx("ninety", 90);
    writer.addPtx("sixty", 60, Packing::lz4);
    EXPECT_EQ(chosen(writer, 61), "sixty");
    EXPECT_EQ(chosen(writer, 52), "fifty");
    EXPECT_EQ(chosen(writer, 100), "ninety");
}

TEST(FatbinReader, ofTargetsBeyondTheDeviceTheLowestIsTaken) {
    FatbinWriter writer;
    writer.addPtx("ninety", 90);
    writer.addPtx("eighty", 80);
    EXPECT_EQ(chosen(writer, 20), "eighty");
}

TEST(FatbinReader, machineCodeAloneIsListedByTarget) {
    FatbinWriter writer;
    writer.addMachineCode(80);
    writer.addMachineCode(90);
    EXPECT_EQ(chosen(writer, 75), "none");
    const std::vector<std::uint8_t> bytes = writer.bytes();
    EXPECT_EQ(Fatbin::read(bytes).machineTargets(), "sm_80, sm_90");
}

TEST(FatbinReader, everyCutIsNoticed) {
    FatbinWriter writer;
    writer.addPtx("some text to cut", 75, Packing::zstd);
    writer.addMachineCode(80);
    const std::vector<std::uint8_t> whole = writer.bytes();
    for (std::size_t length = 0; length < whole.size(); ++length) {
        const std::vector<std::uint8_t> part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
        EXPECT_THROW(Fatbin::read(part), Error) << length;
    }
}

TEST(FatbinReader, damageIsAnErrorOrHarmless) {
    FatbinWriter writer;
    for (const Packing packing : {Packing::none, Packing::lz4, Packing::zstd})
        writer.addPtx(std::string(300, 'x') + "end", 75, packing);
    const std::vector<std::uint8_t> whole = writer.bytes();
    Random random(7);
    for (int round = 0; round < 2000; ++round) {
        std::vector<std::uint8_t> damaged = whole;
        for (int i = 0; i < 4; ++i) damaged[random.next() % damaged.size()] = static_cast<std::uint8_t>(random.next());
        try {
            const Fatbin fatbin = Fatbin::read(damaged);
            for (const Fatbin::Entry& entry : fatbin.entries()) Fatbin::text(entry);
        } catch (const Error&) {
        }
    }
}

class FatbinModules : public DriverTest {
  protected:
    CUresult load(const void* image) {
        CUmodule loaded = nullptr;
        return api.cuModuleLoadData(&loaded, image);
    }
};

TEST_F(FatbinModules, aModuleIsLoadedFromFatbinAndWrapper) {
    FatbinWriter writer;
    writer.addPtx(kKernels, 60, Packing::zstd);
    const std::vector<std::uint8_t> bytes = writer.bytes();
    FatbinWrapper wrapper;
    wrapper.data = bytes.data();
    EXPECT_EQ(load(bytes.data()), CUDA_SUCCESS) << simulator().lastError();
    EXPECT_EQ(load(&wrapper), CUDA_SUCCESS) << simulator().lastError();
    CUmodule loaded = nullptr;
    EXPECT_EQ(api.cuModuleLoadFatBinary(&loaded, &wrapper), CUDA_SUCCESS);
}

TEST_F(FatbinModules, machineCodeAloneSaysHowToCompile) {
    FatbinWriter writer;
    writer.addMachineCode(80);
    EXPECT_EQ(load(writer.bytes().data()), CUDA_ERROR_NO_BINARY_FOR_GPU);
    EXPECT_NE(simulator().lastError().find("sm_80"), std::string::npos);
    EXPECT_NE(simulator().lastError().find("-gencode arch=compute_75,code=compute_75"), std::string::npos);
}

TEST_F(FatbinModules, aDamagedImageIsInvalid) {
    FatbinWriter writer;
    writer.addPtx(kKernels, 60, Packing::lz4);
    std::vector<std::uint8_t> bytes = writer.bytes();
    bytes[16 + 4] = 3;  // the size of the first entry's header
    EXPECT_EQ(load(bytes.data()), CUDA_ERROR_INVALID_IMAGE);
    EXPECT_EQ(load("neither PTX nor anything else"), CUDA_ERROR_INVALID_IMAGE);
}

}  // namespace
}  // namespace bulkhead::driver
