import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { validate } from 'dockerfile-utils';
import { parse } from 'yaml';
import { AppConfig, ROLES, SETTING_NAMES } from '../../src/platform/config/app-config.js';
import { type Manifest, OVERLAYS, rendered, WORKLOADS } from './manifests.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const read = (file: string): string => readFileSync(`${ROOT}${file}`, 'utf8');

/** Mounted files of the wallet that are no mere secrets. */
const FILES: Readonly<Record<string, string>> = {
  WALLET_REDIS_URL_FILE: 'redis://wallet-redis.example:6379',
  RPC_URLS_56_FILE: 'https://one.example,https://two.example',
};

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
      expect(image).toMatch(/^node:24\.\d+\.\d+-bookworm-slim$/);
    }
  });

  it('starts the service as the package does', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const [, command = ''] = /^CMD (\["node".*"dist\/main\.js"\])$/m.exec(text) ?? [];
    expect((JSON.parse(command) as string[]).join(' ')).toBe(scripts['start:prod']);
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
  interface ComposeFile {
    readonly services: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
    readonly secrets: Readonly<Record<string, { readonly file: string }>>;
  }
  // As strict as Compose itself: a key that stands there twice is an error. containers.e2e-spec runs it.
  const { services, secrets } = parse(read('docker-compose.yml'), {
    strict: true,
    uniqueKeys: true,
    merge: true,
  }) as ComposeFile;

  it('has a service for each part, the facilitator without rights on a read-only file system', () => {
    expect(Object.keys(services).sort()).toEqual([
      'anvil',
      'buyer',
      'facilitator',
      'grafana',
      'history',
      'postgres',
      'prometheus',
      'redis',
      'seller',
    ]);
    for (const name of ['facilitator', 'history']) {
      expect(services[name]).toMatchObject({ read_only: true, cap_drop: ['ALL'] });
    }
  });

  it('publishes nothing beyond this machine unless told to', () => {
    for (const { ports = [] } of Object.values(services)) {
      for (const port of ports as readonly string[]) {
        expect(port).toMatch(/^(127\.0\.0\.1|\$\{BIND_ADDRESS:-127\.0\.0\.1\}):/);
      }
    }
  });

  it('hands on every setting of the file beside it, and decides only what belongs to the container', () => {
    expect(services['facilitator']?.['env_file']).toEqual([
      { path: '${FACILITATOR_ENV:-facilitator.env}', required: false },
    ]);
    const environment = services['facilitator']?.['environment'] as Record<string, string>;
    expect(Object.keys(environment).sort()).toEqual([
      'HOST',
      'HUB_DATA_DIR',
      'OPS_HOST',
      'OPS_NAMES',
      'OPS_PORT',
      'PORT',
      'REDIS_URL',
      'SIGNER_KEYS_FILE',
      'WALLET_AUDIT_DIR',
      'WALLET_KEYSTORE_DIR',
    ]);
  });

  it('keeps keys in files, not in the environment', () => {
    expect(secrets['signer-keys']?.file).toBe('${SIGNER_KEYS_PATH:-./secrets/signer-keys}');
    const environment = services['facilitator']?.['environment'] as Record<string, string>;
    expect(environment['SIGNER_KEYS_FILE']).toBe('/run/secrets/signer-keys');
    expect(Object.keys(environment)).not.toContain('SIGNER_KEYS');
  });
});

describe('components of kustomize', () => {
  it('are each in an overlay, which are all checked', () => {
    const kubernetes = `${ROOT}deploy/kubernetes`;
    expect(readdirSync(`${kubernetes}/overlays`).sort()).toEqual([...OVERLAYS].sort());
    const used = OVERLAYS.flatMap((overlay) => {
      const { components = [] } = parse(
        read(`deploy/kubernetes/overlays/${overlay}/kustomization.yaml`),
      ) as { components?: string[] };
      return components.map((path) => path.replace('../../components/', ''));
    });
    expect([...new Set(used)].sort()).toEqual(readdirSync(`${kubernetes}/components`).sort());
  });

  it('give the history its webhooks and its reconciliation, and ways out for both', () => {
    const manifests = rendered('production-history');
    const named = (kind: string, name: string) =>
      manifests.find((one) => one.kind === kind && one.metadata.name === name);
    const envOf = (name: string) =>
      (named('Deployment', name)?.spec.template.spec.containers[0].env ?? []).map(
        (one) => one.name,
      );
    expect(envOf('x402-history')).toEqual(
      expect.arrayContaining(['API_KEYS_FILE', 'RECONCILE_AT', 'WEBHOOK_KEY_FILE']),
    );
    expect(envOf('x402-api')).toEqual(
      expect.arrayContaining(['API_KEYS_FILE', 'WEBHOOK_KEY_FILE']),
    );
    expect(envOf('x402-worker')).not.toContain('WEBHOOK_KEY_FILE');
    const ports = named('NetworkPolicy', 'x402-history')?.spec.egress?.flatMap(
      ({ ports: open = [] }) => open.map(({ port }) => port),
    );
    const { labels } = named('Deployment', 'x402-history')?.spec.template.metadata ?? {};
    expect(labels).toMatchObject({ egress: 'public' });
    expect(new Set(ports)).toEqual(new Set([53, 5432, 6379]));
  });
});

