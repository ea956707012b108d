import { type Scope, SCOPES } from '../../platform/config/access-settings.js';
import { createApiKey } from './api-key.js';

/**
 * Prints a new API key and its record for `API_KEYS_FILE`:
 *
 *   npm run keys:new -- <id> <scope>,<scope> <payee>,<payee>
 */
const [id = '', scopes = 'verify,settle', paidTo = ''] = process.argv.slice(2);
const wanted = scopes.split(',');
const payees = paidTo.split(',').filter((payee) => payee !== '');

if (!/^[A-Za-z0-9_-]{1,64}$/.test(id) || !wanted.every(isScope) || !payees.every(isAddress)) {
  process.stderr.write(
    `Usage: npm run keys:new -- <id> <scopes> <payees>\n` +
      `  id      whose key it is: letters, digits, "_" and "-"\n` +
      `  scopes  of ${SCOPES.join(', ')}, separated by commas; verify,settle when left out\n` +
      `  payees  addresses whose settlements it may list with the scope history; none when left out\n`,
  );
  process.exit(2);
}
const { key, record } = createApiKey(id, wanted, payees);
process.stdout.write(`Key, shown once, for its owner:

  ${key}

Record, for "keys" in the file that API_KEYS_FILE names, {"version":1,"keys":[...]}:

  ${JSON.stringify(record)}
`);

function isScope(text: string): text is Scope {
  return (SCOPES as readonly string[]).includes(text);
}

function isAddress(text: string): boolean {
  return /^0x[0-9a-fA-F]{40}$/.test(text);
}
