import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type Scope, SCOPES } from '../../platform/config/access-settings.js';
import { isEvmAddress } from '../../protocol/payment/wire-values.js';
import { type ApiKeyRecord, createApiKey, parseApiKeys } from './api-key.js';

const USAGE = `npm run keys:new -- ID [SCOPES] [PAYEES] [--file FILE]

  ID           whose key it is: letters, digits, "_" and "-"
  SCOPES       of ${SCOPES.join(', ')}, separated by commas (verify,settle)
  PAYEES       addresses whose settlements it may list with the scope history, separated by commas
  --file FILE  add the record to this file; it is made where it is missing
`;

/** Makes a new API key, prints it once, and prints its record or adds it to a file. */
function main(): void {
  const { values, positionals } = given();
  const [id = '', scopes = 'verify,settle', paidTo = '', ...more] = positionals;
  const wanted = scopes.split(',');
  const payees = paidTo.split(',').filter((payee) => payee !== '');
  if (more.length > 0) refuse('Too many arguments.');
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(id)) refuse('ID: 1 to 64 letters, digits, "_" and "-".');
  const noScope = wanted.find((scope) => !isScope(scope));
  if (noScope !== undefined) refuse(`SCOPES: "${noScope}" is not a scope.`);
  const noAddress = payees.find((payee) => !isEvmAddress(payee));
  if (noAddress !== undefined) refuse(`PAYEES: "${noAddress}" is not an address.`);
  const { key, record } = createApiKey(id, wanted.filter(isScope), payees);
  const where =
    values.file === undefined
      ? `Record, for "keys" in the file that API_KEYS_FILE names, {"version":1,"keys":[...]}:\n\n  ${JSON.stringify(record)}`
      : addTo(values.file, record);
  process.stdout.write(`Key, shown once, for its owner:\n\n  ${key}\n\n${where}\n`);
}

function given(): { values: { file?: string }; positionals: readonly string[] } {
  try {
    return parseArgs({ allowPositionals: true, options: { file: { type: 'string' } } });
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}

/**
 * Written in one step, so that a service reads the old text or the new one.
 *
 * @returns a sentence about the result.
 */
function addTo(file: string, record: ApiKeyRecord): string {
  let text = '{"version":1,"keys":[]}';
  try {
    if (existsSync(file)) text = readFileSync(file, 'utf8');
    parseApiKeys(text);
  } catch (error) {
    return refuse(`${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
  const content = JSON.parse(text) as { keys: ApiKeyRecord[] };
  content.keys.push(record);
  const draft = `${file}.new`;
  const mode = existsSync(file) ? statSync(file).mode & 0o777 : 0o600;
  writeFileSync(draft, `${JSON.stringify(content, null, 2)}\n`, { mode });
  renameSync(draft, file);
  const { length } = content.keys;
  return `Its record was added to ${file}, which now has ${length} ${length === 1 ? 'key' : 'keys'}.`;
}

function refuse(problem: string): never {
  process.stderr.write(`${problem}\n\n${USAGE}`);
  process.exit(2);
}

function isScope(text: string): text is Scope {
  return (SCOPES as readonly string[]).includes(text);
}

main();
