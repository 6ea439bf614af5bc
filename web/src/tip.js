/** A small box beside the pointer. Its content is text only: names come from files. */
export class Tip {
  constructor(parent) {
    this.box = document.createElement("div");
    this.box.className = "tip";
    this.box.hidden = true;
    this.box.setAttribute("aria-hidden", "true");
    parent.append(this.box);
  }

  show(title, lines, x, y, width) {
    this.box.replaceChildren();
    const head = document.createElement("strong");
    head.textContent = title;
    this.box.append(head);
    for (const { text, color } of lines) {
      const line = document.createElement("span");
      if (color) line.style.borderColor = color;
      line.className = color ? "keyed" : "";
      line.textContent = text;
      this.box.append(line);
    }
    this.box.hidden = false;
    const left = x + 14 + this.box.offsetWidth > width ? x - 14 - this.box.offsetWidth : x + 14;
    this.box.style.transform = `translate(${Math.max(0, left)}px, ${Math.max(0, y - 10)}px)`;
  }

  hide() {
    this.box.hidden = true;
  }
}
