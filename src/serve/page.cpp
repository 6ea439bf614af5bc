#include "serve/page.h"

#include <fmt/format.h>

#include "base/json.h"
#include "report/palette.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings"
#include "serve_css.h"
#include "serve_js.h"
#pragma GCC diagnostic pop

namespace bulkhead::serve {
namespace {

constexpr const char* kBody = R"html(<body>
<a class="skip" href="#ask">Skip to the questions</a>
<header>
<p class="mark">Bulkhead</p>
<button type="button" id="theme" hidden>Dark</button>
<h1>Questions and results</h1>
<p class="lede" id="place"></p>
<p class="lost" id="lost" role="alert" hidden>The server does not answer. Was it ended?</p>
</header>
<main>
<section id="ask" aria-labelledby="ask-title">
<h2 id="ask-title">Ask</h2>
<form id="form" autocomplete="off">
<fieldset class="questions"><legend class="unseen">Question</legend></fieldset>
<p id="what" class="answer"></p>
<div class="fields"></div>
<p class="label" id="command-label">It runs</p>
<div class="command"><code id="command"></code><button type="button" class="copy" aria-label="Copy the command">Copy</button></div>
<p id="refusal" class="refusal" role="alert"></p>
<p><button type="submit" class="main">Ask</button></p>
</form>
</section>
<section aria-labelledby="asked-title">
<h2 id="asked-title">Asked</h2>
<p class="note" id="nothing-asked">Nothing yet.</p>
<ol id="jobs" class="jobs"></ol>
</section>
<section aria-labelledby="results-title">
<h2 id="results-title">Results</h2>
<p class="note" id="no-results">No file of results in this folder yet.</p>
<div id="results" hidden>
<div class="tools"><label class="filter"><span>Filter</span><input type="search" id="filter"><span class="note" id="filtered"></span></label>
<button type="button" class="main" id="compare" disabled>Compare two</button></div>
<p class="note" id="chosen">Choose two to see what changed, the older one first.</p>
<div class="table" role="group" tabindex="0" aria-labelledby="results-title"><table>
<thead><tr><th scope="col">compare</th><th scope="col">result</th><th scope="col">GPU</th><th scope="col">date</th></tr></thead>
<tbody id="files"></tbody></table></div>
</div>
</section>
<section aria-labelledby="partitions-title">
<h2 id="partitions-title">Partitions</h2>
<form id="partitions" class="line" autocomplete="off"><label>GPU <input name="gpu" list="gpus" value="sim:gtx1080" required></label>
<button type="submit" class="main">Who is where?</button></form>
<p id="partitions-said" class="refusal" role="status"></p>
<div class="table" role="group" tabindex="0" aria-labelledby="partitions-title" id="tenants" hidden></div>
</section>
<section aria-labelledby="runs-title">
<h2 id="runs-title">Kept runs</h2>
<p class="note" id="runs-said"></p>
<details id="runs"><summary>Show them</summary><ul class="runs"></ul></details>
</section>
</main>
<datalist id="gpus"></datalist>
<div id="live" class="unseen" role="status" aria-live="polite"></div>
)html";

/// JSON that cannot end the script element that it stands in.
std::string inScript(const nlohmann::ordered_json& json) {
    std::string out;
    for (const char c : jsonText(json)) c == '<' ? out += "\\u003c" : out += c;
    return out;
}

}  // namespace

std::string page(const nlohmann::ordered_json& setup) {
    const std::string dark = fmt::format("--page:{};", report::kDarkPage);
    return fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n<title>Bulkhead</title>\n<link rel=\"icon\" "
        "href=\"data:,\">\n"
        "<style>\n:root{{--page:{};}}\n@media (prefers-color-scheme: dark){{:root:not([data-theme=light]){{{}}}}}\n"
        ":root[data-theme=dark]{{{}}}\n{}</style>\n</head>\n{}<script type=\"application/json\" "
        "id=\"setup\">{}</script>\n"
        "<script>\n{}</script>\n</body>\n</html>\n",
        report::kLightPage, dark, dark, kServeCss, kBody, inScript(setup), kServeJs);
}

}  // namespace bulkhead::serve
