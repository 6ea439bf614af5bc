#include "experiment/json_worker.h"

#include <iostream>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace bulkhead::experiment {
namespace {

using nlohmann::json;

std::vector<std::string> thisProgramWith(const std::vector<std::string>& verb) {
    std::vector<std::string> words = {"/proc/self/exe"};
    words.insert(words.end(), verb.begin(), verb.end());
    return words;
}

}  // namespace

JsonWorker::JsonWorker(const std::vector<std::string>& verb, const ChildProcess::Environment& environment,
                       std::string name)
    : process_(thisProgramWith(verb), environment), name_(std::move(name)) {}

json JsonWorker::ask(const json& request, double limitSeconds) {
    process_.writeLine(jsonText(request));
    json answer = parseJson(process_.readLine(limitSeconds), name_);
    JsonObject said(answer, name_);
    if (!said.get<bool>("ok")) throw Error("{}", said.get<std::string>("why"));
    return answer;
}

int serveJson(const std::function<json(JsonObject request)>& answer) {
    for (std::string line; std::getline(std::cin, line);) {
        json said;
        try {
            const json request = parseJson(line, "request");
            said = answer(JsonObject(request, "request"));
            said["ok"] = true;
        } catch (const std::exception& e) {
            said = {{"ok", false}, {"why", e.what()}};
        }
        std::cout << jsonText(said) << std::endl;
    }
    return 0;
}

}  // namespace bulkhead::experiment
