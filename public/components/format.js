/** Texts, times and amounts as people read them. Nothing here touches a page. */

/**
 * Characters that are not seen, or that turn the order of others round, are shown by their numbers: what a
 * stranger chose must not look like something else.
 */
export function plain(text) {
  return text.replace(/[\n\t]+/g, ' ').replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => {
    const number = character.codePointAt(0).toString(16).toUpperCase().padStart(4, '0');
    return `⟨U+${number}⟩`;
  });
}

export function duration(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 100) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 100) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} days`;
}

export const number = (value) =>
  value >= Number.MAX_SAFE_INTEGER ? '∞' : Number(value).toLocaleString('en');

/** Of a part of one: `99.95 %`. Only all of it is 100 %. */
export function percent(part) {
  const text = (part * 100).toFixed(part > 0.99 ? 2 : 1).replace(/\.0+$/, '');
  return `${text === '100' && part < 1 ? '99.99' : text} %`;
}

export const short = (text) => (text.length > 20 ? `${text.slice(0, 10)}…${text.slice(-6)}` : text);
export const gwei = (wei) => `${Number((Number(wei) / 1e9).toPrecision(3))} gwei`;

/** ISO 8601 in the form of the pages: `2026-11-30 12:00:00`, in UTC. */
export const moment = (text) => text?.replace('T', ' ').slice(0, 19) ?? '';

const grouped = (digits) => digits.replace(/\B(?=(\d{3})+$)/g, ',');

/** A decimal string of smallest units as whole units, exactly: `1,234.5`. */
export function wholeUnits(atomic, decimals) {
  const digits = String(atomic).padStart(decimals + 1, '0');
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '');
  const whole = grouped(digits.slice(0, digits.length - decimals));
  return decimals === 0 || fraction === '' ? whole : `${whole}.${fraction}`;
}

/** A decimal number of whole units in smallest units; `undefined` where it is no such number. */
export function smallestUnits(text, decimals) {
  const [, whole, fraction = ''] = /^(\d{1,60})(?:\.(\d{1,36}))?$/.exec(text) ?? [];
  if (whole === undefined || fraction.length > decimals) return undefined;
  return String(BigInt(whole + fraction.padEnd(decimals, '0')));
}

/** Bytes in the largest unit of which there is one. */
export function size(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const step = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(bytes, 1)) / 10));
  const count = bytes / 1024 ** step;
  return `${step === 0 ? count : count.toFixed(1)} ${units[step]}`;
}

/** Native coins that are counted in fractions: three digits that say something. */
export function coins(value) {
  if (value === 0) return '0';
  return value >= 1000
    ? Math.round(value).toLocaleString('en')
    : String(Number(value.toPrecision(3)));
}

/** What was asked for, without what was left empty. */
export function queryOf(fields) {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== '');
  return new URLSearchParams(given).toString();
}

export const plural = (count, word) => `${count} ${word}${count === 1 ? '' : 's'}`;

/** JSON with line breaks; other text as it is. */
export function readable(text) {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    return text;
  }
}
