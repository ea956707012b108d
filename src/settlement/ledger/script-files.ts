import { readFileSync } from 'node:fs';
import { type Script, script, type ScriptArgument } from '../../platform/redis/redis-scripts.js';
import { allActions, DEFAULT_SCHEME } from '../../protocol/schemes/registry.js';
import { machineLua } from '../model/settlement-machine.js';
import { sponsoringLua } from '../model/sponsoring-machine.js';
import { RECORD_LUA } from './record.js';

/** Parts that are generated from TypeScript, so that they are written only once. */
const GENERATED: Readonly<Record<string, () => string>> = {
  expiry: expiryLua,
  machine: machineLua,
  sponsoring: sponsoringLua,
  record: () => RECORD_LUA,
};

const INCLUDE = /^--- @include "(\w+)"$/;
const JOINT = '--- @include "joint"';

/**
 * Reads `scripts/<name>.lua`. A line `--- @include "part"` is replaced by `scripts/lib/part.lua` at its first
 * occurrence.
 */
export function loadScript(name: string): Script {
  return script(name, scriptText(name));
}

/**
 * A script with its own keys and arguments. The epoch is added before them, and the key of the outbox after the keys
 * if there is a history.
 */
export interface ScriptCall {
  readonly script: Script;
  readonly keys: readonly string[];
  readonly args: readonly ScriptArgument[];
}

/** A script that runs for several callers at once. */
export interface JointScript extends Script {
  readonly isJoint: true;
}

/**
 * Reads a script that runs for several callers at once. Its file is the step of one of them: there `KEYS` and `ARGV` are
 * that caller's own.
 */
export function loadJointScript(name: string): JointScript {
  const lines = readScript(`${name}.lua`).split('\n');
  const parts = lines.filter((line) => INCLUDE.test(line));
  const step = lines.filter((line) => !INCLUDE.test(line));
  const lua = [...parts, 'local function step(KEYS, ARGV)', ...step, 'end', JOINT].join('\n');
  return { ...script(name, expand(lua, new Set())), isJoint: true };
}

function scriptText(name: string): string {
  return expand(readScript(`${name}.lua`), new Set());
}

function expand(text: string, included: Set<string>): string {
  return text
    .split('\n')
    .map((line) => {
      const part = INCLUDE.exec(line)?.[1];
      if (part === undefined) return line;
      if (included.has(part)) return '';
      included.add(part);
      return expand(GENERATED[part]?.() ?? readScript(`lib/${part}.lua`), included);
    })
    .join('\n');
}

function readScript(path: string): string {
  return readFileSync(new URL(`./scripts/${path}`, import.meta.url), 'utf8');
}

/** For Lua: the reason for a payment past its deadline, by scheme and method. */
export function expiryLua(): string {
  const reasons = allActions().map(
    ({ scheme, action }) =>
      `['${scheme.name} ${action.method.name}'] = '${action.reasons.expired}'`,
  );
  return `local EXPIRED = { ${reasons.join(', ')} }
local function expiry_reason(scheme, method)
  return EXPIRED[(scheme or '${DEFAULT_SCHEME}') .. ' ' .. (method or '')]
end
`;
}
