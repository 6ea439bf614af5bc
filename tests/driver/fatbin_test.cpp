#include "driver/fatbin.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "base/random.h"
#include "driver/readable_memory.h"
#include "fatbin_writer.h"
#include "support.h"
#include "temporary_directory.h"

namespace bulkhead::driver {
namespace {

using Packing = FatbinWriter::Packing;

std::string chosen(const FatbinWriter& writer, unsigned sm) {
    const std::vector<std::uint8_t> bytes = writer.bytes();
    const Fatbin fatbin = Fatbin::read(bytes);
    const Fatbin::Entry* entry = fatbin.bestPtx(sm);
    return entry ? Fatbin::text(*entry) : "none";
}

void unpackAll(std::span<const std::uint8_t> bytes) {
    const Fatbin fatbin = Fatbin::read(bytes);
    for (const Fatbin::Entry& entry : fatbin.entries()) Fatbin::text(entry);
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
            unpackAll(damaged);
        } catch (const Error&) {
        }
    }
}

/// Bytes that end where memory does: the next one cannot be read.
class AtTheEdge {
  public:
    explicit AtTheEdge(std::size_t most) : room_((most + kPage - 1) / kPage * kPage) {
        void* const pages = ::mmap(nullptr, room_ + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED) throw std::runtime_error("no pages");
        pages_ = static_cast<std::uint8_t*>(pages);
        ::mprotect(pages_ + room_, kPage, PROT_NONE);
    }
    ~AtTheEdge() { ::munmap(pages_, room_ + kPage); }
    AtTheEdge(const AtTheEdge&) = delete;
    AtTheEdge& operator=(const AtTheEdge&) = delete;

    std::span<const std::uint8_t> put(std::span<const std::uint8_t> bytes) {
        std::uint8_t* const at = pages_ + room_ - bytes.size();
        std::copy(bytes.begin(), bytes.end(), at);
        return {at, bytes.size()};
    }

  private:
    const std::size_t kPage = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    std::size_t room_;
    std::uint8_t* pages_;
};

std::vector<std::uint8_t> goodImage() {
    FatbinWriter writer;
    for (const Packing packing : {Packing::none, Packing::lz4, Packing::zstd})
        writer.addPtx(std::string(300, 'x') + "end", 75, packing);
    writer.addMachineCode(80);
    return writer.bytes();
}

/// Another one each time: bits flipped, bytes and whole words replaced, most often in a header, and cut or lengthened.
std::vector<std::uint8_t> mutated(const std::vector<std::uint8_t>& good, Random& random) {
    std::vector<std::uint8_t> bytes = good;
    for (std::uint64_t n = 1 + random.below(3); n > 0; --n) {
        const std::size_t at = random.below(random.below(2) ? std::min<std::size_t>(96, bytes.size()) : bytes.size());
        const std::uint64_t odd[] = {0, 1, ~0ull, 1ull << 63, 0x7fff'ffff, 0xffff'ffff, 1ull << 32, random.next()};
        const std::uint64_t word = odd[random.below(std::size(odd))];
        switch (random.below(4)) {
            case 0:
                bytes[at] = static_cast<std::uint8_t>(bytes[at] ^ (1u << random.below(8)));
                break;
            case 1:
                std::memcpy(bytes.data() + at, &word, std::min<std::size_t>(8, bytes.size() - at));
                break;
            case 2:
                std::memcpy(bytes.data() + at, &word, std::min<std::size_t>(4, bytes.size() - at));
                break;
            default:
                bytes.resize(1 + random.below(bytes.size() + 16));
        }
    }
    return bytes;
}

TEST(FatbinReader, nothingBeyondTheEndIsRead) {
    const std::vector<std::uint8_t> good = goodImage();
    AtTheEdge edge(2 * good.size() + 64);
    Random random(11);
    for (int round = 0; round < 20'000; ++round) {
        const std::span<const std::uint8_t> image = edge.put(mutated(good, random));
        try {
            unpackAll(image);
        } catch (const Error&) {
        }
    }
}

TEST(FatbinReader, aPointerIsFollowedNoFartherThanMemoryGoes) {
    const std::vector<std::uint8_t> good = goodImage();
    AtTheEdge edge(2 * good.size() + 64);
    Random random(12);
    for (int round = 0; round < 5'000; ++round) {
        std::vector<std::uint8_t> bytes = mutated(good, random);
        // A lie about the size in its high bits is what a pointer cannot tell from the truth.
        if (round % 2 && bytes.size() >= 16) bytes[8 + random.below(8)] ^= static_cast<std::uint8_t>(random.next());
        const std::span<const std::uint8_t> image = edge.put(bytes);
        FatbinWrapper wrapper;
        wrapper.data = image.data();
        const void* const pointer = round % 3 ? static_cast<const void*>(image.data()) : &wrapper;
        try {
            const std::span<const std::uint8_t> found = Fatbin::bytesAt(pointer);
            if (found.empty()) continue;
            unpackAll(found);
        } catch (const Error&) {
        }
    }
}

TEST(FatbinReader, aWrapperThatPointsNowhereIsAnError) {
    FatbinWrapper wrapper;
    EXPECT_THROW(Fatbin::bytesAt(&wrapper), Error);
    wrapper.data = reinterpret_cast<const void*>(8);
    EXPECT_THROW(Fatbin::bytesAt(&wrapper), Error);
    wrapper.data = "something else";
    EXPECT_THROW(Fatbin::bytesAt(&wrapper), Error);
}

TEST(FatbinReader, aBombIsRefused) {
    // 5 bytes that claim to unpack to 2^40.
    std::vector<std::uint8_t> payload(8);
    Fatbin::Entry entry;
    entry.packing = Fatbin::Packing::lz4;
    entry.unpackedBytes = Bytes{1} << 40;
    entry.payload = payload;
    EXPECT_THROW(Fatbin::text(entry), Error);
    entry.packing = Fatbin::Packing::zstd;
    EXPECT_THROW(Fatbin::text(entry), Error);
}

