// What the server answers on its socket: to its own page, to strangers, and to nonsense.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "base/files.h"
#include "cli/command.h"
#include "serve/running_server.h"
#include "temporary_directory.h"

namespace bulkhead::serve {
namespace {

using nlohmann::json;

constexpr const char* kResult = R"({"title": "Cycles", "answer": "It took {} cycles.", "columns":
    [{"name": "kernel", "unit": ""}, {"name": "cycles", "unit": ""}], "rows": [{"kernel": "add", "cycles": {}}]})";

std::string resultOf(int cycles) {
    std::string text = kResult;
    for (std::size_t at = 0; (at = text.find("{}")) != std::string::npos;) text.replace(at, 2, std::to_string(cycles));
    return text;
}

/// A question that takes many runs, each a moment.
json manyRuns(const std::string& samples) {
    return {
        {"gpu", "sim:tx2"}, {"victim", "latency"}, {"aggressors", "compute"}, {"samples", samples}, {"accesses", "64"}};
}
const json kLong = manyRuns("300"), kShort = manyRuns("2");

class Serve : public testing::Test {
  protected:
    void SetUp() override {
        std::filesystem::create_directory(outside_ / "results");
        folder_ = outside_ / "results";
        writeFile(outside_ / "secret.json", resultOf(42));
        writeFile(folder_ / "old.json", resultOf(100));
        writeFile(folder_ / "new.json", resultOf(150));
        start();
    }

    void start() { server_ = std::make_unique<RunningServer>(folder_, outside_ / "store"); }

    std::string host() const { return fmt::format("127.0.0.1:{}", server_->port()); }
    std::string behindToken(const std::string& path) const { return "/" + server_->token() + "/" + path; }

    /// Refused, in one line that says why.
    static void expectRefused(const Answer& answer, int status, const std::string& part) {
        EXPECT_EQ(answer.status, status) << answer.head << answer.body;
        EXPECT_NE(answer.body.find(part), std::string::npos) << answer.body;
        EXPECT_EQ(answer.body.find('\n'), std::string::npos) << answer.body;
    }

