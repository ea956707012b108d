import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { validate } from 'dockerfile-utils';
import { parse, parseAllDocuments } from 'yaml';
import { ROLES, SETTING_NAMES } from '../../src/config/app-config.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const read = (file: string): string => readFileSync(`${ROOT}${file}`, 'utf8');

interface Container {
  readonly image: string;
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  readonly envFrom?: readonly { readonly configMapRef: { readonly name: string } }[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  readonly lifecycle: { readonly preStop: { readonly exec: { readonly command: string[] } } };
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly resources: { readonly limits: object; readonly requests: object };
  readonly readinessProbe: { readonly httpGet: { readonly path: string } };
  readonly livenessProbe: { readonly httpGet: { readonly path: string } };
}

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec: {
    readonly replicas?: number;
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly podSelector?: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly scaleTargetRef?: { readonly name: string };
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: {
        readonly containers: readonly [Container];
        readonly volumes: readonly { readonly name: string }[];
        readonly terminationGracePeriodSeconds: number;
        readonly securityContext: Readonly<Record<string, unknown>>;
      };
    };
    readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[];
  };
}

const OVERLAYS = ['testnet', 'production', 'production-s3'];
const WORKLOADS = ['Deployment', 'StatefulSet'];

function rendered(overlay: string): readonly Manifest[] {
  const folder = `${ROOT}deploy/kubernetes/overlays/${overlay}`;
  const text = execFileSync('kubectl', ['kustomize', folder], { encoding: 'utf8' });
  return parseAllDocuments(text).map((document) => document.toJS() as Manifest);
}

/** The schema of a kind, from the package with the types of the Kubernetes API. */
async function checkAgainstSchema(manifest: Manifest): Promise<void> {
  const group = (await import(`kubernetes-models/${manifest.apiVersion}`)) as Record<
    string,
    new (data: Manifest) => { validate(): void }
  >;
  const Model = group[manifest.kind];
  if (Model === undefined) throw new Error(`${manifest.apiVersion} has no ${manifest.kind}`);
  new Model(manifest).validate();
}

