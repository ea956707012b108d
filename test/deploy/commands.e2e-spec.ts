import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import {
  DEPLOYMENTS,
  type Manifest,
  refusalOf,
  rendered,
  settingsOf,
  type Values,
  WORKLOADS,
} from './manifests.js';

/** Commands and values of the documentation against the objects that they are about. */

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PAGES = [
  'docs/runbook.md',
  'docs/running.md',
  'docs/kubernetes.md',
  'docs/redis.md',
  'docs/history.md',
  'docs/reconciliation.md',
];

const read = (file: string): string => readFileSync(`${ROOT}${file}`, 'utf8');

const objects: readonly Manifest[] = Object.values(DEPLOYMENTS).flatMap((values) =>
  rendered(values),
);
const workloads = objects.filter(({ kind }) => WORKLOADS.includes(kind));

/** `key=value` of every label that a pod gets. */
const LABELS = new Set(
  workloads.flatMap(({ spec }) =>
    Object.entries(spec.template.metadata.labels).map(([key, value]) => `${key}=${value}`),
  ),
);
const DEPLOYED = new Set(
  objects.filter(({ kind }) => kind === 'Deployment').map(({ metadata }) => metadata.name),
);
const PORTS = new Set(
  workloads.flatMap(({ spec }) =>
    spec.template.spec.containers[0].ports.map(({ containerPort }) => String(containerPort)),
  ),
);

/** `secret/key` of every file that a setting names. */
const SECRET_KEYS = new Set(
  workloads.flatMap((workload) => {
    const { containers, volumes } = workload.spec.template.spec;
    return Object.entries(settingsOf(workload)).flatMap(([name, path]) => {
      const mount = containers[0].volumeMounts.find((one) => path.startsWith(`${one.mountPath}/`));
      const volume = volumes.find((one) => one.name === mount?.name);
      if (!name.endsWith('_FILE') || mount === undefined) return [];
      return [`${volume?.secret?.secretName ?? ''}/${path.slice(mount.mountPath.length + 1)}`];
    });
  }),
);
const { services } = parse(read('docker-compose.yml')) as {
  readonly services: Readonly<Record<string, { readonly profiles?: readonly string[] }>>;
};
const PROFILES = new Set(Object.values(services).flatMap(({ profiles = [] }) => profiles));

const found = (page: string, pattern: RegExp): readonly string[] =>
  [...read(page).matchAll(pattern)].map(([, name]) => name ?? '');

const SELECTOR = /kubectl [^\n`]*-l ([\w./-]+=[\w.-]+)/g;
const DEPLOYMENT = /kubectl [^\n`]*deploy\/([\w-]+)(?![\w/-])/g;
const FORWARD = /kubectl [^\n`]*port-forward deploy\/[\w-]+ ([\d ]*\d)/g;
const CHART = /helm [^\n`]* (deploy\/[\w/-]+)/g;
const VALUE = /helm [^\n`]*--set ([\w.]+)=/g;
const PROGRAM = /node (dist\/[\w/.-]+\.js)/g;
const PROFILE = /docker compose [^\n`]*--profile ([\w-]+)/g;
const RUN_SERVICE = /docker compose [^\n`]*run --rm ([\w-]+)/g;
const ENV_FILE = /docker compose [^\n`]*--env-file ([\w./-]+)/g;

const VALUES = parse(read('deploy/chart/values.yaml')) as Values;

function hasValue(name: string): boolean {
  const at = (node: unknown, part: string): unknown => (node as Values | undefined)?.[part];
  return name.split('.').reduce<unknown>(at, VALUES) !== undefined;
}

/** `secret/key` of each secret that a page makes. */
function secretsMadeBy(page: string): readonly string[] {
  const text = read(page).replaceAll(/\\\n\s*/g, '');
  return [...text.matchAll(/create secret generic ([\w-]+)([^\n`]*)/g)].flatMap(
    ([, name = '', rest = '']) =>
      [...rest.matchAll(/--from-(?:literal|file)=([\w.-]+)=/g)].map(([, key]) => `${name}/${key}`),
  );
}

describe.each(PAGES)('commands of %s', (page) => {
  it.each([
    ['labels', SELECTOR, (name: string) => LABELS.has(name)],
    ['deployments', DEPLOYMENT, (name: string) => DEPLOYED.has(name)],
    ['ports', FORWARD, (ports: string) => ports.split(' ').every((port) => PORTS.has(port))],
    ['charts', CHART, (name: string) => existsSync(`${ROOT}${name}/Chart.yaml`)],
    ['values', VALUE, (name: string) => hasValue(name)],
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
    FORWARD,
    CHART,
    VALUE,
    PROFILE,
    RUN_SERVICE,
    ENV_FILE,
    PROGRAM,
  ]) {
    expect(all(pattern)).toBeGreaterThan(0);
  }
  expect(LABELS.size).toBeGreaterThan(3);
});

describe('docs/kubernetes.md', () => {
  const page = 'docs/kubernetes.md';

  it('makes each key of a secret that a process reads, and no others', () => {
    // The chain is an example.
    const wanted = [...SECRET_KEYS].filter((key) => key !== 'x402-rpc/97');
    expect([...secretsMadeBy(page)].sort()).toEqual(wanted.sort());
  });

  const examples = [...read(page).matchAll(/^```yaml\n([\s\S]*?)^```/gm)].map(
    ([, text = '']) => [text.split('\n')[0], parse(text) as Values] as const,
  );

  it.each(examples)('has values that the chart takes: %s', (_first, values) => {
    expect(refusalOf(values)).toBe('');
  });

  it('has examples', () => {
    expect(examples.length).toBeGreaterThan(3);
  });
});
