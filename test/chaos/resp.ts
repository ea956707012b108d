interface Command {
  readonly bytes: Buffer;
  readonly words: readonly string[];
}

/** Words looked at; payloads come later and stay bytes. */
const WORDS_READ = 4;

/** Cuts what a client sends into commands: arrays of bulk strings of the Redis protocol. */
export class CommandReader {
  #rest: Buffer = Buffer.alloc(0);

  *read(chunk: Buffer): Generator<Command> {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    for (;;) {
      const command = this.#next();
      if (command === undefined) return;
      this.#rest = this.#rest.subarray(command.bytes.length);
      yield command;
    }
  }

  #next(): Command | undefined {
    const head = this.#line(0, '*');
    if (head === undefined) return undefined;
    const words: string[] = [];
    let at = head.end;
    for (let index = 0; index < head.value; index += 1) {
      const length = this.#line(at, '$');
      if (length === undefined) return undefined;
      const end = length.end + length.value;
      if (this.#rest.length < end + 2) return undefined;
      if (index < WORDS_READ) words.push(this.#rest.toString('utf8', length.end, end));
      at = end + 2;
    }
    return { bytes: this.#rest.subarray(0, at), words };
  }

  #line(from: number, mark: string): { readonly value: number; readonly end: number } | undefined {
    const end = this.#rest.indexOf('\r\n', from);
    if (end < 0) return undefined;
    const text = this.#rest.toString('latin1', from, end);
    if (!text.startsWith(mark)) throw new Error(`expected ${mark} in a command, found ${text}`);
    return { value: Number(text.slice(1)), end: end + 2 };
  }
}
