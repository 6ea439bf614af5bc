import { save, slug } from "./files.js";

const kPerfetto = "https://ui.perfetto.dev";
const kPatience = 30000; // milliseconds that Perfetto may take to load

/** Opens Perfetto in another tab and hands it the trace once it answers. */
function openIn(perfetto, name, text, say) {
  const asking = setInterval(() => perfetto.postMessage("PING", kPerfetto), 100);
  const end = () => {
    clearInterval(asking);
    clearTimeout(waiting);
    window.removeEventListener("message", onAnswer);
  };
  const onAnswer = ({ origin, data }) => {
    if (origin !== kPerfetto || data !== "PONG") return;
    end();
    const buffer = new TextEncoder().encode(text).buffer;
    perfetto.postMessage({ perfetto: { buffer, title: name, fileName: `${slug(name)}.trace.json` } }, kPerfetto);
    say("Perfetto has the trace");
  };
  const waiting = setTimeout(() => {
    end();
    say("Perfetto did not answer: download the trace, and open it there");
  }, kPatience);
  window.addEventListener("message", onAnswer);
}

export function setUpTrace(say) {
  const data = document.getElementById("trace");
  if (!data) return;
  const name = data.dataset.name;
  const [opener, saver] = [document.getElementById("open-trace"), document.getElementById("save-trace")];
  opener.hidden = saver.hidden = false;
  opener.addEventListener("click", () => {
    const perfetto = window.open(kPerfetto);
    if (perfetto) openIn(perfetto, name, data.textContent, say);
    else say("The browser did not open Perfetto: download the trace, and open it there");
  });
  saver.addEventListener("click", () =>
    save(`${slug(name)}.trace.json`, new Blob([data.textContent], { type: "application/json" })),
  );
}
