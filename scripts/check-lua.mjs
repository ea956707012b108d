// Parses the Lua scripts of the ledger, each with what it includes, and checks what Redis would only say
// when a script runs: syntax, undefined names, and that its header names keys, arguments and reply.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import luaparse from 'luaparse';

const FOLDER = fileURLToPath(new URL('../src/settlement/ledger/scripts/', import.meta.url));
const INCLUDE = /^--- @include "(\w+)"$/;
/** Made from TypeScript when a script is loaded: see `script-files.ts`. */
const GENERATED = {
  expiry: 'local expiry_reason',
  machine: 'local CELLS',
  record: 'local view, VIEW_FIELDS',
  sponsoring: 'local SPONSORING, BLAMELESS, PLACE_MS',
};
const KNOWN = new Set([
  'KEYS',
  'ARGV',
  'redis',
  'cjson',
  'string',
  'table',
  'math',
  'tonumber',
  'tostring',
  'ipairs',
  'pairs',
  'unpack',
  'next',
  'pcall',
  'type',
]);

const expand = (path, included) => expandText(readFileSync(FOLDER + path, 'utf8'), included);

function expandText(text, included = new Set()) {
  return text
    .split('\n')
    .map((line) => {
      const part = INCLUDE.exec(line)?.[1];
      if (part === undefined) return line;
      if (included.has(part)) return '';
      included.add(part);
      return GENERATED[part] ?? expand(`lib/${part}.lua`, included);
    })
    .join('\n');
}

const problems = [];
for (const file of readdirSync(FOLDER).filter((name) => name.endsWith('.lua'))) {
  const text = readFileSync(FOLDER + file, 'utf8');
  for (const word of ['-- KEYS[1]', '-- ARGV[1]', '-- Returns']) {
    if (!text.includes(word)) problems.push(`${file}: its header has no "${word}"`);
  }
  check(file, expand(file));
}
check('lib/joint.lua', expandText('--- @include "ledger"\nlocal step\n--- @include "joint"'));

function check(file, lua) {
  try {
    const { globals } = luaparse.parse(lua, { luaVersion: '5.1', scope: true });
    for (const { name } of globals) {
      if (!KNOWN.has(name)) problems.push(`${file}: nobody defines ${name}`);
    }
  } catch (error) {
    problems.push(`${file}: ${error.message}`);
  }
}
for (const problem of problems) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
