import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { validate } from 'dockerfile-utils';
import { parse } from 'yaml';
import {
  AppConfig,
  KNOWN_NAMES,
  ROLES,
  SETTING_NAMES,
} from '../../src/platform/config/app-config.js';
import {
  checkAgainstSchemas,
  DEPLOYMENTS,
  KUBERNETES,
  type Manifest,
  refusalOf,
  rendered,
  renderedText,
  settingsOf,
  type Values,
  WORKLOADS,
} from './manifests.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const read = (file: string): string => readFileSync(`${ROOT}${file}`, 'utf8');

/** Mounted files of the wallet that are no mere secrets. */
const FILES: Readonly<Record<string, string>> = {
  WALLET_REDIS_URL_FILE: 'redis://wallet-redis.example:6379',
  RPC_URLS_56_FILE: 'https://one.example,https://two.example',
};

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
    const [, command = ''] = /^CMD (\["node".*"dist\/packed\/main\.js"\])$/m.exec(text) ?? [];
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

/** Names of all values, as `api.replicas`. What a map is free to name is left out. */
function namesOf(node: unknown, path: readonly string[] = []): readonly string[] {
  const isFree = ['settings', 'secrets', 'resources', 'serviceAccountAnnotations'];
  const isMap = typeof node === 'object' && node !== null && !Array.isArray(node);
  if (!isMap || isFree.includes(path.at(-1) ?? '')) return [path.join('.')];
  return Object.entries(node).flatMap(([name, value]) => namesOf(value, [...path, name]));
}

interface Schema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
}

/** The same of a JSON schema, whose references lead into itself. */
function namesOfSchema(
  root: Schema,
  node: Schema,
  path: readonly string[] = [],
): readonly string[] {
  const target = (node.$ref ?? '#')
    .split('/')
    .slice(1)
    .reduce<Schema>((one, name) => (one as Readonly<Record<string, Schema>>)[name] ?? {}, root);
  const { properties } = node.$ref === undefined ? node : target;
  if (properties === undefined) return [path.join('.')];
  return Object.entries(properties).flatMap(([name, value]) =>
    namesOfSchema(root, value, [...path, name]),
  );
}

const podsOf = (values: Values): ReadonlyMap<string, string> =>
  new Map(
    rendered(values)
      .filter(({ kind }) => WORKLOADS.includes(kind))
      .map(({ metadata, spec }) => [metadata.name, JSON.stringify(spec.template)]),
  );

