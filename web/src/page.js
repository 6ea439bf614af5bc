const root = document.documentElement;
const systemDark = window.matchMedia("(prefers-color-scheme: dark)");

const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : systemDark.matches);

export function setUpTheme(button, redraw) {
  const label = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Change to ${isDark() ? "light" : "dark"} colors`);
  };
  button.hidden = false;
  label();
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    label();
    redraw();
  });
  systemDark.addEventListener("change", () => {
    label();
    redraw();
  });
}

/** Pages opened from a disk may have no clipboard of the new kind. */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }
}

export function setUpCopying(say) {
  for (const button of document.querySelectorAll("button.copy")) {
    button.addEventListener("click", async () => {
      const done = await copy(button.previousElementSibling.textContent);
      button.textContent = done ? "Copied" : "Failed";
      say(done ? "Copied the command" : "The command could not be copied");
      setTimeout(() => (button.textContent = "Copy"), 1500);
    });
  }
}

/** Paper is white, and nothing on it unfolds. */
export function setUpPrinting(redraw) {
  let before = null;
  window.addEventListener("beforeprint", () => {
    const folded = [...document.querySelectorAll("details:not([open])")];
    before = { theme: root.dataset.theme, folded };
    folded.forEach((details) => (details.open = true));
    root.dataset.theme = "light";
    root.dataset.printing = "";
    redraw();
  });
  window.addEventListener("afterprint", () => {
    if (!before) return;
    before.folded.forEach((details) => (details.open = false));
    if (before.theme) root.dataset.theme = before.theme;
    else delete root.dataset.theme;
    delete root.dataset.printing;
    before = null;
    redraw();
  });
}
