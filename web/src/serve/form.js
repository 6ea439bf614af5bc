import { element } from "./elements.js";
import { post } from "./server.js";

const kPauseMs = 150;

/** The form of a question. It shows the command that it would run, and what the command line has against it. */
export class QuestionForm {
  constructor(questions, say) {
    this.say = say;
    this.form = document.getElementById("form");
    this.command = document.getElementById("command");
    this.refusal = document.getElementById("refusal");
    this.submit = this.form.querySelector("button[type=submit]");
    this.questions = new Map(questions.map((question) => [question.name, question]));
    this.offerQuestions(questions);
    this.form.addEventListener("input", () => this.changed());
    this.form.addEventListener("submit", (event) => this.ask(event));
    this.choose(questions[0].name);
  }

  offerQuestions(questions) {
    const choices = this.form.querySelector(".questions");
    questions.forEach((question, i) => {
      const radio = element("input", { type: "radio", name: "question", value: question.name, checked: i === 0 });
      radio.addEventListener("change", () => this.choose(question.name));
      choices.append(element("label", {}, radio, element("span", {}, question.title)));
    });
  }

  choose(name) {
    this.question = this.questions.get(name);
    document.getElementById("what").textContent = this.question.what;
    const fields = this.question.fields.map((field) => {
      const hint = `hint-${field.name}`;
      const input = element("input", {
        name: field.name,
        value: field.value,
        "aria-describedby": hint,
        list: field.name === "gpu" ? "gpus" : null,
        spellcheck: "false",
        autocapitalize: "off",
      });
      return element("div", { class: "field" },
        element("label", {}, element("span", {}, field.label), input),
        element("span", { class: "note", id: hint }, field.hint));
    });
    this.form.querySelector(".fields").replaceChildren(...fields);
    this.changed();
  }

  filled() {
    const inputs = [...this.form.querySelectorAll(".fields input")];
    return { question: this.question.name, values: Object.fromEntries(inputs.map((input) => [input.name, input.value])) };
  }

  changed() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.preview(), kPauseMs);
  }

  refuse(text) {
    this.refusal.textContent = text;
    this.submit.disabled = text !== "";
  }

  /** Of several answers that are under way, the last one counts. */
  async preview() {
    const turn = (this.turn = (this.turn ?? 0) + 1);
    try {
      const { command } = await post("command", this.filled());
      if (turn !== this.turn) return;
      this.command.textContent = command;
      this.refuse("");
    } catch (error) {
      if (turn === this.turn) this.refuse(error.message);
    }
  }

  async ask(event) {
    event.preventDefault();
    try {
      await post("ask", this.filled());
      this.say(`Asked: ${this.question.title}`);
      this.preview();
    } catch (error) {
      this.refuse(error.message);
    }
  }
}
