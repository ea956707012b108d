import { inspect } from 'node:util';

const REDACTED = '[redacted]';

/** A value that must not reach a log or an answer: it prints as `[redacted]` wherever it is printed. */
export class Secret<T> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  /** The value itself. Call it where the value is used, and keep the result out of objects. */
  reveal(): T {
    return this.#value;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  [inspect.custom](): string {
    return REDACTED;
  }
}
