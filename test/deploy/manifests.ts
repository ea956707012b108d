import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments, stringify } from 'yaml';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Where `npm run test:rest` puts Helm, kubeconform and the schemas of Kubernetes (`scripts/run.mjs`). */
const TOOLS = join(ROOT, 'node_modules', '.cache', 'chart-tools');
const PATH = `${TOOLS}${delimiter}${process.env['PATH'] ?? ''}`;

const SCHEMAS = join(TOOLS, 'schemas');
/** The versions of Kubernetes whose schemas there are, the oldest first. */
export const KUBERNETES = readdirSync(SCHEMAS).sort();

/** Of a network policy: which pods it is about. */
export interface PodSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values: readonly string[];
  }[];
}

/** Of a network policy: where its pods may go, and at which ports. */
export interface Egress {
  readonly to?: readonly {
    readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] };
    readonly namespaceSelector?: object;
    readonly podSelector?: PodSelector;
  }[];
  readonly ports?: readonly { readonly port: number | string }[];
}

interface Container {
  readonly image: string;
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  readonly lifecycle: { readonly preStop: { readonly exec: { readonly command: string[] } } };
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly resources: { readonly limits: object; readonly requests: object };
  readonly readinessProbe: { readonly httpGet: { readonly path: string } };
  readonly livenessProbe: { readonly httpGet: { readonly path: string } };
  readonly startupProbe: { readonly periodSeconds: number; readonly failureThreshold: number };
}

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly egress?: readonly Egress[];
    readonly policyTypes?: readonly string[];
    readonly maxUnavailable?: number;
    readonly minAvailable?: number;
    readonly replicas?: number;
    readonly strategy?: { readonly type?: string };
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly podSelector?: PodSelector;
    readonly scaleTargetRef?: { readonly name: string };
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: {
        readonly containers: readonly [Container];
        readonly volumes: readonly {
          readonly name: string;
          readonly secret?: { readonly secretName: string };
        }[];
        readonly terminationGracePeriodSeconds: number;
        readonly securityContext: Readonly<Record<string, unknown>>;
      };
    };
    readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[];
  };
}

export type Values = Readonly<Record<string, unknown>>;

/** Made up: no registry has it. */
const IMAGE = `registry.example/x402-settle@sha256:${'0'.repeat(64)}`;
const HISTORY = { enabled: true, webhooks: true, reconcileAt: '03:30' };

/** Deployments that the tests look at, by the values that make them. */
export const DEPLOYMENTS: Readonly<Record<string, Values>> = {
  least: { apiKeys: false, chains: [97], worker: { replicas: 1 } },
  hub: { hub: { enabled: true } },
  'hub-s3': { hub: { enabled: true, s3: { bucket: 'files', region: 'eu-central-1' } } },
  history: { hub: { enabled: true }, history: HISTORY },
  scaled: {
    hub: { enabled: true },
    history: HISTORY,
    queueRedis: true,
    scaleByQueue: true,
    network: { redisPorts: [6379, 26379] },
  },
  wallet: {
    hub: { enabled: true },
    wallet: { enabled: true, publicUrl: 'https://wallet.example' },
  },
};
export const WORKLOADS = ['Deployment', 'StatefulSet'];

/** What `helm template` prints for a release. */
export function renderedText(values: Values, release = 'x402'): string {
  const cluster = ['--namespace', 'x402', '--kube-version', (KUBERNETES[0] ?? '').slice(1)];
  const args = ['template', release, `${ROOT}deploy/chart`, ...cluster, '--values', '-'];
  return execFileSync('helm', args, {
    encoding: 'utf8',
    input: stringify({ image: IMAGE, ...values }),
    env: { ...process.env, PATH },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
}

export function rendered(values: Values, release?: string): readonly Manifest[] {
  return parseAllDocuments(renderedText(values, release)).map(
    (document) => document.toJS() as Manifest,
  );
}

/** What Helm says to values that it refuses; empty if it takes them. */
export function refusalOf(values: Values): string {
  try {
    renderedText(values);
    return '';
  } catch (error) {
    return String((error as { stderr?: unknown }).stderr ?? error);
  }
}

/**
 * Holds manifests against the schemas of a version of Kubernetes; a field that there is not counts as wrong.
 *
 * @returns what is wrong, and how many manifests were read.
 */
export function checkAgainstSchemas(
  text: string,
  version: string,
): { readonly problems: string; readonly count: number } {
  const options = ['-strict', '-output', 'json', '-summary'];
  const schemas = join(SCHEMAS, version, '{{.ResourceKind}}{{.KindSuffix}}.json');
  let output: string;
  try {
    output = execFileSync('kubeconform', [...options, '-schema-location', schemas], {
      encoding: 'utf8',
      input: text,
      env: { ...process.env, PATH },
    });
  } catch (error) {
    output = (error as { stdout?: string }).stdout ?? '';
  }
  const { resources, summary } = JSON.parse(output) as {
    readonly resources: readonly { kind: string; name: string; msg: string }[] | null;
    readonly summary: Readonly<Record<string, number>>;
  };
  return {
    problems: (resources ?? []).map(({ kind, name, msg }) => `${kind} ${name}: ${msg}`).join('\n'),
    count: summary['valid'] ?? 0,
  };
}

/** The settings of a process, as its container gets them. */
export function settingsOf({ spec }: Manifest): Readonly<Record<string, string>> {
  const [{ env }] = spec.template.spec.containers;
  return Object.fromEntries(env.map(({ name, value }) => [name, value]));
}
