import { SETTING_GROUPS } from './platform/config/app-config.js';
import { VERSION } from './platform/config/version.js';

/** Notes that replace the default of a setting. */
const NOTES: Readonly<Record<string, string>> = {
  REDIS_URL: 'required',
  SIGNER_KEYS: 'required for the role worker',
  'RPC_URLS_<chainId>': 'public endpoints for built-in chains; else required',
  'SIGNER_KEYS_<chainId>': 'those of SIGNER_KEYS',
};
const DECIMALS: readonly (readonly [ending: RegExp, decimals: number])[] = [
  [/_GWEI_</, 9],
  [/./, 18],
];

/** The text of `node dist/main.js --help`. */
export function help(): string {
  const groups = SETTING_GROUPS.map(([title, settings]) => {
    const lines = Object.entries(settings).map(
      ([name, schema]) =>
        `  ${name.padEnd(34)} ${NOTES[name] ?? textOf(name, schema.safeParse(undefined).data)}`,
    );
    return `${title}\n${lines.join('\n')}\n`;
  });
  return `x402-settle ${VERSION}

Usage: node dist/main.js
Settings are environment variables; beside each is its default. docs/settings.md says what they mean, .env.example has
them all. Secrets may be files: append _FILE to the name.

${groups.join('\n')}`;
}

function textOf(name: string, value: unknown): string {
  if (value === undefined) return 'unset';
  if (value instanceof Set || value instanceof Map) return value.size === 0 ? 'none' : 'built in';
  if (Array.isArray(value))
    return name === 'NETWORKS' ? value.map((id) => `eip155:${id}`).join() : value.join() || 'none';
  if (typeof value === 'bigint') return decimalText(value, decimalsOf(name));
  return `${value as string | number | boolean}` || 'none';
}

function decimalsOf(name: string): number {
  return DECIMALS.find(([ending]) => ending.test(name))?.[1] ?? 0;
}

function decimalText(value: bigint, decimals: number): string {
  const digits = value.toString().padStart(decimals + 1, '0');
  const fraction = digits.slice(-decimals).replace(/0+$/, '');
  return `${digits.slice(0, -decimals)}${fraction === '' ? '' : `.${fraction}`}`;
}
