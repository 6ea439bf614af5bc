/** Of results of one kind, one is shown at a time. A link to another chooses that. */
export function setUpChoices(drawIn, say) {
  const choosers = new Map();
  for (const section of document.querySelectorAll("section.choice")) {
    const select = section.querySelector("select");
    const panels = [...section.querySelectorAll(":scope > .panel")];
    const show = (id) => {
      select.value = id;
      panels.forEach((panel) => (panel.hidden = panel.id !== id));
      drawIn(section);
    };
    select.addEventListener("change", () => {
      show(select.value);
      say(`Showing ${select.selectedOptions[0].textContent}`);
    });
    panels.forEach((panel) => choosers.set(panel.id, show));
    panels.forEach((panel, i) => (panel.hidden = i > 0));
  }
  const follow = () => {
    const id = decodeURIComponent(location.hash.slice(1));
    choosers.get(id)?.(id);
  };
  window.addEventListener("hashchange", follow);
  follow();
}
