import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';

/** Commands of the documentation against the manifests that they are about. */

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const MANIFESTS = 'deploy/kubernetes';
const PAGES = [
  'docs/runbook.md',
  'docs/running.md',
  'docs/kubernetes.md',
  'docs/redis.md',
  'docs/history.md',
  'docs/reconciliation.md',
];

const read = (file: string): string => readFileSync(`${ROOT}${file}`, 'utf8');

const documents: readonly unknown[] = readdirSync(ROOT + MANIFESTS, {
  recursive: true,
  encoding: 'utf8',
})
  .filter((name) => name.endsWith('.yaml'))
  .flatMap((name) => parseAllDocuments(read(`${MANIFESTS}/${name}`)))
  .map((document) => document.toJSON() as unknown);

/** Every value under a key, however deep. */
function valuesOf(key: string, node: unknown): readonly unknown[] {
  if (typeof node !== 'object' || node === null) return [];
  return Object.entries(node as Readonly<Record<string, unknown>>).flatMap(([name, value]) => [
    ...(name === key ? [value] : []),
    ...valuesOf(key, value),
  ]);
}

/** `key=value` of every label that a pod gets. */
const LABELS = new Set(
  [...valuesOf('labels', documents), ...valuesOf('pairs', documents)]
    .filter((labels) => typeof labels === 'object' && labels !== null && !Array.isArray(labels))
    .flatMap((labels) =>
      Object.entries(labels as object).map(([key, value]) => `${key}=${String(value)}`),
    ),
);
const DEPLOYMENTS = new Set(
  (documents as readonly { kind: string; metadata?: { name: string } }[])
    .filter((one) => one.kind === 'Deployment')
    .map((one) => `deploy/${one.metadata?.name ?? ''}`),
);
const SECRETS = new Set([
  ...valuesOf('secretName', documents),
  ...valuesOf('secretKeyRef', documents).map((ref) => (ref as { name: string }).name),
  ...valuesOf('secretRef', documents).map((ref) => (ref as { name: string }).name),
]);

const { services } = parse(read('docker-compose.yml')) as {
  readonly services: Readonly<Record<string, { readonly profiles?: readonly string[] }>>;
};
const PROFILES = new Set(Object.values(services).flatMap(({ profiles = [] }) => profiles));

const found = (page: string, pattern: RegExp): readonly string[] =>
  [...read(page).matchAll(pattern)].map(([, name]) => name ?? '');

const SELECTOR = /kubectl [^\n`]*-l ([\w./-]+=[\w.-]+)/g;
const DEPLOYMENT = /kubectl [^\n`]*(deploy\/[\w-]+)(?![\w/-])/g;
const SECRET = /create secret generic ([\w-]+)/g;
const OVERLAY = /-k (deploy\/[\w/-]+)/g;
const PROGRAM = /node (dist\/[\w/.-]+\.js)/g;
const PROFILE = /docker compose [^\n`]*--profile ([\w-]+)/g;
const RUN_SERVICE = /docker compose [^\n`]*run --rm ([\w-]+)/g;
const ENV_FILE = /docker compose [^\n`]*--env-file ([\w./-]+)/g;

describe.each(PAGES)('commands of %s', (page) => {
  it.each([
    ['labels', SELECTOR, (name: string) => LABELS.has(name)],
    [
      'deployments',
      DEPLOYMENT,
      (name: string) => DEPLOYMENTS.has(name) || name.startsWith('deploy/kubernetes'),
    ],
    ['secrets', SECRET, (name: string) => SECRETS.has(name)],
    ['folders', OVERLAY, (name: string) => existsSync(`${ROOT}${name}/kustomization.yaml`)],
    ['profiles of compose', PROFILE, (name: string) => PROFILES.has(name)],
    ['services of compose', RUN_SERVICE, (name: string) => name in services],
    ['files of compose', ENV_FILE, (name: string) => existsSync(ROOT + name)],
    [
      'programs',
      PROGRAM,
      (name: string) => existsSync(ROOT + name.replace(/^dist/, 'src').replace(/js$/, 'ts')),
    ],
  ] as const)('name %s that there are', (_what, pattern, isThere) => {
    expect(found(page, pattern).filter((name) => !isThere(name))).toEqual([]);
  });
});

it('are found in the pages', () => {
  const all = (pattern: RegExp): number => PAGES.flatMap((page) => found(page, pattern)).length;
  for (const pattern of [
    SELECTOR,
    DEPLOYMENT,
    SECRET,
    OVERLAY,
    PROFILE,
    RUN_SERVICE,
    ENV_FILE,
    PROGRAM,
  ]) {
    expect(all(pattern)).toBeGreaterThan(0);
  }
  expect(LABELS.size).toBeGreaterThan(3);
});
