// The connection to the server: it comes back by itself, goes on where it was, and says how it stands.

const SILENCE_MS = 15_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 8_000;

export class Link {
  constructor({ onPicture, onChange, onState }) {
    this.on = { onPicture, onChange, onState };
    this.last = "";
    this.pause = FIRST_PAUSE_MS;
    this.open();
  }

  open() {
    const query = this.last ? `?last=${encodeURIComponent(this.last)}` : "";
    this.source = new EventSource(`/api/stream${query}`);
    this.source.addEventListener("picture", (event) => this.heard(event, this.on.onPicture));
    this.source.addEventListener("change", (event) => this.heard(event, this.on.onChange));
    this.source.addEventListener("alive", () => this.alive());
    this.source.addEventListener("error", () => this.lost());
    this.watch();
  }

  heard(event, tell) {
    this.last = event.lastEventId;
    tell(JSON.parse(event.data));
    this.alive();
  }

  alive() {
    this.pause = FIRST_PAUSE_MS;
    this.on.onState("live");
    this.watch();
  }

  // A connection may die without a word.
  watch() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.lost(), SILENCE_MS);
  }

  lost() {
    this.source.close();
    clearTimeout(this.timer);
    this.on.onState("lost");
    this.timer = setTimeout(() => this.again(), this.pause);
    this.pause = Math.min(LONGEST_PAUSE_MS, this.pause * 2);
  }

  async again() {
    // An event source doesn't tell why it was refused: a token may be asked for by now.
    try {
      const answer = await fetch("/", { headers: { accept: "application/json" }, cache: "no-store" });
      if (answer.status === 401) location.assign("/login");
    } catch {
      // Nobody answers; the stream finds that out, too.
    }
    this.open();
  }
}