    /// Whether it comes to be so within so many times 50 ms.
    template <class Condition>
    static bool eventually(int times, Condition condition) {
        for (; times > 0; --times) {
            if (condition()) return true;
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
        return false;
    }

    /// Waits until runs were kept, and so some of the question is done.
    void waitForRuns(std::size_t count) const {
        if (!eventually(600, [&] { return server_->get("runs").json()["count"] >= count; })) FAIL() << "no run is kept";
    }

    /// ... and until the command has said so, which it does a little later.
    void waitForProgress(unsigned id) const {
        if (!eventually(600, [&] { return server_->job(id)["progress"] > 0; })) FAIL() << "there is no progress";
    }

    static bool isGone(pid_t process) {
        return eventually(200, [&] { return ::kill(process, 0) != 0; });
    }

    TemporaryDirectory outside_;
    std::filesystem::path folder_;
    std::unique_ptr<RunningServer> server_;
};

TEST_F(Serve, HasAPageBehindItsToken) {
    const Answer page = server_->get("");
    EXPECT_EQ(page.status, 200);
    EXPECT_TRUE(page.body.starts_with("<!DOCTYPE html>"));
    for (const char* field : {"Cache-Control: no-store", "X-Content-Type-Options: nosniff",
                              "Referrer-Policy: no-referrer", "Content-Security-Policy: default-src 'none'"})
        EXPECT_NE(page.head.find(field), std::string::npos) << page.head;
}

TEST_F(Serve, AnswersNobodyWithoutTheToken) {
    std::string almost = server_->token();
    almost.back() = almost.back() == '0' ? '1' : '0';
    for (const std::string& target :
         {std::string("/"), std::string("/state"), "/" + almost + "/state", "/" + server_->token(),
          "/" + server_->token().substr(1) + "/state", "/" + server_->token() + "0/state", std::string("//state"),
          "/state?token=" + server_->token(), std::string("/%2e%2e/")}) {
        expectRefused(server_->request("GET", target, host()), 403, "token");
        expectRefused(server_->request("POST", target, host(), "Content-Type: application/json\r\n", "{}"), 403,
                      "token");
    }
}

TEST_F(Serve, AnswersNoOtherName) {
    for (const std::string& name : {std::string("example.com"), fmt::format("example.com:{}", server_->port()),
                                    fmt::format("127.0.0.1.example.com:{}", server_->port()), std::string("127.0.0.1"),
                                    std::string("127.0.0.1:1"), std::string()})
        expectRefused(server_->request("GET", behindToken("state"), name), 403, "another name");
}

TEST_F(Serve, AnswersNoOtherPage) {
    const auto from = [&](const std::string& origin) {
        return server_->request("POST", behindToken("ask"), host(),
                                "Content-Type: application/json\r\nOrigin: " + origin + "\r\n",
                                json{{"question", "cause"}, {"values", kShort}}.dump());
    };
    for (const char* origin : {"http://example.com", "null", "https://127.0.0.1", "http://127.0.0.1:1"})
        expectRefused(from(origin), 403, "another page");
    EXPECT_TRUE(server_->state()["jobs"].empty());
    EXPECT_EQ(from("http://" + host()).status, 201);
}

TEST_F(Serve, ListensToThisMachineAlone) {
    // Of an address of its own, /proc/net/tcp has 127.0.0.1 as 0100007F, and any as 00000000.
    const std::string sockets = readFile("/proc/net/tcp");
    EXPECT_NE(sockets.find(fmt::format(" 0100007F:{:04X} 00000000:0000 0A", server_->port())), std::string::npos);
    EXPECT_EQ(sockets.find(fmt::format(" 00000000:{:04X} ", server_->port())), std::string::npos);
}

TEST_F(Serve, KnowsNoOtherPath) {
    for (const char* path : {"nothing", "state/", "../state", "results/old.json", "/etc/passwd"})
        EXPECT_EQ(server_->get(path).status, 404) << path;
    EXPECT_EQ(server_->post("nothing", json::object()).status, 404);
    EXPECT_EQ(server_->request("DELETE", behindToken("state"), host()).status, 405);
}

TEST_F(Serve, LetsNobodyOutOfTheFolder) {
    std::filesystem::create_symlink(outside_ / "secret.json", folder_ / "link.json");
    std::filesystem::create_directory_symlink(outside_.path(), folder_ / "up");
    writeFile(folder_ / "notes.txt", "secret");
    for (const std::string& name :
         {std::string("..%2Fsecret.json"), std::string("../secret.json"), std::string("..%2f..%2f..%2fetc%2fpasswd"),
          (outside_ / "secret.json").string(), std::string("link.json"), std::string("up/secret.json"),
          std::string("notes.txt"), std::string(""), std::string("%00"), std::string("old.json%00.txt"),
          std::string(".")})
        for (const char* page : {"json?file=", "result?file=", "difference?after=old.json&before=", "run?name="}) {
            const Answer answer = server_->get(page + name);
            EXPECT_EQ(answer.status, name.find(' ') == std::string::npos ? 422 : 400) << page << name;
            EXPECT_EQ(answer.body.find("42"), std::string::npos) << answer.body;
        }
    EXPECT_EQ(server_->state()["results"].size(), 2u);  // old and new
}

TEST_F(Serve, RefusesRequestsThatAreTooLong) {
    const auto post = [&](std::size_t bytes) {
        return server_->request("POST", behindToken("ask"), host(), "Content-Type: application/json\r\n",
                                std::string(bytes, ' '));
    };
    EXPECT_EQ(post(60 << 10).status, 422);  // no JSON, but not too long
    EXPECT_EQ(post(1 << 20).status, 413);
    EXPECT_EQ(server_->request("GET", behindToken("state"), host(), "X: " + std::string(100'000, 'x') + "\r\n").status,
              431);
    EXPECT_EQ(server_->get(std::string(100'000, 'x')).status, 431);
    EXPECT_EQ(server_->get("state").status, 200);
}

TEST_F(Serve, SurvivesWhatIsNoRequest) {
    EXPECT_EQ(server_->send("nonsense\r\n\r\n").status, 400);
    EXPECT_EQ(server_->send(std::string("\0\xff\x01\r\n\r\n", 7)).status, 400);
    EXPECT_EQ(server_->send("GET / HTTP/9.9\r\n\r\n").status, 400);
    const auto raw = [&](const std::string& type, const std::string& body) {
        return server_->request("POST", behindToken("ask"), host(), "Content-Type: " + type + "\r\n", body);
    };
    EXPECT_EQ(raw("text/plain", "{}").status, 415);
    EXPECT_EQ(raw("application/x-www-form-urlencoded", "question=cause").status, 415);
    for (const std::string& body : {std::string(), std::string("{"), std::string("[]"), std::string("7"),
                                    std::string(20'000, '['), std::string("{\"question\": 7}"),
                                    std::string("{\"question\": \"cause\", \"values\": []}"), std::string("\xff")})
        EXPECT_EQ(raw("application/json", body).status, 422) << body.substr(0, 40);
    EXPECT_EQ(server_->get("state").status, 200);
}

TEST_F(Serve, RefusesWhatTheCommandLineWould) {
    const auto refused = [&](const std::string& question, const json& values, const std::string& part) {
        for (const char* path : {"command", "ask"})
            expectRefused(server_->post(path, {{"question", question}, {"values", values}}), 422, part);
    };
    refused("everything", json::object(), "there is no question everything");
    refused("cause", {{"json", "/etc/passwd"}}, "no field json");
    refused("cause", {{"samples", "many"}}, "not a whole number");
    refused("cause", {{"samples", "0"}}, "too small");
    refused("cause", {{"samples", 3}}, "must be text");
    refused("cause", {{"victim", "--json"}}, "begins with a dash");
    refused("cause", {{"victim", "a\nb"}}, "cannot be typed");
    refused("cause", {{"victim", std::string(2000, 'x')}}, "longer than");
    refused("see", {{"program", "'./a"}}, "quotation mark");
    refused("design", {{"program", "--json"}}, "begins with a dash");
    EXPECT_TRUE(server_->state()["jobs"].empty());
}

TEST_F(Serve, ShowsTheCommandOfAForm) {
    const auto command = [&](const std::string& question, const json& values) {
        return server_->post("command", {{"question", question}, {"values", values}})
            .json()["command"]
            .get<std::string>();
    };
    const std::string folder = folder_.string(), store = (outside_ / "store").string();
    EXPECT_EQ(command("cause", {{"gpu", "sim:tx2"},
                                {"victim", "./a 'b c'"},
                                {"aggressors", "compute"},
                                {"samples", "3"},
                                {"accesses", ""}}),
              "bulkhead stress --gpu sim:tx2 --victim './a '\\''b c'\\''' --aggressors compute --sharing streams "
              "--samples 3 --store '" +
                  store + "' --json '" + folder + "/cause-tx2-1.json'");
    const std::string program = "./a 'b c' --json", quoted = "'./a '\\''b c'\\'' --json'";
    EXPECT_EQ(command("see", {{"program", "  "}}),
              "bulkhead dissect --gpu sim:gtx1080 --seed 1 --json '" + folder + "/see-gtx1080-1.json'");
    EXPECT_EQ(command("see", {{"program", program}}),
              "bulkhead exec --gpu sim:gtx1080 --observe '" + folder + "/see-gtx1080-1.json' -- " + program);
    EXPECT_EQ(command("wall", {{"program", program}, {"samples", "2"}}),
              "bulkhead stress --aggressors stream-read-write --sharing mps --separate l2,ports,banks,bus --gpu "
              "sim:gtx1080 --samples 2 --victim " +
                  quoted + " --json '" + folder + "/wall-gtx1080-1.json'");
    EXPECT_EQ(command("design", {{"program", program}}),
              "bulkhead compare --gpu sim:gtx480 --schedulers gto,ciao-c --program " + quoted + " --json '" + folder +
                  "/design-gtx480-1.json'");
    // Samples of a real GPU are taken one by one, and not kept.
    EXPECT_EQ(command("cause", kShort).find("cuda"), std::string::npos);
    EXPECT_EQ(command("cause", {{"gpu", "cuda:0"}}).find("--store"), std::string::npos);
}

TEST_F(Serve, OpensAndComparesResults) {
    const json results = server_->state()["results"];
    ASSERT_EQ(results.size(), 2u);
    for (const json& result : results) EXPECT_EQ(result["title"], "Cycles");
    const Answer page = server_->get("result?file=old.json");
    EXPECT_EQ(page.status, 200);
    EXPECT_NE(page.body.find("It took 100 cycles."), std::string::npos);
    const Answer difference = server_->get("difference?before=old.json&after=new.json");
    EXPECT_EQ(difference.status, 200);
    EXPECT_NE(difference.body.find("150"), std::string::npos);
    EXPECT_NE(difference.body.find("50"), std::string::npos);  // percent more
    EXPECT_EQ(server_->get("json?file=old.json").body, resultOf(100));
    expectRefused(server_->get("difference?before=old.json"), 422, "after is missing");
}

TEST_F(Serve, SeesFilesThatComeAndGo) {
    std::filesystem::create_directory(folder_ / "below");
    writeFile(folder_ / "below" / "more.json", resultOf(7));
    writeFile(folder_ / "other.json", R"({"schema": "bulkhead.plan/1"})");
    writeFile(folder_ / "broken.json", "{");
    EXPECT_EQ(server_->state()["results"].size(), 3u);
    EXPECT_EQ(server_->get("json?file=below%2Fmore.json").status, 200);
    std::filesystem::remove(folder_ / "old.json");
    EXPECT_EQ(server_->state()["results"].size(), 2u);
}

TEST_F(Serve, AnswersAQuestion) {
    const unsigned id = server_->ask("cause", kShort);
    const json job = server_->waitFor(id, "done");
    EXPECT_EQ(job["file"], "cause-tx2-1.json");
    EXPECT_EQ(job["progress"], 1);
    const json result = json::parse(readFile(folder_ / "cause-tx2-1.json"));
    EXPECT_EQ(result["results"][0]["provenance"]["command"], job["command"]);
    EXPECT_EQ(server_->state()["results"].size(), 3u);
    // A second answer does not replace the first.
    EXPECT_EQ(server_->job(server_->ask("cause", kShort))["file"], "cause-tx2-2.json");
}

TEST_F(Serve, TellsWhyAQuestionFailed) {
    const json job = server_->waitFor(server_->ask("cause", {{"gpu", "sim:gtx9999"}}), "failed");
    EXPECT_NE(job["why"].get<std::string>().find("gtx9999"), std::string::npos) << job["why"];
    EXPECT_FALSE(std::filesystem::exists(folder_ / job["file"]));
}

TEST_F(Serve, RunsNoShell) {
    const std::string trap = (outside_ / "trap").string();
    for (const std::string& word :
         {"sim:tx2;touch '" + trap + "'", "$(touch '" + trap + "')", "`touch '" + trap + "'`"})
        server_->waitFor(server_->ask("cause", {{"gpu", word}}), "failed");
    EXPECT_FALSE(std::filesystem::exists(trap));
}

TEST_F(Serve, CancelsAndResumesWithWhatIsKept) {
    const unsigned id = server_->ask("cause", manyRuns("24"));
    waitForRuns(5);
    EXPECT_EQ(server_->post("cancel", {{"id", id}}).status, 200);
    server_->waitFor(id, "canceled");
    EXPECT_TRUE(server_->children().empty());
    const std::size_t kept = server_->get("runs").json()["count"];
    EXPECT_LT(kept, 24u);
    // What was measured until then is there.
    const json part = json::parse(readFile(folder_ / "cause-tx2-1.json"));
    EXPECT_EQ(server_->post("cancel", {{"id", id}}).status, 422);
    EXPECT_EQ(server_->post("resume", {{"id", id}}).status, 200);
    server_->waitFor(id, "done");
    EXPECT_EQ(server_->get("runs").json()["count"], 24);
    EXPECT_EQ(server_->post("resume", {{"id", id}}).status, 422);
    // All samples, those of before among them.
    const json all = json::parse(readFile(folder_ / "cause-tx2-1.json"));
    const auto samples = [](const json& file) {
        for (const json& result : file["results"])
            if (result["title"].get<std::string>().starts_with("Samples")) return result["rows"].size();
        return std::size_t{0};
    };
    EXPECT_EQ(samples(all), 24u);
    EXPECT_GE(samples(part), 5u);
    EXPECT_LT(samples(part), 24u);
}

// The signal may come before its process is the command.
TEST_F(Serve, LivesOnWhenAQuestionIsCanceledAtOnce) {
    for (int i = 0; i < 10; ++i) {
        const unsigned id = server_->ask("cause", kLong);
        EXPECT_EQ(server_->post("cancel", {{"id", id}}).status, 200);
        server_->waitFor(id, "canceled");
    }
}

TEST_F(Serve, RunsOneSimulationAfterTheOther) {
    const unsigned first = server_->ask("cause", kLong), second = server_->ask("cause", kShort);
    waitForRuns(1);
    EXPECT_EQ(server_->job(first)["state"], "running");
    EXPECT_EQ(server_->job(second)["state"], "waiting");
    waitForProgress(first);
    EXPECT_NE(server_->job(first)["doing"].get<std::string>().find("of 300 runs"), std::string::npos);
    server_->post("cancel", {{"id", first}});
    server_->waitFor(second, "done");
    EXPECT_EQ(server_->job(first)["state"], "canceled");
    EXPECT_EQ(server_->post("cancel", {{"id", 77}}).status, 422);
    EXPECT_EQ(server_->post("cancel", {{"id", -1}}).status, 422);
}

TEST_F(Serve, EndsItsCommandsWhenItIsInterrupted) {
    server_->ask("cause", kLong);
    waitForRuns(1);
    const std::vector<pid_t> children = server_->children();
    ASSERT_EQ(children.size(), 1u);
    EXPECT_EQ(server_->end(SIGINT), 0);
    EXPECT_TRUE(isGone(children.front()));
}

TEST_F(Serve, TakesItsCommandsAlongWhenItIsKilled) {
    server_->ask("cause", kLong);
    waitForRuns(1);
    const std::vector<pid_t> children = server_->children();
    ASSERT_EQ(children.size(), 1u);
    server_->end(SIGKILL);
    EXPECT_TRUE(isGone(children.front()));
}

TEST_F(Serve, RemembersWhatWasAskedBefore) {
    const unsigned done = server_->ask("cause", kShort);
    server_->waitFor(done, "done");
    const unsigned stopped = server_->ask("cause", manyRuns("16"));
    waitForRuns(4);
    server_->end(SIGINT);
    start();
    EXPECT_EQ(server_->job(done)["state"], "done");
    EXPECT_EQ(server_->job(stopped)["state"], "canceled");
    EXPECT_EQ(server_->post("resume", {{"id", stopped}}).status, 200);
    server_->waitFor(stopped, "done");
    EXPECT_GT(server_->ask("cause", kShort), stopped);
}

TEST_F(Serve, LetsOneServerAskForAFolder) {
    server_->ask("cause", kShort);
    const RunningServer other(folder_, outside_ / "store");
    EXPECT_EQ(other.get("result?file=old.json").status, 200);
    expectRefused(other.post("ask", {{"question", "cause"}, {"values", kShort}}), 422, "another bulkhead serve");
}

TEST_F(Serve, LeavesNothingInAFolderThatIsOnlyRead) {
    server_->get("");
    server_->get("result?file=old.json");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 2);
}

TEST_F(Serve, ShowsKeptRuns) {
    server_->waitFor(server_->ask("cause", kShort), "done");
    const json runs = server_->get("runs").json();
    ASSERT_EQ(runs["count"], 2);
    const std::string name = runs["runs"][0]["name"];
    const Answer page = server_->get("run?name=" + name);
    EXPECT_EQ(page.status, 200);
    EXPECT_NE(page.body.find("aggressor"), std::string::npos);
    writeFile(outside_ / "store" / name, "damaged");
    expectRefused(server_->get("run?name=" + name), 422, "is damaged");
}

TEST_F(Serve, TellsWhoIsInWhichPartition) {
    ::setenv("BULKHEAD_LEASES", (outside_ / "leases").c_str(), 1);
    start();
    ::unsetenv("BULKHEAD_LEASES");
    const Answer answer = server_->get("partitions?gpu=sim:gtx1080");
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.json()["title"], "Programs in the partitions of sim:gtx1080");
    EXPECT_TRUE(answer.json()["rows"].empty());
    expectRefused(server_->get("partitions?gpu=sim:gtx9999"), 422, "gtx9999");
    expectRefused(server_->get("partitions?gpu=--help"), 422, "is no GPU");
}

TEST_F(Serve, SaysWhatGoesOnWhereItWasAndWhatBeginsAnew) {
    const auto resumes = [&](const std::string& question, const json& values) {
        const unsigned id = server_->ask(question, values);
        const bool said = server_->job(id)["resumes"];
        server_->post("cancel", {{"id", id}});
        server_->waitFor(id, "canceled");
        return said;
    };
    EXPECT_TRUE(resumes("cause", kLong));
    EXPECT_FALSE(resumes("see", {{"gpu", "sim:h200"}}));
}

TEST_F(Serve, StreamsEveryChange) {
    std::string heard;
    std::thread browser([&] { heard = server_->get("events").body; });
    server_->waitFor(server_->ask("cause", kShort), "done");
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    EXPECT_EQ(server_->end(SIGINT), 0);
    browser.join();
    EXPECT_TRUE(heard.starts_with("data: {")) << heard.substr(0, 80);
    std::vector<std::string> states;
    for (std::size_t at = 0; (at = heard.find("data: ", at)) != std::string::npos; at += 6)
        states.push_back(heard.substr(at + 6, heard.find("\n\n", at) - at - 6));
    const auto underWay = [](const std::string& state) {
        return state.find("\"state\":\"running\"") != std::string::npos;
    };
    EXPECT_TRUE(std::any_of(states.begin(), states.end(), underWay));
    EXPECT_EQ(json::parse(states.back())["jobs"][0]["state"], "done");
    EXPECT_EQ(json::parse(states.back())["results"].size(), 3u);
}

TEST_F(Serve, RefusesAPortThatIsTaken) {
    cli::expectRefused({"serve", folder_.string(), "--port", std::to_string(server_->port())},
                       fmt::format("port {}: ", server_->port()));
    cli::expectRefused({"serve", (outside_ / "none").string()}, "there is no such folder");
    cli::expectRefused({"serve", (folder_ / "old.json").string()}, "there is no such folder");
    cli::expectRefused({"serve", "--port", "65536"}, "65536 is too large");
}

TEST_F(Serve, RefusesADamagedRecordOfQuestions) {
    const auto refused = [&](const std::string& text) {
        writeFile(folder_ / ".bulkhead-serve.json", text);
        cli::expectRefused({"serve", folder_.string()}, ".bulkhead-serve.json");
    };
    refused("{");
    refused(R"({"questions": [{"id": 1}]})");
    refused(R"({"questions": [{"id": 1, "form": {"question": "cause"}, "file": "../x.json", "state": "done",
                "asked": "", "ended": "", "why": ""}]})");
}

}  // namespace
}  // namespace bulkhead::serve
