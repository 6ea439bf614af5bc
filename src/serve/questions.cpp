#include "serve/questions.h"

#include <algorithm>

#include "base/error.h"
#include "base/json.h"
#include "base/shell_words.h"

namespace bulkhead::serve {
namespace {

constexpr std::size_t kLongest = 1000;
constexpr const char* kProgram = "program";
constexpr Field kSize = {"size", "--size", "Size of the input", "test", "test, default or paper"};

constexpr Field programField(const char* hint) {
    return {kProgram, "", "Program", "", hint};
}

/// Throws Error if this could not stand behind an option.
void expectValue(const Field& field, const std::string& value) {
    if (value.size() > kLongest) throw Error("{}: is longer than {} characters", field.label, kLongest);
    if (std::any_of(value.begin(), value.end(), [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 127; }))
        throw Error("{}: has a character that cannot be typed", field.label);
    if (value.starts_with('-')) throw Error("{}: begins with a dash", field.label);
}

const Field& findField(const Question& question, std::string_view name) {
    for (const Field& field : question.fields)
        if (field.name == name) return field;
    throw Error("{}: there is no field {}", question.title, name);
}

/// As it was filled in, where the form asks for a program and has one.
std::optional<std::string> programOf(const Form& form) {
    if (!findQuestion(form.question).ofProgram) return std::nullopt;
    const std::string words = form.valueOf(kProgram);
    if (shellWords(words, "Program").empty()) return std::nullopt;
    return words;
}

}  // namespace

const std::vector<Question>& questions() {
    static const std::vector<Question> all = {
        {"see",
         "See it",
         "How does a GPU spread addresses over its caches and memory, or what slows a program down by itself?",
         {"dissect"},
         {{"gpu", "--gpu", "GPU", "sim:gtx1080", "sim:NAME, sim:FILE.json or cuda:N"},
          {"seed", "--seed", "Seed", "1", "of the addresses tried"},
          programField("empty: the GPU itself; or ./program and its arguments, on a simulated GPU")},
         "--json",
         Keeps::none,
         OfProgram{{"exec"}, {"gpu"}, "", "--observe"}},
        {"cause",
         "Cause it",
         "How slow does a kernel or a program get beside others?",
         {"stress"},
         {{"gpu", "--gpu", "GPU", "sim:tx2", "sim:NAME, sim:FILE.json or cuda:N"},
          {"victim", "--victim", "Victim", "random",
           "random, sequential, latency, bandwidth, a workload, or a program: ./program arguments"},
          {"aggressors", "--aggressors", "Aggressors", "compute,evict-random", "names with commas between, or all"},
          {"sharing", "--sharing", "Way of sharing", "streams", "streams, mps, time-sliced and others, or all"},
          {"samples", "--samples", "Samples", "2", "of each pair"},
          {"accesses", "--accesses", "Memory accesses", "4096", "of a run of the victim; empty: as usual"}},
         "--json",
         Keeps::repeatable},
        {"wall",
         "Wall it off",
         "How much do neighbors slow down an application through walls?",
         {"isolate", "evaluate"},
         {{"gpu", "--gpu", "GPU", "sim:gtx1080", "sim:NAME, sim:FILE.json or cuda:N"},
          {"applications", "--applications", "Applications", "SP,VA", "workloads, latency, stream"},
          {"neighbours", "--neighbours", "Neighbors", "VA", "one after the other"},
          {"methods", "--methods", "Walls", "cp,cmp", "cp: own SMs; cmp: own L2 and DRAM as well; none, mps, green"},
          kSize,
          {"samples", "--samples", "Samples", "", "of each runtime; empty: 1 simulated, 20 real"},
          programField("./program and its arguments, instead of applications; beside a stream that has L2 and DRAM of "
                       "its own, as walls at best would give it")},
         "--json",
         Keeps::all,
         OfProgram{
             {"stress", "--aggressors", "stream-read-write", "--sharing", "mps", "--separate", "l2,ports,banks,bus"},
             {"gpu", "samples"},
             "--victim",
             "--json"}},
        {"design",
         "Design it away",
         "Which warp scheduler and on-chip memory would avoid it?",
         {"compare"},
         {{"gpu", "--gpu", "GPU", "sim:gtx480", "sim:NAME or sim:FILE.json"},
          {"workloads", "--workloads", "Workloads", "ATAX", "names, or classes LWS, SWS and CI"},
          {"schedulers", "--schedulers", "Warp schedulers", "gto,ciao-c", "the first is the baseline"},
          kSize,
          {"limit", "--limit", "Limit", "0", "of warp instructions of each run; 0: none"},
          programField("./program and its arguments, instead of workloads")},
         "--json",
         Keeps::all,
         OfProgram{{"compare"}, {"gpu", "schedulers"}, "--program", "--json"}},
    };
    return all;
}

const Question& findQuestion(std::string_view name) {
    for (const Question& question : questions())
        if (question.name == name) return question;
    throw Error("there is no question {}", name);
}

Form Form::fromJson(const nlohmann::json& json) {
    JsonObject object(json, "form");
    Form form{object.get<std::string>("question"), {}};
    const Question& question = findQuestion(form.question);
    if (const nlohmann::json* values = object.find("values")) {
        if (!values->is_object()) throw Error("form: values must be an object");
        for (const auto& [name, value] : values->items()) {
            const Field& field = findField(question, name);
            form.values[name] = jsonAs<std::string>(value, field.label);
            expectValue(field, form.values[name]);
        }
    }
    object.finish();
    return form;
}

nlohmann::ordered_json Form::toJson() const {
    return {{"question", question}, {"values", values}};
}

std::string Form::valueOf(std::string_view name) const {
    const auto found = values.find(std::string(name));
    return found != values.end() ? found->second : findField(findQuestion(question), name).value;
}

bool keepsRuns(const Form& form, bool repeatable) {
    const Question& question = findQuestion(form.question);
    if (programOf(form)) return false;
    return question.keeps == Keeps::all || (question.keeps == Keeps::repeatable && repeatable);
}

std::vector<std::string> wordsOf(const Form& form, const Outputs& outputs) {
    const Question& question = findQuestion(form.question);
    const std::optional<std::string> program = programOf(form);
    const OfProgram* own = program ? &*question.ofProgram : nullptr;
    std::vector<std::string> words = own ? own->words : question.verb;
    for (const Field& field : question.fields) {
        const std::string value = form.valueOf(field.name);
        const bool taken = !own || std::count(own->fields.begin(), own->fields.end(), field.name) > 0;
        if (*field.option != '\0' && taken && !value.empty()) words.insert(words.end(), {field.option, value});
    }
    if (own && *own->option != '\0') words.insert(words.end(), {own->option, *program});
    if (keepsRuns(form, outputs.repeatable) && !outputs.store.empty())
        words.insert(words.end(), {"--store", outputs.store});
    words.insert(words.end(), {own ? own->output : question.output, outputs.file});
    if (!own || *own->option != '\0') return words;
    words.emplace_back("--");
    for (std::string& word : shellWords(*program, "Program")) words.push_back(std::move(word));
    return words;
}

std::string commandText(const std::vector<std::string>& words) {
    std::string text = "bulkhead";
    for (const std::string& word : words) text += ' ' + shellWord(word);
    return text;
}

nlohmann::ordered_json questionsJson() {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const Question& question : questions()) {
        nlohmann::ordered_json fields = nlohmann::ordered_json::array();
        for (const Field& f : question.fields)
            fields.push_back({{"name", f.name}, {"label", f.label}, {"value", f.value}, {"hint", f.hint}});
        all.push_back(
            {{"name", question.name}, {"title", question.title}, {"what", question.what}, {"fields", fields}});
    }
    return all;
}

}  // namespace bulkhead::serve
