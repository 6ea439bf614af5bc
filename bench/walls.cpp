// What walls cost and what they keep out, on a GPU of two L2 sides or of many slices: launches, memory-bound kernels,
// and a latency-bound victim beside tenants that stream.
//   bulkhead_walls --gpu cuda:0 --coloring sides|slices [--map FILE] --measure
//   launch,bandwidth,latency,sample,workloads

#include "walls/walls.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "dissect/map_file.h"
#include "report/report.h"
#include "walls_bench.ptx.h"
#include "workloads/workload.h"

namespace {

using namespace bulkhead;
using walls::Coloring;
using walls::Enclosure;
using walls::Site;
using walls::SmSet;

struct Options {
    std::string gpu = "cuda:0", coloring = "sides", map, out;
    std::vector<std::string> measures = {"launch", "bandwidth", "latency", "sample"};
    std::string size = "default";
    std::size_t poolMegabytes = 4096, megabytes = 128;
    unsigned tenants = 2, repeats = 21;
    double rows = 1.25;
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
        : context_(std::move(context)), stream_(context_.createStream()), module_(context_.load(kWallsBenchPtx)) {}

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

/// Equal tenants of a site: those of one side share its multiprocessors and colors.
struct Split {
    SmSet sms;
    std::vector<unsigned> colors;
};
std::vector<Split> splitSite(const Site& site, unsigned tenants) {
    const walls::Topology& topology = site.topology();
    std::vector<Split> split(tenants, Split{SmSet(topology.multiprocessors(), false), {}});
    const unsigned sides = topology.sides();
    // Tenant t is on side t mod sides, and there the (t / sides)-th.
    const auto placeOf = [&](unsigned side, std::size_t index, std::size_t count) {
        const std::size_t there = (tenants + sides - 1 - side) / sides;
        return side + sides * std::min(there - 1, index * there / count);
    };
    for (unsigned side = 0; side < sides; ++side) {
        std::vector<unsigned> sms, colors;
        for (unsigned sm = 0; sm < topology.multiprocessors(); ++sm)
            if (topology.sideOf[sm] == side) sms.push_back(sm);
        for (unsigned color = 0; color < site.colors(); ++color)
            if (site.sideOf(color) == side) colors.push_back(color);
        for (std::size_t i = 0; i < sms.size(); ++i) split[placeOf(side, i, sms.size())].sms[sms[i]] = true;
        for (std::size_t i = 0; i < colors.size(); ++i)
            split[placeOf(side, i, colors.size())].colors.push_back(colors[i]);
    }
    return split;
}

/// A memory-bound kernel over arrays of a tenant.
class Streaming {
  public:
    Streaming(Place& place, const std::string& name, std::size_t megabytes)
        : place_(place),
          name_(name),
          kernel_(place.kernel(name.c_str())),
          count_(static_cast<unsigned>(megabytes << 18)) {
        for (int i = 0; i < (name == "vectorAdd" ? 3 : 2); ++i) {
            arrays_.push_back(place.context().array<float>(count_));
            arrays_.back().buffer().fill(0);
        }
    }
    void launch() {
        if (name_ == "vectorAdd") {
            kernel_.launch(place_.stream(), {count_ / 256}, {256}, 0, arrays_[0], arrays_[1], arrays_[2], count_);
        } else if (name_ == "saxpy") {
            kernel_.launch(place_.stream(), {count_ / 256}, {256}, 0, arrays_[0], arrays_[1], 2.0f, count_);
        } else {
            constexpr unsigned kWidth = 4096;
            const unsigned height = count_ / kWidth;
            kernel_.launch(place_.stream(), {kWidth / 64, height / 4}, {64, 4}, 0, arrays_[0], arrays_[1], kWidth,
                           height);
        }
    }
    /// That DRAM has to move at least.
    double bytes() const { return 4.0 * count_ * (name_ == "stencil" ? 2 : 3); }

  private:
    Place& place_;
    std::string name_;
    gpu::Kernel kernel_;
    unsigned count_;
    std::vector<gpu::Array<float>> arrays_;
};

class Bench {
  public:
    Bench(gpu::Gpu& gpu, Site& site, const Options& options)
        : gpu_(gpu), site_(site), options_(options), split_(splitSite(site, options.tenants)) {}

