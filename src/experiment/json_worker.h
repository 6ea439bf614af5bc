#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "experiment/child_process.h"

// A process that does what another one asks: requests and answers are JSON objects, one a line.

namespace bulkhead::experiment {

/// The one that asks. The process is this program again, with the words of one of its hidden verbs.
class JsonWorker {
  public:
    /// `name`: who it is, in errors.
    JsonWorker(const std::vector<std::string>& verb, const ChildProcess::Environment&, std::string name);

    /// As ChildProcess::whileWaiting.
    void whileWaiting(std::function<void()> check) { process_.whileWaiting(std::move(check)); }
    /// As ChildProcess::signal.
    void signal(int number) { process_.signal(number); }
    /// What it answers. Throws Error with its words if it could not, and if it says nothing for that long.
    nlohmann::json ask(const nlohmann::json& request, double limitSeconds);

  private:
    ChildProcess process_;
    std::string name_;
};

/// The one that is asked: reads requests from standard input until that ends, and answers on standard output. Whatever
/// `answer` throws is the answer. Returns an exit code.
int serveJson(const std::function<nlohmann::json(JsonObject request)>& answer);

}  // namespace bulkhead::experiment
