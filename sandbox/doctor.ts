import { readState } from './state.js';

/** `npm run doctor -- URL [METHOD] [BODY]`: what keeps buyers from paying a seller, asked of a facilitator. */

interface Finding {
  readonly code: string;
  readonly severity: 'error' | 'warning' | 'note';
  readonly path: string;
  readonly expected: string;
  readonly got?: string;
  readonly fix: string;
}

interface Report {
  readonly status?: number;
  readonly isSound: boolean;
  readonly counts: { readonly error: number; readonly warning: number };
  readonly offers: readonly {
    readonly path: string;
    readonly scheme: string;
    readonly network: string;
    readonly amount: string;
    readonly price?: string;
  }[];
  readonly findings: readonly Finding[];
}

const [url, method = 'GET', body] = process.argv.slice(2);
if (url === undefined) {
  console.error(`npm run doctor -- URL [METHOD] [BODY]

Set FACILITATOR_URL to a facilitator with DOCTOR=true; else that of the sandbox is asked (npm start).
FACILITATOR_API_KEY is sent where it is set.`);
  process.exit(2);
}
const facilitator = (
  process.env['FACILITATOR_URL'] ??
  readState()?.facilitatorUrl ??
  'http://127.0.0.1:4022'
).replace(/\/+$/, '');

async function examine(): Promise<Report> {
  const key = process.env['FACILITATOR_API_KEY'];
  const response = await fetch(`${facilitator}/v2/doctor`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(key !== undefined && { 'x-api-key': key }),
    },
    body: JSON.stringify({ url, method, ...(body !== undefined && { body }) }),
  }).catch(() => undefined);
  if (response === undefined) {
    throw new Error(`No facilitator answers at ${facilitator}. Start the sandbox with: npm start`);
  }
  if (response.status === 404) {
    throw new Error(`The facilitator at ${facilitator} does not check sellers: set DOCTOR=true.`);
  }
  const answer = (await response.json()) as Report & { readonly error?: string };
  if (!response.ok) throw new Error(answer.error ?? `It answered ${response.status}.`);
  return answer;
}

function print(report: Report): void {
  const { status, offers, findings } = report;
  console.log(`${method} ${url} -> ${status ?? 'no answer'}`);
  for (const { path, scheme, network, amount, price } of offers) {
    console.log(`  ${path}  ${scheme} on ${network}, ${price ?? `${amount} atomic units`}`);
  }
  for (const { code, severity, path, expected, got, fix } of findings) {
    console.log(`\n${severity.padEnd(8)} ${code} at ${path}`);
    console.log(`         expected ${expected}${got === undefined ? '' : `, got ${got}`}`);
    console.log(`         ${fix}`);
  }
  console.log(`\n${verdictOf(report)}`);
}

function verdictOf({ isSound, status, counts }: Report): string {
  if (isSound) return 'Ready to be paid: a stock buyer can pay.';
  if (status === undefined) return 'The seller could not be asked.';
  const { error, warning } = counts;
  return `Not ready to be paid: ${plural(error, 'error')}, ${plural(warning, 'warning')}.`;
}

const plural = (count: number, what: string): string =>
  `${count} ${count === 1 ? what : `${what}s`}`;

try {
  const report = await examine();
  print(report);
  process.exit(report.isSound ? 0 : 1);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(2);
}
