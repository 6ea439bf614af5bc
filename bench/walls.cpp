// What walls cost and what they keep out, on a GPU of two L2 sides or of many slices: launches, memory-bound kernels,
// and a latency-bound victim beside tenants that stream.
//   bulkhead_walls --gpu cuda:0 --coloring sides|slices [--map FILE] --measure
//   launch,bandwidth,translation,views,latency,sample,workloads

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "dissect/map_file.h"
#include "report/report.h"
#include "walls/span.h"
#include "walls_bench.ptx.h"
#include "workloads/workload.h"

namespace {

using namespace bulkhead;
using walls::Coloring;
using walls::Enclosure;
using walls::Site;
using walls::SmSet;

struct Options {
    std::string gpu = "cuda:0", coloring = "sides", map, out, ptx;
    std::vector<std::string> measures = {"launch", "bandwidth", "latency", "sample"};
    std::string size = "default";
    std::size_t poolMegabytes = 4096, megabytes = 128;
    unsigned tenants = 2, repeats = 21;
    double rows = 1.25;
    std::string placement = "blocks";
};

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
}

double secondsOf(const std::function<void()>& body) {
    const auto begun = std::chrono::steady_clock::now();
    body();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

/// Everything of a tenant of the measurement, walled or not.
class Place {
  public:
    explicit Place(gpu::Context context)
        : context_(std::move(context)), stream_(context_.createStream()), module_(context_.load(deviceCode.c_str())) {}

    static inline std::string deviceCode = kWallsBenchPtx;

    gpu::Context& context() { return context_; }
    gpu::Stream& stream() { return stream_; }
    gpu::Kernel kernel(const char* name) { return module_.kernel(name); }

    /// Median GPU seconds of a piece of work.
    double time(unsigned repeats, const std::function<void()>& work) {
        std::vector<double> seconds;
        for (unsigned i = 0; i < repeats + 2; ++i) {
            gpu::Event begin = context_.createEvent(), end = context_.createEvent();
            begin.record(stream_);
            work();
            end.record(stream_);
            end.synchronize();
            if (i >= 2) seconds.push_back(end.secondsSince(begin));
        }
        return median(seconds);
    }

  private:
    gpu::Context context_;
    gpu::Stream stream_;
    gpu::Module module_;
};

/// Equal tenants of a site: those of one side share its multiprocessors and colors, two of them by its halves.
struct Split {
    SmSet sms;
    std::vector<unsigned> colors;
};
std::vector<Split> splitSite(const Site& site, unsigned tenants) {
    const walls::Topology& topology = site.topology();
    std::vector<Split> split(tenants, Split{SmSet(topology.multiprocessors(), false), {}});
    const unsigned sides = topology.sides();
    for (unsigned side = 0; side < sides; ++side) {
        std::vector<unsigned> sms, colors;
        bool smsHalved = false, colorsHalved = false;
        for (unsigned sm = 0; sm < topology.multiprocessors(); ++sm)
            if (topology.sideOf[sm] == side) {
                sms.push_back(sm);
                smsHalved = smsHalved || topology.quarterOf[sm] % 2 != 0;
            }
        for (unsigned color = 0; color < site.colors(); ++color)
            if (site.sideOf(color) == side) {
                colors.push_back(color);
                colorsHalved = colorsHalved || site.quarterOf(color) % 2 != 0;
            }
        // Tenant t is on side t mod sides, and there the (t / sides)-th.
        const std::size_t there = (tenants + sides - 1 - side) / sides;
        const bool byHalves = there == 2 && smsHalved && colorsHalved;
        const auto placeOf = [&](std::size_t index, std::size_t count, unsigned quarter) {
            return side + sides * (byHalves ? quarter % 2 : std::min(there - 1, index * there / count));
        };
        // Two neighbours make a TPC, which the driver cannot divide.
        for (std::size_t i = 0; i < sms.size(); ++i)
            split[placeOf(i / 2 * 2, sms.size(), topology.quarterOf[sms[i]])].sms[sms[i]] = true;
        for (std::size_t i = 0; i < colors.size(); ++i)
            split[placeOf(i, colors.size(), site.quarterOf(colors[i]))].colors.push_back(colors[i]);
    }
    return split;
}

/// The chunks of a side as a kernel can tell them without translating: see BlocksOfSide of the device code.
struct BlocksOfSide {
    unsigned mask = 0, side = 0, chunkShift = 0;
};

/// A memory-bound kernel over arrays of a tenant.
class Streaming {
  public:
    static constexpr unsigned kThreads = 256;

    Streaming(Place& place, const std::string& name, std::size_t megabytes)
        : place_(place),
          name_(name),
          kernel_(place.kernel(name.c_str())),
          count_(static_cast<unsigned>(megabytes << 18)) {
        for (std::size_t i = 0; i < arraysOf(name); ++i) {
            arrays_.push_back(place.context().array<float>(count_));
            arrays_.back().buffer().fill(0);
            addresses_.push_back(arrays_.back().address());
        }
    }
    static std::size_t arraysOf(const std::string& name) { return name == "vectorAdd" ? 3 : 2; }
    void launch() {
        if (name_ == "vectorAdd") {
            kernel_.launch(place_.stream(), {count_ / kThreads}, {kThreads}, 0, addresses_[0], addresses_[1],
                           addresses_[2], count_);
        } else if (name_ == "saxpy") {
            kernel_.launch(place_.stream(), {count_ / kThreads}, {kThreads}, 0, addresses_[0], addresses_[1], 2.0f,
                           count_);
        } else {
            constexpr unsigned kWidth = 4096;
            const unsigned height = count_ / kWidth;
            kernel_.launch(place_.stream(), {kWidth / 64, height / 4}, {64, 4}, 0, addresses_[0], addresses_[1], kWidth,
                           height);
        }
    }
    /// That DRAM has to move at least.
    double bytes() const { return 4.0 * count_ * (name_ == "stencil" ? 2 : 3); }
    double rate(unsigned repeats) {
        return bytes() / place_.time(repeats, [&] { launch(); }) * 1e-9;
    }

  private:
    Place& place_;
    std::string name_;
    gpu::Kernel kernel_;
    unsigned count_;
    std::vector<gpu::Array<float>> arrays_;
    std::vector<driver::CUdeviceptr> addresses_;
};

/// The same work on the same chunks of one side, by kernels that find them themselves: nothing is translated.
class ChunksOfSide {
  public:
    /// `owner` is walled into the side, whose first bytes are taken; `place` has the same multiprocessors and no memory
    /// wall.
    ChunksOfSide(Place& place, Enclosure& owner, const std::string& name, std::size_t megabytes)
        : place_(place),
          name_(name),
          kernel_(place.kernel((name + "OfSide").c_str())),
          memory_(owner.context().allocate(Streaming::arraysOf(name) * megabytes << 20)),
          count_(static_cast<unsigned>(megabytes << 18)) {
        const auto [color, offset] = owner.sideColor(memory_.address());
        if (!std::has_single_bit(megabytes) || offset != 0)
            throw Error("the control needs arrays of a power of two of MB at the beginning of a side");
        const Bytes chunk = Bytes{1} << color.chunkShift;
        // Which chunk of a pair it is, for pair 0 and those that differ from it in one bit.
        const auto whichOf = [&, base = color.base](std::uint64_t pair) {
            for (Bytes at = 0; at < Bytes{megabytes} << 20; at += chunk)
                if (const auto number = (owner.realAddress(memory_.address() + at) - base) / chunk; number / 2 == pair)
                    return static_cast<unsigned>(number & 1);
            throw Error("a pair of chunks of which none is on the side");
        };
        blocks_.side = whichOf(0);
        blocks_.chunkShift = static_cast<unsigned>(std::countr_zero(chunk / (Streaming::kThreads * sizeof(float))));
        for (unsigned bit = 0; Bytes{2} << bit <= (Bytes{megabytes} << 20) / chunk; ++bit)
            blocks_.mask |= (whichOf(std::uint64_t{1} << bit) ^ blocks_.side) << bit;
        for (std::size_t i = 0; i < Streaming::arraysOf(name); ++i)
            addresses_.push_back(color.base + (2 * i * megabytes << 20));
    }
    void launch() {
        const gpu::Dim3 grid{count_ / Streaming::kThreads}, block{Streaming::kThreads};
        const unsigned both = 2 * count_;  // elements of an array on either side
        if (name_ == "vectorAdd") {
            kernel_.launch(place_.stream(), grid, block, 0, addresses_[0], addresses_[1], addresses_[2], both, blocks_);
        } else {
            kernel_.launch(place_.stream(), grid, block, 0, addresses_[0], addresses_[1], 2.0f, both, blocks_);
        }
    }
    double rate(unsigned repeats) {
        return 12.0 * count_ / place_.time(repeats, [&] { launch(); }) * 1e-9;
    }

  private:
    Place& place_;
    std::string name_;
    gpu::Kernel kernel_;
    gpu::Buffer memory_;
    unsigned count_;
    BlocksOfSide blocks_;
    std::vector<driver::CUdeviceptr> addresses_;
};

/// What a victim that waits for every access took.
struct Latency {
    double ns = 0, mhz = 0;
};

class Bench {
  public:
    Bench(gpu::Gpu& gpu, Site& site, const Options& options)
        : gpu_(gpu), site_(site), options_(options), split_(splitSite(site, options.tenants)) {}

    Result launches() {
        Result result = table(
            "Launches of an empty kernel, inside compute walls and plain",
            {"plain, one after the other", "walled, one after the other", "plain, waited for", "walled, waited for"},
            "us", "blocks");
        Enclosure enclosure = site_.enclose({split_[0].sms, {}, 0});
        Place plain(gpu_.context()), walled(enclosure.context());
        const bool simulated = gpu_.simulator() != nullptr;
        for (const unsigned blocks : {1u, 66u, 528u, 4224u}) {
            const auto back = [&](Place& place) {
                gpu::Kernel kernel = place.kernel("nothing");
                const unsigned launches = simulated ? 3 : 500;
                return 1e6 / launches * place.time(simulated ? 1 : options_.repeats, [&] {
                    for (unsigned i = 0; i < launches; ++i)
                        kernel.launch(place.stream(), {blocks}, {256}, 0, driver::CUdeviceptr{0});
                });
            };
            const auto waited = [&](Place& place) {
                gpu::Kernel kernel = place.kernel("nothing");
                std::vector<double> seconds;
                for (int i = 0; i < (simulated ? 1 : 400); ++i)
                    seconds.push_back(secondsOf([&] {
                        kernel.launch(place.stream(), {blocks}, {256}, 0, driver::CUdeviceptr{0});
                        place.stream().synchronize();
                    }));
                return 1e6 * median(seconds);
            };
            result.add({std::int64_t{blocks}, back(plain), back(walled), waited(plain), waited(walled)});
        }
        return result;
    }

    /// All tenants at once against the whole GPU, and one tenant against its multiprocessors alone.
    Result bandwidth() {
        Result result = table("Memory-bound kernels: GB/s of one tenant and of all together",
                              {"whole GPU, no walls", "whole GPU, compute walls", "one, compute walls",
                               "one, both walls", "all, compute walls", "all, both walls"},
                              "GB/s", "kernel");
        for (const char* name : {"vectorAdd", "saxpy", "stencil"}) {
            const double whole = rateIn(gpu_.context(), name);
            Enclosure around = site_.enclose({SmSet(split_[0].sms.size(), true), {}, 0});
            const double wholeWalled = rateIn(around.context(), name);
            const auto [oneCompute, allCompute] = tenantsTogether(name, false);
            const auto [oneBoth, allBoth] = tenantsTogether(name, true);
            result.add({std::string(name), whole, wholeWalled, oneCompute, oneBoth, allCompute, allBoth});
        }
        return result;
    }

    /// What translation alone costs: the same multiprocessors, the same chunks and so the same channels, by a kernel
    /// that finds the chunks itself, with a few instructions a block.
    Result translation() {
        if (site_.coloring() != Coloring::sides) throw Error("the control of translation is made for sides");
        Result result = table("Memory-bound kernels on one side: translated, and the same chunks without translation",
                              {"translated", "not translated"}, "GB/s", "kernel");
        result.columns.push_back({"cost", "%"});
        for (const char* name : {"vectorAdd", "saxpy"}) {
            Enclosure plain = site_.enclose({split_[0].sms, {}, 0});
            Place place(plain.context());
            // By turns: clocks change.
            std::vector<double> translated, control;
            for (int round = 0; round < (gpu_.simulator() ? 1 : 5); ++round) {
                Enclosure both = site_.enclose({split_[0].sms, split_[0].colors, 0});
                translated.push_back(rateIn(both.context(), name));
                control.push_back(ChunksOfSide(place, both, name, options_.megabytes).rate(repeats()));
            }
            const double with = median(translated), without = median(control);
            result.add({std::string(name), with, without, 100 * (without / with - 1)});
        }
        return result;
    }

    /// Kernels over views, which translate in their own code, by the multiprocessors of the first tenant.
    Result views() {
        Result result = table("Vector addition over views", {"rate"}, "GB/s", "view");
        result.columns.push_back({"result", ""});
        Enclosure plain = site_.enclose({split_[0].sms, {}, 0}),
                  colored = site_.enclose({split_[0].sms, split_[0].colors, 0});
        Place place(plain.context());
        const auto row = [&](const char* kernelName, gpu::Context& context, const auto& viewOf) {
            const std::size_t count = options_.megabytes << 18;
            std::vector<float> content(count);
            for (std::size_t i = 0; i < count; ++i) content[i] = static_cast<float>(i % 1000);
            auto a = context.array(content), b = context.array(content), c = context.array<float>(count);
            gpu::Kernel kernel = place.kernel(kernelName);
            const double seconds = place.time(repeats(), [&] {
                kernel.launch(place.stream(), {static_cast<unsigned>(count / Streaming::kThreads)},
                              {Streaming::kThreads}, 0, viewOf(c), viewOf(a), viewOf(b));
            });
            const std::vector<float> sums = c.download();
            bool right = true;
            for (std::size_t i = 0; i < count; ++i) right = right && sums[i] == 2 * content[i];
            result.add({std::string(kernelName), 12e-9 * static_cast<double>(count) / seconds,
                        std::string(right ? "right" : "wrong")});
        };
        row("addPlain", plain.context(), [](const gpu::Array<float>& array) {
            return Span<float>(reinterpret_cast<float*>(array.address()), array.size());
        });
        if (site_.coloring() == Coloring::sides)
            row("addOnSide", colored.context(), [&](const auto& array) { return walls::sideSpan(colored, array); });
        if (site_.coloring() == Coloring::slices)
            row("addOnSlices", colored.context(), [&](const auto& array) { return walls::sliceSpan(colored, array); });
        return result;
    }

    Result latency() {
        if (gpu_.simulator() != nullptr)
            throw Error("latency is measured on real GPUs; bulkhead isolate evaluate does it on simulated ones");
        Result result;
        result.title = "A latency-bound victim beside tenants that stream";
        result.columns = {
            {"walls", ""},   {"aggressors", ""},          {"alone", "ns per access"}, {"beside them", "ns per access"},
            {"slower", "%"}, {"aggressors' rate", "GB/s"}};
        for (const bool memory : {false, true})
            for (const bool writes : {false, true}) {
                const VictimBeside v = victimBeside(memory, writes);
                result.add({std::string(memory ? "compute and memory" : "compute"),
                            std::string(writes ? "write" : "read"), v.alone, v.beside, 100 * (v.beside / v.alone - 1),
                            v.rate});
            }
        return result;
    }

    Result sample() {
        Result result;
        result.title = "Colors that timing says, of sampled addresses";
        result.columns = {{"tenant", ""}, {"addresses", ""}, {"wrong", ""}};
        std::vector<Enclosure> enclosures;
        for (std::size_t t = 0; t < split_.size(); ++t) {
            enclosures.push_back(site_.enclose({split_[t].sms, split_[t].colors, 0}));
            const gpu::Buffer buffer = enclosures.back().context().allocate(share(t) / 2);
            const std::size_t samples = gpu_.simulator() ? 64 : 4000;
            const std::size_t wrong = site_.countWrongColors(enclosures.back(), buffer, samples, 1);
            result.add(
                {static_cast<std::int64_t>(t), static_cast<std::int64_t>(samples), static_cast<std::int64_t>(wrong)});
        }
        return result;
    }

    Result allWorkloads() {
        Result result;
        result.title = "Workloads inside compute and memory walls";
        result.columns = {
            {"workload", ""}, {"result", ""}, {"plain", "ms"}, {"compute walls", "ms"}, {"both walls", "ms"}};
        for (const workloads::Workload& workload : workloads::all()) {
            std::string verdict = "right";
            std::vector<Value> times(3);
            for (int walls = 0; walls < 3; ++walls) {
                try {
                    std::optional<Enclosure> enclosure;
                    if (walls > 0)
                        enclosure =
                            site_.enclose({split_[0].sms, walls == 2 ? split_[0].colors : std::vector<unsigned>(), 0});
                    gpu::Context context = enclosure ? enclosure->context() : gpu_.context();
                    const auto instance = workload.create(context, workloads::parseSize(options_.size), 1);
                    gpu::Stream stream = context.createStream();
                    for (int round = 0; round < 2; ++round) {
                        gpu::Event begin = context.createEvent(), end = context.createEvent();
                        begin.record(stream);
                        instance->run(stream);
                        end.record(stream);
                        stream.synchronize();
                        times[static_cast<std::size_t>(walls)] = 1e3 * end.secondsSince(begin);
                    }
                    instance->check();
                    if (enclosure && enclosure->strayBlocks() != 0)
                        verdict = fmt::format("{} stray blocks", enclosure->strayBlocks());
                } catch (const Error& error) {
                    verdict = error.what();
                }
            }
            result.add({std::string(workload.name), verdict, times[0], times[1], times[2]});
        }
        return result;
    }

  private:
    static Result table(const std::string& title, const std::vector<const char*>& names, const char* unit,
                        const char* first) {
        Result result;
        result.title = title;
        result.columns = {{first, ""}};
        for (const char* name : names) result.columns.push_back({name, unit});
        return result;
    }
    unsigned repeats() const { return gpu_.simulator() ? 1 : options_.repeats; }
    Bytes share(std::size_t tenant) const { return site_.memoryOf(split_[tenant].colors); }
    double rateIn(const gpu::Context& context, const char* name) {
        Place place(context);
        return Streaming(place, name, options_.megabytes).rate(repeats());
    }
    std::vector<Enclosure> encloseAll(bool memory) {
        std::vector<Enclosure> all;
        for (const Split& s : split_)
            all.push_back(site_.enclose({s.sms, memory ? s.colors : std::vector<unsigned>(), 0}));
        return all;
    }

    /// GB/s of the first tenant alone, and of all at the same time.
    std::pair<double, double> tenantsTogether(const char* name, bool memory) {
        std::vector<Enclosure> enclosures = encloseAll(memory);
        std::vector<std::unique_ptr<Place>> places;
        std::vector<std::unique_ptr<Streaming>> work;
        for (Enclosure& enclosure : enclosures) {
            places.push_back(std::make_unique<Place>(enclosure.context()));
            work.push_back(std::make_unique<Streaming>(*places.back(), name, options_.megabytes));
        }
        const double one = work[0]->rate(repeats());
        // Each tenant's own rate while all are at work: the middle of a row of launches.
        const unsigned launches = gpu_.simulator() ? 1 : 40;
        std::vector<gpu::Event> begins, ends;
        for (const auto& place : places) {
            begins.push_back(place->context().createEvent());
            ends.push_back(place->context().createEvent());
        }
        for (unsigned i = 0; i < launches; ++i)
            for (std::size_t t = 0; t < places.size(); ++t) {
                if (i == launches / 4) begins[t].record(places[t]->stream());
                work[t]->launch();
                if (i == 3 * launches / 4) ends[t].record(places[t]->stream());
            }
        double all = 0;
        const unsigned counted = 3 * launches / 4 - launches / 4 + 1;
        for (std::size_t t = 0; t < places.size(); ++t) {
            places[t]->stream().synchronize();
            all += counted * work[t]->bytes() / ends[t].secondsSince(begins[t]) * 1e-9;
        }
        return {one, all};
    }

    /// One that chases pointers through memory that stays in L2.
    class Victim {
      public:
        explicit Victim(Place& place)
            : place_(place),
              chase_(place.kernel("chase")),
              ring_(place.context().array<std::uint64_t>(std::size_t{kLines} * kLineWords)),
              result_(place.context().array<std::uint64_t>(3)) {
            place.kernel("makeRing").launch(place.stream(), {64}, {256}, 0, ring_, kLines, 4 * 1237u + 1, kLineWords);
        }
        /// Through all of the ring, after it was brought into L2 as far as it stays there.
        Latency take() {
            for (int i = 0; i < 2; ++i) chase_.launch(place_.stream(), {1}, {1}, 0, ring_.address(), kLines, result_);
            place_.stream().synchronize();  // a tenant's copies do not wait for its streams
            const std::vector<std::uint64_t> r = result_.download();
            const auto ns = static_cast<double>(r[1]);
            return {ns / kLines, static_cast<double>(r[2]) / ns * 1e3};
        }

      private:
        static constexpr unsigned kLines = 65536, kLineWords = 16;  // 8 MB: in L2 by far, beyond L1
        Place& place_;
        gpu::Kernel chase_;
        gpu::Array<std::uint64_t> ring_, result_;
    };

    /// A tenant that streams for a while.
    class Aggressor {
      public:
        Aggressor(Place& place, unsigned multiprocessors, bool writes, Bytes bytes)
            : place_(place),
              kernel_(place.kernel("streamFor")),
              blocks_(static_cast<unsigned>(kernel_.blocksPerMultiprocessor(kThreads)) * multiprocessors),
              writes_(writes),
              data_(place.context().array<std::uint64_t>(bytes / 8)),
              moved_(place.context().array(std::vector<std::uint64_t>(1, 0))) {
            data_.buffer().fill(0);
            place.context().synchronize();
        }
        void start(std::uint64_t nanoseconds) {
            nanoseconds_ += nanoseconds;
            kernel_.launch(place_.stream(), {blocks_}, {kThreads}, 0, data_, std::uint64_t{data_.size() / 2},
                           nanoseconds, writes_ ? 1u : 0u, moved_);
        }
        bool running() {
            place_.context().makeCurrent();
            return place_.context().api().cuStreamQuery(place_.stream().handle()) != driver::CUDA_SUCCESS;
        }
        void wait() { place_.stream().synchronize(); }
        /// GB/s over all of its time: one thread of each block counts its vectors of 16 bytes.
        double rate() {
            return 16.0 * kThreads * static_cast<double>(moved_.download()[0]) * (writes_ ? 2 : 1) /
                   static_cast<double>(nanoseconds_);
        }

      private:
        static constexpr unsigned kThreads = 512;
        Place& place_;
        gpu::Kernel kernel_;
        unsigned blocks_;
        bool writes_;
        gpu::Array<std::uint64_t> data_, moved_;
        std::uint64_t nanoseconds_ = 0;
    };

    struct VictimBeside {
        double alone = 0, beside = 0, rate = 0;
    };
    /// The first tenant, alone and beside all others, by turns.
    VictimBeside victimBeside(bool memory, bool writes) {
        std::vector<Enclosure> enclosures = encloseAll(memory);
        std::vector<std::unique_ptr<Place>> places;
        for (Enclosure& enclosure : enclosures) places.push_back(std::make_unique<Place>(enclosure.context()));
        Victim victim(*places[0]);
        std::vector<std::unique_ptr<Aggressor>> others;
        for (std::size_t t = 1; t < places.size(); ++t) {
            const auto inside = std::count(split_[t].sms.begin(), split_[t].sms.end(), true);
            others.push_back(std::make_unique<Aggressor>(*places[t], static_cast<unsigned>(inside), writes, 512_MiB));
        }
        constexpr std::uint64_t kWarmUp = 30'000'000, kLong = 200'000'000;  // ns
        std::vector<double> alone, beside, mhz;
        for (int round = 0; round < 7; ++round) {
            // An idle GPU lowers its clock: there is always work before.
            for (const auto& other : others) other->start(kWarmUp);
            for (const auto& other : others) other->wait();
            const Latency quiet = victim.take();
            alone.push_back(quiet.ns);
            mhz.push_back(quiet.mhz);
            for (const auto& other : others) other->start(kLong);
            beside.push_back(victim.take().ns);
            if (std::any_of(others.begin(), others.end(), [](const auto& other) { return !other->running(); }))
                throw Error("an aggressor ended before its victim");
            for (const auto& other : others) other->wait();
        }
        expectQuiet(alone, mhz);
        VictimBeside result{median(alone), median(beside), 0};
        for (const auto& other : others) result.rate += other->rate();
        return result;
    }

    /// Throws Error if a victim without aggressors was disturbed all the same.
    void expectQuiet(std::vector<double> ns, const std::vector<double>& mhz) {
        constexpr driver::CUdevice_attribute kClockRate = 13;  // in kHz
        int khz = 0;
        gpu_.context().makeCurrent();
        driver::CUdevice device = 0;
        gpu_.api().cuCtxGetDevice(&device);
        gpu_.api().cuDeviceGetAttribute(&khz, kClockRate, device);
        if (median(mhz) < 0.75e-3 * khz)
            throw Error("the GPU runs at {:.0f} of {:.0f} MHz: latencies would mean nothing", median(mhz), 1e-3 * khz);
        std::sort(ns.begin(), ns.end());
        const double low = ns[ns.size() / 4], high = ns[ns.size() * 3 / 4];
        if (high > 1.05 * low)
            throw Error("the victim alone takes {:.1f} to {:.1f} ns an access: the GPU is not quiet", low, high);
    }

    gpu::Gpu& gpu_;
    Site& site_;
    Options options_;
    std::vector<Split> split_;
};

Coloring parseColoring(const std::string& name) {
    if (name == "sides") return Coloring::sides;
    if (name == "slices") return Coloring::slices;
    if (name == "pages") return Coloring::pages;
    throw Error("no coloring {}: sides, slices or pages", name);
}

walls::Placement parsePlacement(const std::string& name) {
    if (name == "blocks") return walls::Placement::blocks;
    if (name == "driver") return walls::Placement::driver;
    if (name == "automatic") return walls::Placement::automatic;
    throw Error("no placement {}: blocks, driver or automatic", name);
}

int run(int argc, char** argv) {
    Options options;
    CLI::App app("What walls cost and what they keep out");
    app.add_option("--gpu", options.gpu);
    app.add_option("--coloring", options.coloring, "sides, slices or pages");
    app.add_option("--map", options.map, "of dissect, for slices");
    app.add_option("--measure", options.measures, "launch, bandwidth, translation, views, latency, sample, workloads")
        ->delimiter(',');
    app.add_option("--tenants", options.tenants);
    app.add_option("--pool", options.poolMegabytes, "MB that colors share");
    app.add_option("--megabytes", options.megabytes, "of an array of memory-bound kernels");
    app.add_option("--rows", options.rows, "physical blocks of a launch for each that the GPU has room for");
    app.add_option("--placement", options.placement, "who keeps blocks inside: blocks, driver or automatic");
    app.add_option("--repeats", options.repeats);
    app.add_option("--size", options.size, "of workloads");
    app.add_option("--ptx", options.ptx, "the device code of this program, by another compiler");
    app.add_option("--json", options.out);
    CLI11_PARSE(app, argc, argv);
    if (!options.ptx.empty()) Place::deviceCode = readFile(options.ptx);
    auto gpu = gpu::Gpu::open(options.gpu);
    std::optional<dissect::MapFile> map;
    if (!options.map.empty()) map = dissect::readMapFile(options.map);
    walls::SiteOptions siteOptions;
    siteOptions.coloring = parseColoring(options.coloring);
    siteOptions.memory = Bytes{options.poolMegabytes} << 20;
    siteOptions.rows = options.rows;
    siteOptions.placement = parsePlacement(options.placement);
    siteOptions.map = map ? &*map : nullptr;
    std::optional<Site> site;
    const double surveyed = secondsOf([&] { site.emplace(gpu, siteOptions); });
    fmt::print("{}: {} sides, {} colors, found in {:.2f} s\n\n", gpu.info().name, site->topology().sides(),
               site->colors(), surveyed);
    std::string command = "bulkhead_walls";
    for (int i = 1; i < argc; ++i) command += std::string(" ") + argv[i];
    Bench bench(gpu, *site, options);
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const std::string& measure : options.measures) {
        Result result;
        if (measure == "launch")
            result = bench.launches();
        else if (measure == "bandwidth")
            result = bench.bandwidth();
        else if (measure == "translation")
            result = bench.translation();
        else if (measure == "views")
            result = bench.views();
        else if (measure == "latency")
            result = bench.latency();
        else if (measure == "sample")
            result = bench.sample();
        else if (measure == "workloads")
            result = bench.allWorkloads();
        else
            throw Error("nothing to measure is called {}", measure);
        result.provenance = {command, options.gpu, {}, "", currentDate()};
        fmt::print("{}\n", report::text(result));
        std::fflush(stdout);
        all.push_back(report::json(result));
        if (!options.out.empty()) writeFile(options.out, all.dump(1) + "\n");
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const Error& error) {
        fmt::print(stderr, "bulkhead_walls: {}\n", error.what());
        return 2;
    }
}
