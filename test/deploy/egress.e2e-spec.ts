import { describe, expect, it } from '@jest/globals';
import { NOT_PUBLIC } from '../../src/platform/fetch/address-guard.js';
import {
  DEPLOYMENTS,
  type Egress,
  type Manifest,
  type PodSelector,
  rendered,
  WORKLOADS,
} from './manifests.js';

type Labels = Readonly<Record<string, string>>;

function selects(
  { matchLabels = {}, matchExpressions = [] }: PodSelector,
  labels: Labels,
): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values }) => {
      expect(operator).toBe('In');
      return values.includes(labels[key] ?? '');
    })
  );
}

/** Where the pods of a workload may go, by all policies that are about them, as `destination:port`. */
function waysOut(workload: Manifest, manifests: readonly Manifest[]): readonly string[] {
  const { labels } = workload.spec.template.metadata;
  const rules = manifests
    .filter(({ kind, spec }) => kind === 'NetworkPolicy' && selects(spec.podSelector ?? {}, labels))
    .flatMap(({ spec }) => spec.egress ?? []);
  const ways = rules.flatMap((rule) =>
    (rule.ports ?? [{ port: 'any' }]).map(({ port }) => `${destinationOf(rule)}:${port}`),
  );
  return [...new Set(ways)].sort();
}

const PRIVATE = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'];
const PUBLIC = ['0.0.0.0/0', '2000::/3'];

function destinationOf({ to = [] }: Egress): string {
  const text = JSON.stringify(to);
  if (text.includes('kube-dns')) return 'dns';
  if (text.includes('app.kubernetes.io/component')) return 'pods';
  const blocks = to.map(({ ipBlock }) => ipBlock?.cidr);
  if (JSON.stringify(blocks) === JSON.stringify(PRIVATE)) return 'private';
  if (JSON.stringify(blocks) === JSON.stringify(PUBLIC)) return 'public';
  return `unknown ${text}`;
}

const DNS = 'dns:53';
const REDIS = 'private:6379';
const WAYS: Readonly<Record<string, readonly string[]>> = {
  'x402-api': [DNS, REDIS, 'public:443'],
  'x402-worker': [DNS, REDIS, 'public:443'],
  'x402-hub': [DNS, REDIS],
  'x402-wallet': [DNS, 'pods:http', REDIS, 'public:443', 'public:80'],
  'x402-history': [DNS, 'private:5432', REDIS, 'public:443'],
};

/** What the values of a deployment add to these. */
function expected(deployment: string, name: string): readonly string[] {
  const hasHistory = ['history', 'scaled'].includes(deployment);
  const settles = ['x402-api', 'x402-worker'].includes(name);
  return [
    ...(WAYS[name] ?? []),
    ...(hasHistory && settles ? ['private:5432'] : []),
    ...(deployment === 'scaled' ? ['private:26379'] : []),
    ...(deployment === 'hub-s3' && name === 'x402-hub' ? ['public:443'] : []),
  ].sort();
}

describe.each(Object.entries(DEPLOYMENTS))('the ways out of %s', (deployment, values) => {
  const manifests = rendered(values);
  const workloads = manifests.filter(({ kind }) => WORKLOADS.includes(kind));

  it('are, for each kind of process, those it has use for', () => {
    expect(workloads.length).toBeGreaterThanOrEqual(2);
    for (const workload of workloads) {
      const { name } = workload.metadata;
      expect([name, waysOut(workload, manifests)]).toEqual([name, expected(deployment, name)]);
    }
  });

  it('lead to the public Internet without what the service itself holds for not public', () => {
    const blocks = manifests
      .flatMap(({ kind, spec }) => (kind === 'NetworkPolicy' ? (spec.egress ?? []) : []))
      .flatMap(({ to = [] }) => to.map(({ ipBlock }) => ipBlock))
      .filter((block) => PUBLIC.includes(block?.cidr ?? ''));
    expect(blocks.length).toBeGreaterThanOrEqual(4);
    for (const block of blocks) {
      const left = block?.cidr === '0.0.0.0/0' ? NOT_PUBLIC.ipv4 : NOT_PUBLIC.ipv6;
      expect(block?.except).toEqual(left);
    }
  });
});
