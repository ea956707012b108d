/** One message of a client of PostgreSQL, as it goes over the wire. */
interface ClientMessage {
  readonly bytes: Buffer;
  /** Of `Query` and `Parse`. */
  readonly statement: string | undefined;
}

const HEAD = 4;
const QUERY = 'Q';
const PARSE = 'P';

/** Cuts what a client sends into messages: the first has no type, each other one a letter. */
export class MessageReader {
  #rest: Buffer = Buffer.alloc(0);
  #isStarted = false;

  *read(chunk: Buffer): Generator<ClientMessage> {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    for (;;) {
      const at = this.#isStarted ? 1 : 0;
      if (this.#rest.length < at + HEAD) return;
      const end = at + this.#rest.readUInt32BE(at);
      if (this.#rest.length < end) return;
      const bytes = this.#rest.subarray(0, end);
      this.#rest = this.#rest.subarray(end);
      const isFirst = !this.#isStarted;
      this.#isStarted = true;
      yield { bytes, statement: isFirst ? undefined : statementIn(bytes) };
    }
  }
}

function statementIn(bytes: Buffer): string | undefined {
  const type = String.fromCharCode(bytes[0] ?? 0);
  const from = 1 + HEAD;
  if (type === QUERY) return textAt(bytes, from);
  // Before it stands the name it is prepared by.
  return type === PARSE ? textAt(bytes, bytes.indexOf(0, from) + 1) : undefined;
}

const textAt = (bytes: Buffer, from: number): string =>
  bytes.toString('utf8', from, bytes.indexOf(0, from));

const WORDS = /^(insert into|update|delete from|select|begin|commit|rollback)\b/;
const TABLES = /\b(?:into|update|from|join)\s+(?:"?x402"?\.)"?(\w+)"?/;

/** A transaction that writes it is named by it, whatever else it writes. */
const SETTLEMENTS = 'settlements';

/**
 * Names the steps of one connection by what goes over it: `sql insert into settlements`, and
 * `sql commit settlements` for the transaction.
 */
export class StatementNamer {
  #written: string | undefined;

  /** @returns `undefined` for what is no step of the history. */
  nameOf(statement: string): string | undefined {
    const text = statement.trim().toLowerCase().replaceAll(/\s+/g, ' ');
    const verb = WORDS.exec(text)?.[1];
    if (verb === 'begin' || verb === 'rollback') this.#written = undefined;
    if (verb === 'commit') {
      const written = this.#written;
      this.#written = undefined;
      return written === undefined ? undefined : `sql commit ${written}`;
    }
    const table = TABLES.exec(text)?.[1];
    if (verb === undefined || table === undefined || table === 'migrations') return undefined;
    if (verb !== 'select' && this.#written !== SETTLEMENTS) this.#written = table;
    return `sql ${verb} ${table}`;
  }
}