    Result launches() {
        Result result;
        result.title = "Launches of an empty kernel, inside compute walls and plain";
        result.columns = {{"blocks", ""},
                          {"plain, one after the other", "us"},
                          {"walled, one after the other", "us"},
                          {"plain, waited for", "us"},
                          {"walled, waited for", "us"}};
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

    /// All tenants at once against the whole GPU without walls, and one tenant against its multiprocessors alone.
    Result bandwidth() {
        Result result;
        result.title = "Memory-bound kernels: GB/s of one tenant and of all together";
        result.columns = {{"kernel", ""},
                          {"one, compute walls", "GB/s"},
                          {"one, compute and memory walls", "GB/s"},
                          {"whole GPU, no walls", "GB/s"},
                          {"all, compute walls", "GB/s"},
                          {"all, compute and memory walls", "GB/s"},
                          {"all, share of the whole GPU", ""}};
        for (const char* name : {"vectorAdd", "saxpy", "stencil"}) {
            Place whole(gpu_.context());
            double wholeRate = 0;
            {
                Streaming work(whole, name, options_.megabytes);
                wholeRate = work.bytes() / whole.time(repeats(), [&] { work.launch(); }) * 1e-9;
            }
            const auto [oneCompute, allCompute] = tenantsTogether(name, false);
            const auto [oneBoth, allBoth] = tenantsTogether(name, true);
            result.add({std::string(name), oneCompute, oneBoth, wholeRate, allCompute, allBoth, allBoth / wholeRate});
        }
        return result;
    }

    Result latency() {
        Result result;
        result.title = "A latency-bound victim beside tenants that stream";
        result.columns = {{"walls", ""},
                          {"aggressors", ""},
                          {"victim", "ns per access"},
                          {"slower", "%"},
                          {"aggressors' rate", "GB/s"}};
        for (const bool memory : {false, true}) {
            double alone = 0;
            for (const char* kind : {"none", "read", "write"}) {
                const auto [ns, rate] = victimBeside(memory, kind);
                if (alone == 0) alone = ns;
                result.add({std::string(memory ? "compute and memory" : "compute"), std::string(kind), ns,
                            100 * (ns / alone - 1), rate});
            }
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
    unsigned repeats() const { return gpu_.simulator() ? 1 : options_.repeats; }
    Bytes share(std::size_t tenant) const { return site_.memoryOf(split_[tenant].colors); }
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
        const double one = work[0]->bytes() / places[0]->time(repeats(), [&] { work[0]->launch(); }) * 1e-9;
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

    /// Nanoseconds per access of the first tenant, while the others stream; and their rate.
    std::pair<double, double> victimBeside(bool memory, const std::string& kind) {
        const bool simulated = gpu_.simulator() != nullptr;
        std::vector<Enclosure> enclosures = encloseAll(memory);
        std::vector<std::unique_ptr<Place>> places;
        for (Enclosure& enclosure : enclosures) places.push_back(std::make_unique<Place>(enclosure.context()));
        constexpr unsigned kLineWords = 16;
        const unsigned lines = simulated ? 1024 : 65536;  // 8 MB: in L2 by far, beyond L1
        const unsigned steps = simulated ? 2048 : 1u << 16;
        auto ring = places[0]->context().array<std::uint64_t>(std::size_t{lines} * kLineWords);
        auto end = places[0]->context().array<std::uint64_t>(1);
        places[0]
            ->kernel("makeRing")
            .launch(places[0]->stream(), {64}, {256}, 0, ring, lines, 4 * 1237u + 1, kLineWords);
        gpu::Kernel chase = places[0]->kernel("chase");
        const auto victim = [&] { chase.launch(places[0]->stream(), {1}, {1}, 0, ring.address(), steps, end); };
        places[0]->time(1, victim);  // into L2
        std::vector<gpu::Array<std::uint64_t>> data, passes;
        const std::uint64_t nanoseconds = simulated ? 200'000 : 500'000'000;
        if (kind != "none")
            for (std::size_t t = 1; t < places.size(); ++t) {
                const std::size_t words = (simulated ? 1_MiB : 512_MiB) / 8;
                data.push_back(places[t]->context().array<std::uint64_t>(words));
                data.back().buffer().fill(0);
                passes.push_back(places[t]->context().array(std::vector<std::uint64_t>(1, 0)));
            }
        if (kind != "none")
            for (std::size_t t = 1; t < places.size(); ++t) {
                gpu::Kernel stream = places[t]->kernel("streamFor");
                const auto blocks = static_cast<unsigned>(stream.blocksPerMultiprocessor(512) *
                                                          std::count(split_[t].sms.begin(), split_[t].sms.end(), true));
                stream.launch(places[t]->stream(), {blocks}, {512}, 0, data[t - 1],
                              std::uint64_t{data[t - 1].size() / 2}, nanoseconds, kind == "write" ? 1u : 0u,
                              passes[t - 1]);
            }
        const double seconds = places[0]->time(simulated ? 1 : 3, victim);
        for (std::size_t t = 1; t < places.size() && kind != "none"; ++t) {
            places[t]->context().makeCurrent();
            if (places[t]->context().api().cuStreamQuery(places[t]->stream().handle()) == driver::CUDA_SUCCESS)
                throw Error("an aggressor ended before its victim");
        }
        double moved = 0;
        for (std::size_t t = 1; t < places.size(); ++t) {
            places[t]->stream().synchronize();
            // One thread of each block counts its vectors of 16 bytes.
            if (kind != "none")
                moved += 16.0 * 512 * static_cast<double>(passes[t - 1].download()[0]) * (kind == "write" ? 2 : 1);
        }
        return {seconds / steps * 1e9, moved / static_cast<double>(nanoseconds)};
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

int run(int argc, char** argv) {
    Options options;
    CLI::App app("What walls cost and what they keep out");
    app.add_option("--gpu", options.gpu);
    app.add_option("--coloring", options.coloring, "sides, slices or pages");
    app.add_option("--map", options.map, "of dissect, for slices");
    app.add_option("--measure", options.measures, "launch, bandwidth, latency, sample, workloads")->delimiter(',');
    app.add_option("--tenants", options.tenants);
    app.add_option("--pool", options.poolMegabytes, "MB that colors share");
    app.add_option("--megabytes", options.megabytes, "of an array of memory-bound kernels");
    app.add_option("--rows", options.rows, "physical blocks of a launch for each that the GPU has room for");
    app.add_option("--repeats", options.repeats);
    app.add_option("--size", options.size, "of workloads");
    app.add_option("--json", options.out);
    CLI11_PARSE(app, argc, argv);
    auto gpu = gpu::Gpu::open(options.gpu);
    std::optional<dissect::MapFile> map;
    if (!options.map.empty()) map = dissect::readMapFile(options.map);
    walls::SiteOptions siteOptions;
    siteOptions.coloring = parseColoring(options.coloring);
    siteOptions.memory = Bytes{options.poolMegabytes} << 20;
    siteOptions.rows = options.rows;
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
