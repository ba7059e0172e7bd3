// Server-sent events.

/** Reads a stream of events as the HTML standard has it ("Interpreting an event stream"). */
export class EventReader {
  #line = "";
  #endedInReturn = false;
  #name = "";
  #data = [];

  /** Takes more of the text, and gives the events that are whole with it. */
  *read(text) {
    // A return and a line feed end one line, even if they come apart.
    const isTorn = this.#endedInReturn && text.startsWith("\n");
    this.#endedInReturn = text === "" ? this.#endedInReturn : text.endsWith("\r");
    const lines = (this.#line + (isTorn ? text.slice(1) : text)).split(/\r\n|\r|\n/);
    this.#line = lines.pop();
    for (const line of lines) {
      const event = this.#take(line);
      if (event) {
        yield event;
      }
    }
  }

  /** Takes a line, and gives the event that it ends, if it ends one. */
  #take(line) {
    if (line !== "") {
      // A comment has no name.
      const [, name, value] = /^([^:]*)(?:: ?(.*))?$/s.exec(line);
      if (name === "event") {
        this.#name = value ?? "";
      } else if (name === "data") {
        this.#data.push(value ?? "");
      }
      return null;
    }
    const event = { name: this.#name || "message", data: this.#data.join("\n") };
    const isEvent = this.#data.length > 0;
    this.#name = "";
    this.#data = [];
    return isEvent ? event : null;
  }
}
