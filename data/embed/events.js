// Server-sent events.

/** Parses an event stream (HTML standard, "Interpreting an event stream"). */
export class EventReader {
  #line = "";
  #endedInReturn = false;
  #name = "";
  #data = [];

  /** Returns the events that `text` completes. */
  *read(text) {
    // CR and LF end one line, even if they arrive separately.
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

  /** Takes a line and returns the event that it completes, if any. */
  #take(line) {
    if (line !== "") {
      // The name of a comment is empty.
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
