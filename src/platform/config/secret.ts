import { inspect } from 'node:util';

const REDACTED = '[redacted]';

/** A value that must not appear in logs or answers: it prints as `[redacted]`. */
export class Secret<T> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  /** The value itself. Call this only where the value is used, and store the result nowhere. */
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