describe('Dockerfile', () => {
  const text = read('Dockerfile');

  it('passes a linter', () => {
    expect(validate(text).map(({ message }) => message)).toEqual([]);
    expect(validate('FROM node\nCOPPY a b')).not.toEqual([]);
  });

  it('ends in an image that runs as nobody in particular, from a pinned base', () => {
    const [, last = ''] = text.split(/^FROM (?=\S+$)/m).slice(-2);
    expect(last).toMatch(/^USER node$/m);
    expect(last).toMatch(/^HEALTHCHECK /m);
    for (const [, image = ''] of text.matchAll(/^FROM (node\S*)/gm)) {
      expect(image).toMatch(/^node:20\.\d+\.\d+-bookworm-slim$/);
    }
  });

  it('is given nothing but what it copies', () => {
    const allowed = [...read('.dockerignore').matchAll(/^!(\S+)$/gm)].map(([, path]) => path);
    const copied = [...text.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(
      ([, paths]) => paths?.split(' ') ?? [],
    );
    const roots = new Set([...copied.map((path) => path.split('/')[0])]);
    expect(new Set(allowed.map((path) => path?.split('/')[0]))).toEqual(roots);
  });
});

describe('docker-compose.yml', () => {
  it('is valid with every profile', () => {
    const profiles = ['--profile', 'monitoring', '--profile', 'sandbox'];
    const text = execFileSync('docker-compose', [...profiles, 'config'], {
      cwd: ROOT,
      encoding: 'utf8',
      env: { ...process.env, SIGNER_KEYS: '0x00' },
    });
    const { services } = parse(text) as {
      readonly services: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
    };
    expect(Object.keys(services).sort()).toEqual([
      'anvil',
      'facilitator',
      'grafana',
      'prometheus',
      'redis',
    ]);
    expect(services['facilitator']).toMatchObject({ read_only: true, cap_drop: ['ALL'] });
  });

  it('does not start without keys', () => {
    const run = (): string =>
      execFileSync('docker-compose', ['config'], {
        cwd: ROOT,
        encoding: 'utf8',
        stdio: 'pipe',
        env: { ...process.env, SIGNER_KEYS: '' },
      });
    expect(run).toThrow(/SIGNER_KEYS/);
  });
});

describe.each(OVERLAYS)('kustomize overlay %s', (overlay) => {
  const manifests = rendered(overlay);
  const workloads = manifests.filter(({ kind }) => WORKLOADS.includes(kind));
  const settingsOf = ({ spec }: Manifest): Readonly<Record<string, string>> => {
    const [{ env = [], envFrom = [] }] = spec.template.spec.containers;
    const maps = envFrom.map(
      ({ configMapRef }) =>
        manifests.find(
          ({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === configMapRef.name,
        )?.data ?? {},
    );
    return Object.assign(
      {},
      ...maps,
      Object.fromEntries(env.map(({ name, value }) => [name, value ?? ''])),
    ) as Record<string, string>;
  };

  it('renders manifests that the schemas of Kubernetes take', async () => {
    expect(workloads.length).toBeGreaterThanOrEqual(2);
    for (const manifest of manifests) await checkAgainstSchema(manifest);
    const [first] = workloads;
    const broken = { ...first, spec: { ...first?.spec, replicas: 'two' } } as unknown as Manifest;
    await expect(checkAgainstSchema(broken)).rejects.toThrow(/replicas/);
  });

  it('drains before it is killed: preStop, SHUTDOWN_GRACE_MS and a little fit the grace period', () => {
    for (const workload of workloads) {
      const { terminationGracePeriodSeconds, containers } = workload.spec.template.spec;
      const [, preStop] = containers[0].lifecycle.preStop.exec.command;
      const drain = Number(settingsOf(workload)['SHUTDOWN_GRACE_MS']) / 1000;
      expect(drain).toBeGreaterThan(0);
      expect(terminationGracePeriodSeconds).toBeGreaterThanOrEqual(Number(preStop) + drain + 3);
    }
  });

  it('runs everything without rights, on a read-only file system, within bounds', () => {
    for (const { spec } of workloads) {
      const [container] = spec.template.spec.containers;
      expect(spec.template.spec.securityContext).toMatchObject({ runAsNonRoot: true });
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(container.resources).toMatchObject({
        requests: { cpu: expect.any(String), memory: expect.any(String) },
        limits: { memory: expect.any(String) },
      });
      expect(container.image).toMatch(/:\d+\.\d+\.\d+$/);
      expect(container.readinessProbe.httpGet.path).toBe('/health/ready');
      expect(container.livenessProbe.httpGet.path).toBe('/health/live');
    }
  });

  it('gives keys to workers alone, and mounts every file a setting names', () => {
    for (const workload of workloads) {
      const [{ volumeMounts }] = workload.spec.template.spec.containers;
      const settings = settingsOf(workload);
      expect('SIGNER_KEYS_FILE' in settings).toBe(settings['ROLES'] === 'worker');
      for (const [name, value] of Object.entries(settings)) {
        if (!name.endsWith('_FILE')) continue;
        expect(
          volumeMounts.filter(({ mountPath }) => value.startsWith(`${mountPath}/`)),
        ).toHaveLength(1);
      }
      const { volumes } = workload.spec.template.spec;
      const claims = workload.spec.volumeClaimTemplates ?? [];
      const known = [...volumes, ...claims.map(({ metadata }) => metadata)].map(({ name }) => name);
      expect(volumeMounts.map(({ name }) => name).sort()).toEqual(known.sort());
    }
  });

  it('sets only settings that there are', () => {
    for (const workload of workloads) {
      const { ROLES: role = '', ...settings } = settingsOf(workload);
      expect([...ROLES, 'hub']).toContain(role);
      const names = Object.keys(settings)
        .filter((name) => !name.startsWith('HUB_'))
        .map((name) => (SETTING_NAMES.includes(name) ? name : name.replace(/_FILE$/, '')))
        .map((name) => name.replace(/_\d+$/, '_<chainId>'));
      for (const name of names) expect(SETTING_NAMES).toContain(name);
    }
  });

  it('protects each kind of process: budget, network policy, and one writer of a volume', () => {
    const labelOf = ({ spec }: Manifest): string =>
      spec.template.metadata.labels['app.kubernetes.io/component'] ?? '';
    const ofKind = (kind: string): readonly Manifest[] =>
      manifests.filter((manifest) => manifest.kind === kind);
    for (const workload of workloads) {
      const label = labelOf(workload);
      const policies = ofKind('NetworkPolicy').filter(
        ({ spec }) => spec.podSelector?.matchLabels['app.kubernetes.io/component'] === label,
      );
      expect(policies).toHaveLength(1);
      const budgets = ofKind('PodDisruptionBudget').filter(
        ({ spec }) => spec.selector.matchLabels['app.kubernetes.io/component'] === label,
      );
      // A single writer cannot be spared: a budget would only hold a node up.
      expect(budgets).toHaveLength(workload.kind === 'StatefulSet' ? 0 : 1);
      if (workload.kind === 'StatefulSet') expect(workload.spec.replicas).toBe(1);
    }
    expect(ofKind('HorizontalPodAutoscaler').map(({ spec }) => spec.scaleTargetRef?.name)).toEqual([
      'x402-api',
    ]);
  });
});
