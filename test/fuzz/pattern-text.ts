import type { SeededRandom } from '../support/seeded-random.js';

/** Repetitions of what may be repeated without end. */
const MANY = 8;

/**
 * Makes texts that a pattern of a description matches: literals, `\d`, `\w`, `.`, classes, groups with alternatives and
 * quantifiers, which is what patterns of an interface are made of. What else there is in one makes it throw.
 */
export class PatternText {
  #at = 0;

  constructor(
    private readonly pattern: string,
    private readonly random: SeededRandom,
  ) {}

  make(): string {
    this.#at = 0;
    const text = this.#alternatives();
    if (this.#at < this.pattern.length) throw new Error(`not understood: ${this.pattern}`);
    return text;
  }

  #alternatives(): string {
    const choices = [this.#sequence()];
    while (this.#takes('|')) choices.push(this.#sequence());
    return this.random.pick(choices);
  }

  #sequence(): string {
    let text = '';
    while (this.#at < this.pattern.length && !'|)'.includes(this.#next())) {
      if (this.#takes('^') || this.#takes('$')) continue;
      const from = this.#at;
      const first = this.#atom();
      const [least, most] = this.#times();
      const after = this.#at;
      const count = this.random.between(least, most);
      if (count > 0) text += first;
      // Each repetition is drawn by itself.
      for (let index = 1; index < count; index += 1) {
        this.#at = from;
        text += this.#atom();
      }
      this.#at = after;
    }
    return text;
  }

  #atom(): string {
    if (this.#takes('(')) {
      if (this.#takes('?') && !this.#takes(':')) throw new Error(`not understood: ${this.pattern}`);
      const text = this.#alternatives();
      this.#at += 1;
      return text;
    }
    if (this.#takes('[')) return this.#oneOfClass();
    if (this.#takes('.')) return this.random.pick(['a', '/', '-', '9']);
    return this.random.pick(this.#character());
  }

  #oneOfClass(): string {
    const choices: string[] = [];
    const isNegated = this.#takes('^');
    while (!this.#takes(']')) {
      const from = this.#character();
      if (this.#next() === '-' && this.pattern[this.#at + 1] !== ']') {
        this.#at += 1;
        const to = this.#character()[0] ?? '';
        const start = from[0]?.charCodeAt(0) ?? 0;
        for (let code = start; code <= to.charCodeAt(0); code += 1) {
          choices.push(String.fromCharCode(code));
        }
      } else {
        choices.push(...from);
      }
    }
    if (!isNegated) return this.random.pick(choices);
    return this.random.pick(Array.from('abcXYZ0159-_').filter((one) => !choices.includes(one)));
  }

  /** What one character may be. */
  #character(): readonly string[] {
    const character = this.#next();
    this.#at += 1;
    if (character !== '\\') return [character];
    const escaped = this.#next();
    this.#at += 1;
    if (escaped === 'd') return Array.from('0123456789');
    if (escaped === 'w') return Array.from('abcXYZ019_');
    const code = /^u([0-9a-f]{4})/.exec(this.pattern.slice(this.#at - 1));
    if (code !== null) {
      this.#at += 4;
      return [String.fromCharCode(Number.parseInt(code[1] ?? '', 16))];
    }
    if (/[A-Za-z]/.test(escaped)) throw new Error(`not understood: ${this.pattern}`);
    return [escaped];
  }

  #times(): readonly [number, number] {
    if (this.#takes('*')) return [0, MANY];
    if (this.#takes('+')) return [1, MANY];
    if (this.#takes('?')) return [0, 1];
    const found = /^\{(\d+)(,?)(\d*)\}/.exec(this.pattern.slice(this.#at));
    if (found === null) return [1, 1];
    this.#at += found[0].length;
    const least = Number(found[1]);
    if (found[2] === '') return [least, least];
    const most = found[3] === '' ? least + MANY : Number(found[3]);
    // The ends are where rules differ.
    return this.random.chance(0.3) ? [most, most] : [least, Math.min(most, least + MANY)];
  }

  #next(): string {
    return this.pattern[this.#at] ?? '';
  }

  #takes(character: string): boolean {
    if (this.#next() !== character) return false;
    this.#at += 1;
    return true;
  }
}