TEST(FatbinReader, moreThanAPackingCanHoldIsRefusedBeforeItIsMade) {
    const std::vector<std::uint8_t> packed(20);
    for (const Fatbin::Packing packing : {Fatbin::Packing::lz4, Fatbin::Packing::zstd}) {
        Fatbin::Entry entry;
        entry.packing = packing;
        entry.payload = packed;
        entry.unpackedBytes = Bytes{8} << 20;
        try {
            Fatbin::text(entry);
            FAIL() << "20 bytes are no 8 MB";
        } catch (const Error& error) {
            EXPECT_STREQ(error.what(), "an entry of a fatbin claims to unpack to 8388608 bytes");
        }
    }
}

TEST(ReadableMemory, endsWhereAPageCannotBeRead) {
    AtTheEdge edge(100);
    const std::vector<std::uint8_t> bytes(100, 1);
    const std::span<const std::uint8_t> image = edge.put(bytes);
    EXPECT_EQ(readableFrom(image.data(), 1_GiB), 100u);
    EXPECT_EQ(readableFrom(image.data() + 99, 1_GiB), 1u);
    EXPECT_EQ(readableFrom(image.data(), 10), 10u);
    EXPECT_EQ(readableFrom(image.data() + 100, 1_GiB), 0u);
    EXPECT_EQ(readableFrom(nullptr, 1_GiB), 0u);
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
    EXPECT_EQ(load(bytes.data()), CUDA_SUCCESS) << simulatorApi().lastError();
    EXPECT_EQ(load(&wrapper), CUDA_SUCCESS) << simulatorApi().lastError();
    CUmodule loaded = nullptr;
    EXPECT_EQ(api.cuModuleLoadFatBinary(&loaded, &wrapper), CUDA_SUCCESS);
}

TEST_F(FatbinModules, machineCodeAloneSaysHowToCompile) {
    FatbinWriter writer;
    writer.addMachineCode(80);
    EXPECT_EQ(load(writer.bytes().data()), CUDA_ERROR_NO_BINARY_FOR_GPU);
    EXPECT_NE(simulatorApi().lastError().find("sm_80"), std::string::npos);
    EXPECT_NE(simulatorApi().lastError().find("-gencode arch=compute_75,code=compute_75"), std::string::npos);
}

TEST_F(FatbinModules, aDamagedImageIsInvalid) {
    FatbinWriter writer;
    writer.addPtx(kKernels, 60, Packing::lz4);
    std::vector<std::uint8_t> bytes = writer.bytes();
    bytes[16 + 4] = 3;  // the size of the first entry's header
    EXPECT_EQ(load(bytes.data()), CUDA_ERROR_INVALID_IMAGE);
    EXPECT_EQ(load("neither PTX nor anything else"), CUDA_ERROR_INVALID_IMAGE);
}

TEST_F(FatbinModules, noMutationOfAnImageThatIsPointedToEndsTheProgram) {
    FatbinWriter writer;
    writer.addPtx(kKernels, 60, Packing::lz4);
    const std::vector<std::uint8_t> good = writer.bytes();
    AtTheEdge edge(2 * good.size() + 64);
    Random random(13);
    for (int round = 0; round < 600; ++round) load(edge.put(mutated(good, random)).data());
}

TEST_F(FatbinModules, aFileIsNoLongerThanItIs) {
    const TemporaryDirectory folder;
    FatbinWriter writer;
    writer.addPtx(kKernels, 60, Packing::zstd);
    std::vector<std::uint8_t> bytes = writer.bytes();
    const auto loadFile = [&] {
        const std::string file = (folder / "image").string();
        writeFile(file, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
        CUmodule loaded = nullptr;
        return api.cuModuleLoad(&loaded, file.c_str());
    };
    EXPECT_EQ(loadFile(), CUDA_SUCCESS) << simulatorApi().lastError();
    bytes[8 + 2] = 1;  // 64 KB more than there are
    EXPECT_EQ(loadFile(), CUDA_ERROR_INVALID_IMAGE);
    EXPECT_NE(simulatorApi().lastError().find("cut off"), std::string::npos) << simulatorApi().lastError();
    // A wrapper points into a program's memory; in a file it points anywhere.
    FatbinWrapper wrapper;
    wrapper.data = bytes.data();
    bytes.assign(reinterpret_cast<const std::uint8_t*>(&wrapper), reinterpret_cast<const std::uint8_t*>(&wrapper + 1));
    EXPECT_EQ(loadFile(), CUDA_ERROR_INVALID_IMAGE);
    bytes.clear();
    EXPECT_EQ(loadFile(), CUDA_ERROR_INVALID_IMAGE);
    CUmodule loaded = nullptr;
    EXPECT_EQ(api.cuModuleLoad(&loaded, folder.path().c_str()), CUDA_ERROR_FILE_NOT_FOUND);
    EXPECT_EQ(api.cuModuleLoad(&loaded, (folder / "none").c_str()), CUDA_ERROR_FILE_NOT_FOUND);
}

TEST_F(FatbinModules, textEndsWhereMemoryDoes) {
    const std::string text = kKernels;
    AtTheEdge edge(text.size());
    // Without the zero that should follow it.
    EXPECT_EQ(load(edge.put({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}).data()), CUDA_SUCCESS);
    const std::uint8_t one[] = {'x'};
    EXPECT_EQ(load(edge.put(one).data()), CUDA_ERROR_INVALID_IMAGE);
}

}  // namespace
}  // namespace bulkhead::driver