describe('the overlay production-scaled', () => {
  interface Rule {
    readonly seriesQuery: string;
    readonly name: { readonly as: string };
    readonly metricsQuery: string;
  }
  const manifests = rendered('production-scaled');
  const { externalRules } = parse(read('deploy/monitoring/adapter-rules.yml')) as {
    externalRules: readonly Rule[];
  };

  it('scales by metrics that the adapter makes of series there are', () => {
    const text = JSON.stringify(manifests);
    const asked = [...text.matchAll(/"external":{"metric":{"name":"(\w+)"}/g)].map(
      ([, one]) => one,
    );
    expect(asked.sort()).toEqual(externalRules.map(({ name }) => name.as).sort());
    const page = read('docs/metrics.md');
    for (const { seriesQuery, metricsQuery } of externalRules) {
      const series = metricsQuery.match(/x402_\w+/g) ?? [];
      expect(series).toContain(seriesQuery);
      for (const one of series) expect(page).toContain(`| \`${one}\` | gauge |`);
    }
  });

  it('takes the queues of jobs of all that have them to a Redis of their own', () => {
    for (const { kind, metadata, spec } of manifests) {
      if (!WORKLOADS.includes(kind)) continue;
      const [{ env = [] }] = spec.template.spec.containers;
      const hasQueue = ['x402-api', 'x402-worker', 'x402-history'].includes(metadata.name);
      expect(env.some(({ name }) => name === 'QUEUE_REDIS_URL_FILE')).toBe(hasQueue);
      expect(JSON.stringify(spec).includes('"secretName":"x402-queue-redis"')).toBe(hasQueue);
    }
  });

  it('lets all that know a Redis reach its Sentinels', () => {
    const policies = manifests.filter(
      ({ kind, metadata: { name } }) =>
        kind === 'NetworkPolicy' && !['x402-public', 'x402-web'].includes(name),
    );
    expect(policies).toHaveLength(4);
    for (const { spec } of policies) {
      expect(JSON.stringify(spec.egress)).toContain('{"port":26379}');
    }
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

  it('gives a start on a busy node three minutes before the pod is restarted', () => {
    for (const { spec } of workloads) {
      const { periodSeconds, failureThreshold } = spec.template.spec.containers[0].startupProbe;
      expect(periodSeconds * failureThreshold).toBeGreaterThanOrEqual(180);
    }
  });

  it('reads every secret from a file', () => {
    for (const workload of workloads) {
      for (const [name, value] of Object.entries(settingsOf(workload))) {
        // A folder is where secrets are kept, sealed.
        const isSecret =
          !name.endsWith('_DIR') &&
          /KEY|SECRET|TOKEN|PASSWORD|REDIS_URL|DATABASE_URL|RPC_URLS/.test(name);
        if (isSecret) expect([name, value]).toEqual([expect.stringMatching(/_FILE$/), value]);
      }
      const [{ env = [] }] = workload.spec.template.spec.containers;
      expect(JSON.stringify(env)).not.toContain('secretKeyRef');
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
      // A tag can be moved. Only the test network may follow one.
      expect(container.image).toMatch(
        overlay === 'testnet' ? /:\d+\.\d+\.\d+$/ : /^[^:@]+@sha256:[0-9a-f]{64}$/,
      );
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

  it('mounts no secret that the page does not say how to make', () => {
    const page = read('docs/kubernetes.md');
    for (const { spec } of workloads) {
      const { volumes } = spec.template.spec;
      for (const { secret } of volumes) {
        if (secret !== undefined) expect(page).toContain(secret.secretName);
      }
    }
  });

  it('keeps the Redis of hub and wallet apart from that of the ledger', () => {
    const own: Readonly<Record<string, readonly [setting: string, secret: string]>> = {
      hub: ['HUB_REDIS_URL_FILE', 'x402-hub-redis'],
      wallet: ['WALLET_REDIS_URL_FILE', 'x402-wallet-redis'],
    };
    const ledger = ['REDIS_URL_FILE', 'x402-redis'] as const;
    for (const workload of workloads) {
      const settings = settingsOf(workload);
      const mine = own[settings['ROLES'] ?? ''] ?? ledger;
      const secrets = JSON.stringify(workload.spec.template.spec.volumes);
      for (const [setting, secret] of [...Object.values(own), ledger]) {
        expect(setting in settings).toBe(setting === mine[0]);
        expect(secrets.includes(`"${secret}"`)).toBe(secret === mine[1]);
      }
    }
  });

  it('gives the secrets of the wallet to the wallet alone', () => {
    for (const workload of workloads) {
      const { ROLES: role, WALLET_PROVIDER: provider } = settingsOf(workload);
      expect(JSON.stringify(workload).includes('"secretName":"x402-wallet"')).toBe(
        role === 'wallet',
      );
      expect(provider).toBe(role === 'wallet' ? 'local' : undefined);
      if (role !== 'wallet') continue;
      const { REDIS_URL: ledger, ...wanted } = Object.fromEntries(
        Object.entries(settingsOf(workload)).map(([name, value]) => [
          name.replace(/_FILE$/, ''),
          name.endsWith('_FILE') ? (FILES[name] ?? 'x'.repeat(32)) : value,
        ]),
      );
      expect(ledger).toBeUndefined();
      expect(AppConfig.fromEnv(wanted).wallet?.provider.kind).toBe('local');
    }
  });

  it('shows operators what is theirs at a port that no service leads to', () => {
    for (const workload of workloads) {
      const { OPS_PORT: port } = settingsOf(workload);
      const text = JSON.stringify(workload);
      expect(text).toContain(`"prometheus.io/port":"${port ?? ''}"`);
      expect(text).toContain(`{"containerPort":${port ?? ''},"name":"ops"}`);
    }
    const services = manifests.filter(({ kind }) => kind === 'Service');
    expect(services.length).toBeGreaterThan(0);
    expect(JSON.stringify(services)).not.toMatch(/"ops"|4023/);
    const policies = manifests.filter(
      ({ kind, spec }) =>
        kind === 'NetworkPolicy' && (spec.policyTypes ?? ['Ingress']).includes('Ingress'),
    );
    expect(policies).toHaveLength(workloads.length);
    for (const { spec } of policies) {
      const { ingress } = spec as unknown as { ingress: { from?: unknown; ports: unknown }[] };
      const open = ingress.filter(({ ports }) => JSON.stringify(ports).includes('"ops"'));
      expect(open).toHaveLength(1);
      expect(JSON.stringify(open[0]?.from)).toContain('monitoring');
    }
  });

  it('lets those reach the database who are given it', () => {
    for (const workload of workloads) {
      const label = workload.spec.template.metadata.labels['app.kubernetes.io/component'];
      const [policy] = manifests.filter(
        ({ kind, spec }) =>
          kind === 'NetworkPolicy' &&
          spec.podSelector?.matchLabels?.['app.kubernetes.io/component'] === label,
      );
      const hasDatabase = JSON.stringify(workload).includes('DATABASE_URL_FILE');
      expect(JSON.stringify(policy).includes('{"port":5432}')).toBe(hasDatabase);
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
        ({ spec }) => spec.podSelector?.matchLabels?.['app.kubernetes.io/component'] === label,
      );
      expect(policies).toHaveLength(1);
      const budgets = ofKind('PodDisruptionBudget').filter(
        ({ spec }) => spec.selector.matchLabels['app.kubernetes.io/component'] === label,
      );
      // A single writer cannot be spared: a budget would only hold a node up.
      expect(budgets).toHaveLength(workload.kind === 'StatefulSet' ? 0 : 1);
      // A least number of pods never lets the only one go: the drain of its node would wait for good.
      for (const { spec } of budgets) {
        expect([spec.maxUnavailable, spec.minAvailable]).toEqual([1, undefined]);
      }
      if (workload.kind === 'StatefulSet') expect(workload.spec.replicas).toBe(1);
    }
    for (const { spec } of ofKind('HorizontalPodAutoscaler')) {
      const scaled = workloads.find(({ metadata }) => metadata.name === spec.scaleTargetRef?.name);
      // A number of its own would undo the autoscaler's at each apply.
      expect(scaled?.spec.replicas).toBeUndefined();
    }
    expect(ofKind('HorizontalPodAutoscaler').map(({ spec }) => spec.scaleTargetRef?.name)).toEqual(
      overlay === 'production-scaled' ? ['x402-api', 'x402-worker'] : ['x402-api'],
    );
  });
});
