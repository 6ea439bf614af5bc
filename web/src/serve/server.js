/** What the server answers; throws what it has against it. */
async function answerOf(response) {
  const text = await response.text();
  let json;
  try {
    json = JSON.parse(text);
  } catch {
    throw new Error("The server answers with something else than expected.");
  }
  if (!response.ok) throw new Error(json.error ?? "The server refuses.");
  return json;
}

export const read = async (path) => answerOf(await fetch(path));

export const post = async (path, body) =>
  answerOf(
    await fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    }),
  );

/** Calls `show` with every state, and `reached` with whether the server is there. */
export function follow(show, reached) {
  const events = new EventSource("events");
  events.onmessage = (event) => {
    reached(true);
    show(JSON.parse(event.data));
  };
  events.onerror = () => reached(false);
}
