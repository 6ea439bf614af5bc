/** Beside the page where there is room, else folded above it; either way it stays, and says where the reader is. */
export function setUpContents() {
  const nav = document.querySelector("nav");
  if (!nav) return;
  const folded = nav.querySelector("details");
  const beside = window.matchMedia("(min-width: 76rem)");
  const settle = () => (folded.open = beside.matches);
  settle();
  beside.addEventListener("change", settle);

  // Of many chapters, only the one that is read shows what it has.
  const chapters = [...nav.querySelectorAll(".of-chapter")].map((link) => link.parentElement);
  const openChapter = (link) =>
    chapters.length > 1 && chapters.forEach((chapter) => chapter.classList.toggle("folded", !chapter.contains(link)));

  const links = new Map([...nav.querySelectorAll("a")].map((link) => [link.hash.slice(1), link]));
  nav.addEventListener("click", (event) => {
    if (event.target.closest("a") && !beside.matches) folded.open = false;
  });
  nav.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || beside.matches) return;
    folded.open = false;
    folded.querySelector("summary").focus();
  });

  openChapter(chapters[0]?.querySelector("a"));

  const seen = new Set();
  const mark = () => {
    const first = [...links.keys()].find((id) => seen.has(id));
    links.forEach((link, id) => {
      if (id === first) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    });
    if (!first) return;
    openChapter(links.get(first));
    if (beside.matches) {
      const [box, own] = [nav.getBoundingClientRect(), links.get(first).getBoundingClientRect()];
      if (own.top < box.top || own.bottom > box.bottom) nav.scrollTop += own.top - box.top - box.height / 2;
    }
  };
  const watcher = new IntersectionObserver((entries) => {
    entries.forEach(({ target, isIntersecting }) => (isIntersecting ? seen.add(target.id) : seen.delete(target.id)));
    mark();
  }, { rootMargin: "-10% 0px -60% 0px" });
  document.querySelectorAll("section").forEach((section) => watcher.observe(section));
}
