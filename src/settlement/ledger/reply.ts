import type { ScriptReply } from '../../platform/redis/redis-scripts.js';

/** Readers of script replies. Any other reply is a bug, and throws. */

export function asList(reply: ScriptReply | undefined): readonly ScriptReply[] {
  if (Array.isArray(reply)) return reply as readonly ScriptReply[];
  throw new TypeError('the reply of a Redis script is not a list');
}

export function asText(reply: ScriptReply | undefined): string {
  if (typeof reply === 'string') return reply;
  if (typeof reply === 'number') return String(reply);
  throw new TypeError('the reply of a Redis script is not a text');
}

export function asTexts(reply: ScriptReply | undefined): string[] {
  return asList(reply).map(asText);
}

export function asPairs(reply: ScriptReply | undefined): Map<string, string> {
  const flat = asTexts(reply);
  const pairs = new Map<string, string>();
  for (let index = 0; index + 1 < flat.length; index += 2) {
    pairs.set(flat[index] ?? '', flat[index + 1] ?? '');
  }
  return pairs;
}