describe('the chart', () => {
  it.each(KUBERNETES)('renders what the schemas of Kubernetes %s take', (version) => {
    const texts = Object.values(DEPLOYMENTS).map((values) => renderedText(values));
    const text = texts.join('');
    const count = text.match(/^kind: /gm)?.length ?? 0;
    expect(count).toBeGreaterThan(80);
    expect(checkAgainstSchemas(text, version)).toEqual({ problems: '', count });
    const broken = (texts[0] ?? '').replace('readinessProbe:', 'readinesProbe:');
    expect(checkAgainstSchemas(broken, version).problems).toContain("'readinesProbe' not allowed");
  });

  it('names the oldest Kubernetes of these, and the service by its version', () => {
    const { version } = JSON.parse(read('package.json')) as { readonly version: string };
    expect(parse(read('deploy/chart/Chart.yaml'))).toMatchObject({
      kubeVersion: `>=${(KUBERNETES[0] ?? '').slice(1)}-0`,
      version,
      appVersion: version,
    });
  });

  const values = parse(read('deploy/chart/values.yaml')) as Values;
  const schema = JSON.parse(read('deploy/chart/values.schema.json')) as Schema;
  const check = read('deploy/chart/templates/check.yaml');

  it('has each value in its schema, and each name of the schema among its values', () => {
    const named = namesOfSchema(schema, schema).filter((name) => name !== 'global');
    expect([...named].sort()).toEqual([...namesOf(values)].sort());
    expect(named.length).toBeGreaterThan(40);
  });

  it.each<[string, Values, string]>([
    ['a name that there is not', { replica: 2 }, "additional properties 'replica' not allowed"],
    ['one of a role', { worker: { setting: {} } }, "at '/worker': additional properties 'setting'"],
    [
      'a number as a setting',
      { settings: { QUEUE_MAX: 1e7 } },
      "'/settings/QUEUE_MAX': got number",
    ],
    ['a word as a number', { api: { replicas: 'two' } }, "at '/api/replicas': got string"],
    ['no build', { image: '' }, 'image: name your build with the digest'],
    ['a tag that moves', { image: 'x402-settle:latest' }, 'image: name your build with the digest'],
    [
      'a secret',
      { settings: { REDIS_URL: 'redis://a' } },
      'settings.REDIS_URL is a secret: put it',
    ],
    [
      'a key of a chain',
      { worker: { settings: { SIGNER_KEYS_56: '0x' } } },
      'worker.settings.SIGNER_KEYS_56 is a secret: put it',
    ],
    ['nodes', { settings: { RPC_URLS_56: 'https://a' } }, 'settings.RPC_URLS_56 is a secret: put'],
    ['a port', { settings: { PORT: '80' } }, 'settings.PORT: the chart decides this setting'],
    ['a taken name', { api: { secrets: { redis: 'a' } } }, 'api.secrets.redis: the chart mounts'],
    ['webhooks alone', { history: { webhooks: true } }, 'need history.enabled'],
    [
      'webhooks without keys',
      { apiKeys: false, history: { enabled: true, webhooks: true } },
      'history.webhooks needs apiKeys',
    ],
    ['a wallet at no address', { wallet: { enabled: true } }, 'wallet.publicUrl: the address'],
  ])('refuses %s in plain words', (_what, refused, words) => {
    expect(refusalOf(refused)).toContain(words);
  });

  it('takes no secret as a setting: it knows those of the service', () => {
    const [text = ''] = /\$secrets := list[\s\S]*?(?=\$decided :=)/.exec(check) ?? [];
    const refused = [...text.matchAll(/"([A-Z\d_]+?)(?:_<chainId>)?"/g)].map(([, name]) => name);
    expect(refused.sort()).toEqual([...KNOWN_NAMES.asFiles].sort());
  });

  it('replaces the pods whose settings change, and no others', () => {
    const before = podsOf({});
    expect([...before.keys()]).toEqual(['x402-api', 'x402-worker']);
    const changedBy = (change: Values): readonly string[] =>
      [...podsOf(change)].filter(([name, pod]) => pod !== before.get(name)).map(([name]) => name);
    expect(changedBy({})).toEqual([]);
    expect(changedBy({ settings: { LOG_LEVEL: 'debug' } })).toEqual(['x402-api', 'x402-worker']);
    expect(changedBy({ worker: { settings: { QUEUE_MAX: '9' } } })).toEqual(['x402-worker']);
    expect(changedBy({ api: { maxReplicas: 12 } })).toEqual([]);
  });

  it('lets the settings of a role win, and mounts what they name', () => {
    const [worker] = rendered({
      settings: { RETENTION_DAYS: '7' },
      worker: {
        secrets: { treasury: 'bank' },
        settings: { RETENTION_DAYS: '8', TREASURY_KEY_56_FILE: '/run/secrets/treasury/key' },
      },
    }).filter(({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'x402-worker');
    if (worker === undefined) throw new Error('no worker');
    expect(settingsOf(worker)).toMatchObject({ RETENTION_DAYS: '8', ROLES: 'worker' });
    const { containers, volumes } = worker.spec.template.spec;
    expect(containers[0].volumeMounts).toContainEqual({
      name: 'treasury',
      mountPath: '/run/secrets/treasury',
      readOnly: true,
    });
    expect(volumes.find(({ name }) => name === 'treasury')?.secret?.secretName).toBe('bank');
  });

  it('leaves the time to drain that SHUTDOWN_GRACE_MS asks for', () => {
    const [pod] = rendered({ settings: { SHUTDOWN_GRACE_MS: '60500' } }).filter(({ kind }) =>
      WORKLOADS.includes(kind),
    );
    expect(pod?.spec.template.spec.terminationGracePeriodSeconds).toBe(71);
  });

  it('keeps keys and journal of the wallet, and has one process where one node mounts them', () => {
    const on = (volume: object): readonly Manifest[] =>
      rendered({ wallet: { enabled: true, publicUrl: 'https://a.example', volume } });
    const named = (manifests: readonly Manifest[], kind: string): Manifest | undefined =>
      manifests.find((one) => one.kind === kind && one.metadata.name === 'x402-wallet');
    const many = on({});
    expect(named(many, 'Deployment')?.spec).toMatchObject({ replicas: 2 });
    const one = on({ accessMode: 'ReadWriteOnce', storageClass: 'fast' });
    expect(named(one, 'Deployment')?.spec).toMatchObject({
      replicas: 1,
      strategy: { type: 'Recreate' },
    });
    for (const manifests of [many, one]) {
      const { annotations } = named(manifests, 'PersistentVolumeClaim')?.metadata ?? {};
      expect(annotations).toEqual({ 'helm.sh/resource-policy': 'keep' });
    }
  });

  it('keeps two releases of a namespace apart', () => {
    const all = DEPLOYMENTS['scaled'] ?? {};
    const objects = (release: string): readonly Manifest[] => rendered(all, release);
    const idsOf = (release: string): readonly string[] =>
      objects(release).map(({ kind, metadata }) => `${kind}/${metadata.name}`);
    expect(idsOf('x402').filter((id) => idsOf('other').includes(id))).toEqual([]);
    const text = JSON.stringify(objects('other'));
    const selectors = text.match(/"(?:matchLabels|selector)":\{"app\.kubernetes\.io[^}]*\}/g) ?? [];
    expect(selectors.length).toBeGreaterThan(10);
    for (const one of selectors) expect(one).toContain('"app.kubernetes.io/instance":"other"');
    expect(text).not.toContain('x402-redis');
  });

  it('gives the history its webhooks and its reconciliation, and ways out for both', () => {
    const manifests = rendered(DEPLOYMENTS['history'] ?? {});
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

describe('a deployment that scales by what waits', () => {
  interface Rule {
    readonly seriesQuery: string;
    readonly name: { readonly as: string };
    readonly metricsQuery: string;
  }
  const manifests = rendered(DEPLOYMENTS['scaled'] ?? {});
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
      const [{ env }] = spec.template.spec.containers;
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

describe.each(Object.entries(DEPLOYMENTS))(
  'the chart with the values of %s',
  (deployment, values) => {
    const manifests = rendered(values);
    const workloads = manifests.filter(({ kind }) => WORKLOADS.includes(kind));

    it('drains before it is killed: preStop, SHUTDOWN_GRACE_MS and a little fit the grace period', () => {
      expect(workloads.length).toBeGreaterThanOrEqual(2);
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
        expect(JSON.stringify(workload)).not.toMatch(/secretKeyRef|secretRef|valueFrom/);
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
        const known = [...volumes, ...claims.map(({ metadata }) => metadata)].map(
          ({ name }) => name,
        );
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
        expect(workload.spec.template.spec.containers[0].ports).toContainEqual({
          name: 'ops',
          containerPort: Number(port),
        });
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
        const scaled = workloads.find(
          ({ metadata }) => metadata.name === spec.scaleTargetRef?.name,
        );
        // A number of its own would undo the autoscaler's at each apply.
        expect(scaled?.spec.replicas).toBeUndefined();
      }
      expect(
        ofKind('HorizontalPodAutoscaler').map(({ spec }) => spec.scaleTargetRef?.name),
      ).toEqual(deployment === 'scaled' ? ['x402-api', 'x402-worker'] : ['x402-api']);
    });
  },
);
