#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "driver/fatbin_writer.h"
#include "driver/support.h"
#include "temporary_directory.h"

namespace bulkhead::driver {
namespace {

// The codes are those of NVIDIA's libnvJitLink.so.13 of CUDA 13.0, for the same calls.
constexpr int kUnrecognizedOption = 1, kMissingArch = 2, kInvalidInput = 3, kPtxCompile = 4, kInternal = 6,
              kNullInput = 10, kIncompatibleOptions = 11, kIncorrectInputType = 12, kUnsupportedArch = 17;
constexpr int kCubin = 1, kPtx = 2, kLtoIr = 3, kFatbin = 4, kObject = 5, kAny = 10;

const std::string kHead = ".version 7.0\n.target sm_60\n.address_size 64\n";
const std::string kKernel = kHead + R"(.extern .func (.param .b32 r) twice(.param .b32 a);
.visible .entry store(.param .u64 p)
{
    .reg .b32 %r<3>; .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [p]; ld.global.u32 %r1, [%rd1];
    { .param .b32 x; st.param.b32 [x], %r1; .param .b32 y; call.uni (y), twice, (x); ld.param.b32 %r2, [y]; }
    st.global.u32 [%rd1], %r2; ret;
}
)";
const std::string kFunction = kHead + R"(.visible .func (.param .b32 r) twice(.param .b32 a)
{
    .reg .b32 %r<3>; ld.param.b32 %r1, [a]; add.s32 %r2, %r1, %r1; st.param.b32 [r], %r2; ret;
}
)";

/// The library as a program of that CUDA version finds it: by the names of its header.
class Library {
  public:
    explicit Library(const std::string& release)
        : release_(release),
          handle_(::dlopen((BULKHEAD_LIBRARY_FOLDER "/libnvJitLink.so." + release.substr(0, 2)).c_str(), RTLD_NOW)) {
        EXPECT_NE(handle_, nullptr) << ::dlerror();
    }
    template <class... Arguments>
    int call(const std::string& name, Arguments... arguments) const {
        void* const found = ::dlsym(handle_, ("__nvJitLink" + name + "_" + release_).c_str());
        EXPECT_NE(found, nullptr) << name;
        return found ? reinterpret_cast<int (*)(Arguments...)>(found)(arguments...) : -1;
    }

  private:
    std::string release_;
    void* handle_;
};

/// One link, from its options to the image.
class Link {
  public:
    Link(const Library& library, std::vector<const char*> options) : library_(library) {
        options.push_back(nullptr);
        created = library.call("Create", &handle_, static_cast<std::uint32_t>(options.size() - 1), options.data());
    }
    ~Link() { library_.call("Destroy", &handle_); }
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    int add(int type, const std::string& data) const {
        return library_.call("AddData", handle_, type, static_cast<const void*>(data.data()), data.size(), "input");
    }
    int addFile(int type, const std::string& path) const {
        return library_.call("AddFile", handle_, type, path.c_str());
    }
    int complete() const { return library_.call("Complete", handle_); }
    std::string errors() const {
        std::size_t bytes = 0;
        EXPECT_EQ(library_.call("GetErrorLogSize", handle_, &bytes), 0);
        std::string log(bytes + 1, '?');
        EXPECT_EQ(library_.call("GetErrorLog", handle_, log.data()), 0);
        return log.c_str();
    }
    std::vector<char> cubin() const {
        std::size_t bytes = 0;
        EXPECT_EQ(library_.call("GetLinkedCubinSize", handle_, &bytes), 0);
        std::vector<char> image(bytes);
        EXPECT_EQ(library_.call("GetLinkedCubin", handle_, static_cast<void*>(image.data())), 0);
        return image;
    }
    int cubinSize(std::size_t* bytes) const { return library_.call("GetLinkedCubinSize", handle_, bytes); }
    int ptxSize(std::size_t* bytes) const { return library_.call("GetLinkedPtxSize", handle_, bytes); }

    int created = -1;

  private:
    const Library& library_;
    void* handle_ = nullptr;
};

class NvJitLink : public DriverTest {
  protected:
    /// What `store` of a linked image makes of a number.
    unsigned stored(const std::vector<char>& image, unsigned number) const {
        CUmodule linked = nullptr;
        CUfunction store = nullptr;
        EXPECT_EQ(api.cuModuleLoadData(&linked, image.data()), CUDA_SUCCESS) << simulatorApi().lastError();
        EXPECT_EQ(api.cuModuleGetFunction(&store, linked, "store"), CUDA_SUCCESS);
        CUdeviceptr at = upload<unsigned>({number});
        void* parameters[] = {&at};
        EXPECT_EQ(api.cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), CUDA_SUCCESS);
        return download<unsigned>(at, 1)[0];
    }
    const Library library{"13_0"};
};

TEST_F(NvJitLink, LinksModulesThatTheDriverLoads) {
    const Link link(library, {"-arch=sm_75"});
    ASSERT_EQ(link.created, 0);
    EXPECT_EQ(link.add(kPtx, kKernel), 0);
    EXPECT_EQ(link.add(kPtx, kFunction), 0);
    EXPECT_EQ(link.complete(), 0) << link.errors();
    EXPECT_EQ(link.errors(), "");
    EXPECT_EQ(stored(link.cubin(), 21), 42u);
}

TEST_F(NvJitLink, ServesProgramsOfEveryReleaseOfCuda12) {
    for (int minor = 0; minor <= 9; ++minor) {
        const Library older("12_" + std::to_string(minor));
        const Link link(older, {"-arch=sm_60"});
        EXPECT_EQ(link.created, 0) << minor;
    }
}

TEST_F(NvJitLink, LinksWhatItLinkedBefore) {
    const Link first(library, {"-arch=sm_75"});
    EXPECT_EQ(first.add(kPtx, kFunction), 0);
    ASSERT_EQ(first.complete(), 0);
    const std::vector<char> image = first.cubin();
    const Link second(library, {"-arch=sm_75"});
    EXPECT_EQ(second.add(kCubin, {image.data(), image.size()}), 0) << second.errors();
    EXPECT_EQ(second.add(kAny, kKernel), 0);
    ASSERT_EQ(second.complete(), 0) << second.errors();
    EXPECT_EQ(stored(second.cubin(), 4), 8u);
}

TEST_F(NvJitLink, TakesFatbinsAndFiles) {
    TemporaryDirectory folder;
    const std::string file = (folder / "function.ptx").string();
    std::ofstream(file) << kFunction;
    FatbinWriter writer;
    writer.addPtx(kKernel, 75);
    const std::vector<std::uint8_t> fatbin = writer.bytes();
    const Link link(library, {"-arch=sm_75"});
    EXPECT_EQ(link.add(kFatbin, {reinterpret_cast<const char*>(fatbin.data()), fatbin.size()}), 0) << link.errors();
    EXPECT_EQ(link.addFile(kPtx, file), 0) << link.errors();
    ASSERT_EQ(link.complete(), 0) << link.errors();
    EXPECT_EQ(stored(link.cubin(), 100), 200u);
}

TEST_F(NvJitLink, RefusesOptionsAsNvidiasDoes) {
    const auto created = [&](std::vector<const char*> options) { return Link(library, std::move(options)).created; };
    EXPECT_EQ(created({}), kMissingArch);
    EXPECT_EQ(created({"-nonsense", "-arch=sm_90"}), kUnrecognizedOption);
    EXPECT_EQ(created({"-arch", "sm_90"}), kUnrecognizedOption);
    EXPECT_EQ(created({"-arch=sm_10"}), kUnsupportedArch);
    EXPECT_EQ(created({"-arch=compute_90"}), kIncompatibleOptions);
    EXPECT_EQ(created({"-arch=sm_90", "-ptx"}), kIncompatibleOptions);
    EXPECT_EQ(created({"-arch=sm_90", "-lto", "-ptx"}), 0);
    EXPECT_EQ(created({"-arch=sm_90a", "-lineinfo", "-g", "-O3", "-verbose", "-maxrregcount=32", "-Xptxas=-v"}), 0);
    EXPECT_EQ(Link(library, {"-nonsense"}).errors(), "unrecognized option: -nonsense\n");
    EXPECT_EQ(library.call("Create", static_cast<void**>(nullptr), std::uint32_t{0}, static_cast<char**>(nullptr)),
              kNullInput);
}

TEST_F(NvJitLink, RefusesInputsAsNvidiasDoes) {
    const Link link(library, {"-arch=sm_75"});
    EXPECT_EQ(link.add(kPtx, kHead + ".visible .entry k() { nonsense %r1; ret; }"), kPtxCompile);
    EXPECT_NE(link.errors().find("ERROR NVJITLINK_ERROR_PTX_COMPILE: JIT the PTX (input)"), std::string::npos);
    EXPECT_EQ(link.add(kPtx, ".version 7.8\n.target sm_90\n.address_size 64\n"), kPtxCompile);
    EXPECT_EQ(link.add(kPtx, ""), kInvalidInput);
    for (const int type : {0, kLtoIr, kFatbin, kObject, 99}) EXPECT_EQ(link.add(type, kFunction), kIncorrectInputType);
    EXPECT_EQ(link.addFile(kPtx, "/no/such"), kInvalidInput);
}

TEST_F(NvJitLink, EndsOnceAndOnlyWithWhatIsNeeded) {
    std::size_t bytes = 5;
    const Link lacking(library, {"-arch=sm_75"});
    EXPECT_EQ(lacking.cubinSize(&bytes), kInternal);
    EXPECT_EQ(lacking.add(kPtx, kKernel), 0);
    EXPECT_EQ(lacking.complete(), kInternal);
    EXPECT_NE(lacking.errors().find("twice"), std::string::npos) << lacking.errors();
    const Link whole(library, {"-arch=sm_75"});
    EXPECT_EQ(whole.complete(), 0);
    EXPECT_EQ(whole.complete(), kInternal);
    EXPECT_EQ(whole.add(kPtx, kFunction), kInternal);
    EXPECT_EQ(whole.ptxSize(&bytes), kInvalidInput);
}

TEST_F(NvJitLink, MakesPtxOfNothingButLtoIr) {
    const Link link(library, {"-arch=sm_75", "-lto", "-ptx"});
    EXPECT_EQ(link.add(kPtx, kFunction), 0);
    EXPECT_EQ(link.complete(), kIncorrectInputType);
    EXPECT_EQ(link.errors(), "ERROR: -ptx requires that all inputs have LTOIR\n");
}

}  // namespace
}  // namespace bulkhead::driver
