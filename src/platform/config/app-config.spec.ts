import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { privateKeyToAddress } from 'viem/accounts';
import { MULTICALL3, PERMIT2 } from '../../protocol/evm/contracts.js';
import { AppConfig, ConfigError } from './app-config.js';

const KEY = `0x${'11'.repeat(32)}` as const;
const OTHER_KEY = `0x${'22'.repeat(32)}`;
const ASSET = 'eip155:56/0xcE24439F2D9C6a2289F741120FE202248B666666';
const base = { REDIS_URL: 'redis://localhost:6379', SIGNER_KEYS: KEY };
const configOf = (env: Record<string, string>) => AppConfig.fromEnv({ ...base, ...env });

function problemsOf(env: Record<string, string>): readonly string[] {
  try {
    AppConfig.fromEnv(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
  }
  throw new Error('these settings were taken');
}

/** As the 2.27 SDK names them in its default assets. */
const USDC_OF_BASE = {
  address: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
  decimals: 6,
  eip712: { name: 'USD Coin', version: '2' },
};
const USDC_OF_BASE_SEPOLIA = {
  address: '0x036cbd53842c5426634e7929541ec2318f3dcf7e',
  decimals: 6,
  eip712: { name: 'USDC', version: '2' },
};

describe('AppConfig', () => {
  it('serves BNB Chain and its test network by default', () => {
    const { networks, port, settleWaitMs } = configOf({});
    expect(networks.map(({ network }) => network)).toEqual(['eip155:56', 'eip155:97']);
    expect(networks.every(({ usesPublicEndpoints }) => usesPublicEndpoints)).toBe(true);
    expect([port, settleWaitMs]).toEqual([4022, 20_000]);
  });

  it('serves Base where it is named, with USDC and endpoints built in', () => {
    const { networks, lanes } = configOf({ NETWORKS: 'eip155:8453,eip155:84532' });
    expect(
      networks.map(({ network, usesPublicEndpoints, rpcUrls, knownTokens }) => ({
        network,
        usesPublicEndpoints,
        rpcUrls: rpcUrls.map((url) => url.reveal()),
        knownTokens,
      })),
    ).toEqual([
      {
        network: 'eip155:8453',
        usesPublicEndpoints: true,
        rpcUrls: ['https://mainnet.base.org'],
        knownTokens: [expect.objectContaining(USDC_OF_BASE)],
      },
      {
        network: 'eip155:84532',
        usesPublicEndpoints: true,
        rpcUrls: ['https://sepolia.base.org'],
        knownTokens: [expect.objectContaining(USDC_OF_BASE_SEPOLIA)],
      },
    ]);
    expect(lanes.batchSafeAssets).toContain(`eip155:8453/${USDC_OF_BASE.address}`);
  });

  it('checks sellers only where that is turned on', () => {
    expect(configOf({ DOCTOR_ALLOW: 'localhost' }).doctor).toBeUndefined();
    expect(configOf({ DOCTOR: 'true', DOCTOR_ALLOW: 'LocalHost,127.0.0.1:4021' }).doctor).toEqual({
      allow: new Set(['localhost', '127.0.0.1:4021']),
      checksPerMinute: 10,
    });
    const faulty = { DOCTOR: 'on', DOCTOR_ALLOW: 'http://x', RATE_LIMIT_DOCTOR: '0' };
    expect(problemsOf({ ...base, ...faulty })).toEqual([
      expect.stringContaining('DOCTOR:'),
      expect.stringContaining('DOCTOR_ALLOW:'),
      expect.stringContaining('RATE_LIMIT_DOCTOR:'),
    ]);
  });

  it('knows the proxies of the schemes, and which signers are to be taken out', () => {
    const signer = `0x${'Ab'.repeat(20)}`;
    const proxy = `0x${'cD'.repeat(20)}`;
    const { networks, lanes } = configOf({
      RETIRING_SIGNERS: signer,
      UPTO_PERMIT2_PROXY_56: proxy,
    });
    expect([...lanes.retiringSigners]).toEqual([signer.toLowerCase()]);
    expect(networks.map(({ schemeContracts }) => schemeContracts.uptoProxy)).toEqual([
      proxy.toLowerCase(),
      '0x4020a4f3b7b90cca423b9fabcc0ce57c6c240002',
    ]);
    expect(problemsOf({ ...base, RETIRING_SIGNERS: 'me' }).join()).toContain('RETIRING_SIGNERS');
  });

  it('is a facilitator and nothing else when nothing else is asked for', () => {
    const { roles, ops, wallet, hub } = configOf({});
    expect([[...roles], ops, wallet]).toEqual([['api', 'worker'], undefined, undefined]);
    expect([...configOf({ ROLES: 'all' }).roles]).toEqual(['api', 'worker', 'hub', 'wallet']);
    // The limits for strangers hold by default.
    expect(hub).toMatchObject({ isStrict: true, ratePerSecond: 20, maxObjects: 200_000 });
    expect(hub.quotaBytes).toBe(2 ** 30);
  });

  it('takes proxies by their count or their networks, and no malformed network', () => {
    for (const proxies of ['off', '2', '10.0.0.1', '10.0.0.0/8, fc00::/7']) {
      expect(configOf({ TRUST_PROXY: proxies }).trustProxy).toBe(proxies);
    }
    for (const wrong of ['true', 'loopback', '10.0.0.0/99', '300.1.1.1', '100']) {
      expect(problemsOf({ ...base, TRUST_PROXY: wrong }).join()).toContain('TRUST_PROXY: must be');
    }
  });

  it('gives hub and wallet a Redis of their own where they have one', () => {
    const urls = (env: Record<string, string>): string[] => {
      const { redis } = AppConfig.fromEnv(env);
      return [redis.ledger, redis.hub, redis.wallet].map((url) => url.reveal());
    };
    const [ledger, hub] = ['redis://ledger', 'redis://hub'];
    expect(urls({ ...base, REDIS_URL: ledger })).toEqual([ledger, ledger, ledger]);
    expect(urls({ ...base, REDIS_URL: ledger, HUB_REDIS_URL: hub })).toEqual([ledger, hub, ledger]);
    // A process that does not settle has no business with the ledger.
    expect(urls({ ROLES: 'hub', HUB_REDIS_URL: hub })).toEqual([hub, hub, hub]);
    for (const env of [
      { ROLES: 'hub,wallet', HUB_REDIS_URL: hub },
      { ROLES: 'api', HUB_REDIS_URL: hub },
    ]) {
      expect(problemsOf(env)).toContain('REDIS_URL: is required');
    }
  });

  it('keeps the queues with the ledger unless they have a Redis of their own, of any kind', () => {
    const queueOf = (env: Record<string, string>): string => configOf(env).redis.queue.reveal();
    const ledger = 'redis://ledger';
    expect(queueOf({ REDIS_URL: ledger })).toBe(ledger);
    for (const own of ['redis://queue', 'redis+sentinel://one/main', 'redis+cluster://one,two']) {
      const env = { REDIS_URL: ledger, QUEUE_REDIS_URL: own };
      expect(queueOf(env)).toBe(own);
      expect(configOf(env).redis.ledger.reveal()).toBe(ledger);
    }
    expect(problemsOf({ ...base, QUEUE_REDIS_URL: 'here' }).join()).toContain('QUEUE_REDIS_URL');
  });

  it('keeps hub and wallet on one primary where the ledger is in a Cluster', () => {
    const [cluster, hub] = ['redis+cluster://one,two', 'redis://hub'];
    expect(configOf({ REDIS_URL: cluster }).redis.ledger.reveal()).toBe(cluster);
    const both = { ...base, REDIS_URL: cluster, ROLES: 'api,worker,hub' };
    expect(configOf({ ...both, HUB_REDIS_URL: hub }).redis.hub.reveal()).toBe(hub);
    expect(problemsOf(both)).toContain(
      'HUB_REDIS_URL: is required where REDIS_URL names a Redis Cluster: the hub needs one primary, or the Sentinels of one primary',
    );
    expect(problemsOf({ ...both, HUB_REDIS_URL: cluster })).toContain(
      'HUB_REDIS_URL: must name one primary, or the Sentinels of one primary, not a Redis Cluster',
    );
  });

  it('keeps the operators off the public port', () => {
    expect(configOf({ OPS_PORT: '4023' }).ops).toEqual({
      port: 4023,
      host: '127.0.0.1',
      names: ['localhost', '127.0.0.1'],
    });
    const named = { OPS_PORT: '4023', OPS_NAMES: 'Facilitator' };
    expect(configOf(named).ops?.names).toContain('facilitator');
    expect(problemsOf({ ...base, OPS_PORT: '4022' })).toEqual([
      'OPS_PORT: must be another port than PORT, which is public',
    ]);
  });

  it('lets no sign-in to the wallet open the hub, also where the wallet is at its default address', () => {
    const site = { HUB_PUBLIC_URL: 'https://x.example', WALLET_PUBLIC_URL: 'https://x.example' };
    expect(problemsOf({ ...base, ROLES: 'all', ...site })[0]).toMatch(/^HUB_PUBLIC_URL: must not/);
    // Also where the wallet is only by default: the values are compared that hold.
    const secret = 'x'.repeat(32);
    const byDefault = {
      ROLES: 'all',
      WALLET_PROVIDER: 'local',
      WALLET_KEYSTORE_SECRET: secret,
      WALLET_TOKEN_SECRET: secret,
      WALLET_SEAL_SECRET: secret,
      HUB_PUBLIC_URL: 'http://127.0.0.1:4022',
    };
    expect(problemsOf({ ...base, ...byDefault })[0]).toMatch(/^HUB_PUBLIC_URL: must not/);
    expect(() => configOf({ ...byDefault, PORT: '4100' })).not.toThrow();
    const part = { ...site, HUB_PUBLIC_URL: 'https://x.example/api' };
    expect(() => configOf({ ROLES: 'all', ...part })).not.toThrow();
  });

  it('asks a private hub for its address', () => {
    expect(problemsOf({ ...base, ROLES: 'all', HUB_MODE: 'private' })[0]).toMatch(/^HUB_ADDRESS/);
  });

  it('signs clients in to the wallet only under an address that can be an issuer', () => {
    const secret = 'x'.repeat(32);
    const secrets = { WALLET_TOKEN_SECRET: secret, WALLET_SEAL_SECRET: secret };
    const wallet = { WALLET_PROVIDER: 'local', WALLET_KEYSTORE_SECRET: secret, ...secrets };
    const at = (url: string) => ({
      ...base,
      ROLES: 'wallet',
      ...wallet,
      WALLET_OAUTH: 'true',
      WALLET_PUBLIC_URL: url,
    });
    for (const url of ['https://w.example/', 'https://w.example:8443', 'http://127.0.0.1:4022']) {
      expect(configOf(at(url)).wallet?.hasOAuth).toBe(true);
    }
    for (const url of ['http://w.example', 'https://w.example/wallet', 'https://w.example/?a']) {
      expect(problemsOf(at(url))[0]).toMatch(/^WALLET_OAUTH: /);
    }
    expect(configOf({ ROLES: 'wallet', ...wallet }).wallet?.hasOAuth).toBe(false);
  });

  it('lets wallets keep files at a hub whose address is no contract of payments', () => {
    const secret = 'x'.repeat(32);
    const secrets = { WALLET_TOKEN_SECRET: secret, WALLET_SEAL_SECRET: secret };
    const keys = { WALLET_PROVIDER: 'local', WALLET_KEYSTORE_SECRET: secret, ...secrets };
    const wallet = { ...base, ROLES: 'wallet', ...keys };
    const [hub, token] = [`0x${'Cc'.repeat(20)}`, `0x${'Aa'.repeat(20)}`];
    expect(configOf(wallet).wallet?.hub).toBeUndefined();
    for (const site of ['https://f.example', 'https://f.example/api', 'https://f.example/api/']) {
      const named = { ...wallet, WALLET_HUB_URL: site, HUB_ADDRESS: hub };
      const read = { url: 'https://f.example', address: hub.toLowerCase() };
      expect(configOf(named).wallet?.hub).toMatchObject(read);
    }
    for (const site of ['https://f.example/files', 'https://f.example/?a', 'ftp://f.example']) {
      const named = { ...wallet, WALLET_HUB_URL: site, WALLET_HUB_ADDRESS: hub };
      expect(problemsOf(named)[0]).toMatch(/^WALLET_HUB_URL: must be/);
    }
    const bare = { ...wallet, WALLET_HUB_URL: 'https://f.example' };
    expect(problemsOf(bare)).toEqual([expect.stringMatching(/^WALLET_HUB_ADDRESS: is required/)]);
    for (const address of [token, PERMIT2]) {
      const assets = `eip155:97/${token}=USDX:18`;
      const mixed = { ...bare, WALLET_ASSETS: assets, WALLET_HUB_ADDRESS: address };
      expect(problemsOf(mixed)).toEqual([expect.stringMatching(/^WALLET_HUB_ADDRESS: must not/)]);
    }
  });

  it('reports all problems together', () => {
    expect(
      problemsOf({
        PORT: '70000',
        ROLES: 'cook',
        NETWORKS: 'eip155:5,eip155:97',
        SIGNER_KEYS: '0x12',
        MAX_GAS_PRICE_GWEI_97: 'cheap',
        SETTLE_FINALITY: 'soon',
        MIN_AMOUNTS: 'USDC=1',
      }),
    ).toEqual([
      'PORT: must be a whole number from 0 to 65535',
      'ROLES: must be all, or a list of api, worker, hub, wallet, history',
      'SIGNER_KEYS: must be a private key: 0x and 64 hex digits; or aws-kms:<key>@<address>, or gcp-kms:<key version>@<address>',
      'SETTLE_FINALITY: must be one of included, finalized',
      'MIN_AMOUNTS: must be an asset and an amount in atomic units, such as eip155:56/0x…=1000',
      'RPC_URLS_5: is required: there is no built-in endpoint for eip155:5',
      'MAX_GAS_PRICE_GWEI_97: must be a decimal number with at most 9 decimals',
      'REDIS_URL: is required',
    ]);
  });

  it('refuses a setting of an earlier version by its name', () => {
    const given = { ...base, LEDGER_PARTITIONS_56: '1', CATALOGUE_PROBE: 'false' };
    expect(problemsOf(given)).toEqual([
      'LEDGER_PARTITIONS_56: was removed; the ledger of a chain is always in one slot of a Redis Cluster. Remove the setting',
      'CATALOGUE_PROBE: was removed; the service does not ask sellers any more whether they still sell. Remove the setting; an entry ends after CATALOGUE_DAYS without a payment',
    ]);
  });

  it('refuses a URL whose user or password cannot be decoded, and does not repeat it', () => {
    expect(problemsOf({ ...base, RPC_URLS_56: 'https://rpc.example,https://u:p%ss@h' })).toEqual([
      'RPC_URLS_56: must have its user and password percent-encoded',
    ]);
    expect(problemsOf({ ...base, RPC_URLS_56: 'u:p%ss@h' })).toEqual([
      'RPC_URLS_56: must be an http or https URL',
    ]);
  });

  it('never prints a secret', () => {
    const config = configOf({
      REDIS_URL: 'redis://:hunter2@localhost',
      RPC_URLS_56: 'https://rpc.example/my-key',
    });
    const printed = inspect(config, { depth: 10 }) + JSON.stringify(config.redis);
    expect(printed).toContain('[redacted]');
    for (const secret of [KEY, 'hunter2', 'my-key']) expect(printed).not.toContain(secret);
    expect(problemsOf({ ...base, SIGNER_KEYS: `${KEY}zz` }).join()).not.toContain(KEY);
  });

  it('takes empty settings for unset ones', () => {
    expect(configOf({ PORT: '', QUEUE_MAX: ' ' }).port).toBe(4022);
  });

  it('takes keys that a service keeps, with the address that each has to be the key of', () => {
    const address = `0x${'aB'.repeat(20)}`;
    const arn = 'arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab';
    const version = 'projects/p/locations/europe/keyRings/r/cryptoKeys/k/cryptoKeyVersions/12';
    const { networks, lanes } = configOf({
      SIGNER_KEYS: `${KEY}, aws-kms:${arn}@${address}`,
      SIGNER_KEYS_97: `gcp-kms:${version}@${address}`,
    });
    const lower = address.toLowerCase();
    expect(networks.map(({ signerKeys }) => signerKeys.slice(-1))).toEqual([
      [{ kind: 'aws-kms', name: arn, address: lower }],
      [{ kind: 'gcp-kms', name: version, address: lower }],
    ]);
    expect(lanes.signers).toEqual({
      timeoutMs: 2000,
      awsEndpoint: undefined,
      gcpEndpoint: undefined,
    });
  });

  it.each([
    `aws-kms:alias/lane`,
    `aws-kms:alias/lane@0x12`,
    `aws-kms:a b@0x${'ab'.repeat(20)}`,
    `aws-kms:@0x${'ab'.repeat(20)}`,
    `gcp-kms:projects/p@0x${'ab'.repeat(20)}`,
    `gcp-kms:projects/p/locations/l/keyRings/r/cryptoKeys/k@0x${'ab'.repeat(20)}`,
    `kms:alias/lane@0x${'ab'.repeat(20)}`,
  ])('does not take %s for a key', (key) => {
    expect(problemsOf({ ...base, SIGNER_KEYS: key }).join()).toContain('must be a private key');
  });

  it('notices that a private key and one of a service are of one account', () => {
    const kept = `aws-kms:alias/lane@${privateKeyToAddress(KEY)}`;
    expect(problemsOf({ ...base, SIGNER_KEYS: `${KEY},${kept}` })).toContain(
      'SIGNER_KEYS_56: the same key is given twice',
    );
  });

  it('gives a network its own keys in place of the shared ones', () => {
    const { networks } = configOf({ SIGNER_KEYS_97: OTHER_KEY });
    expect(
      networks.map(({ signerKeys }) =>
        signerKeys.map((one) => one.kind === 'local' && one.key.reveal()),
      ),
    ).toEqual([[KEY], [OTHER_KEY]]);
    expect(problemsOf({ ...base, SIGNER_KEYS: `${KEY},${KEY}` })).toContain(
      'SIGNER_KEYS_56: the same key is given twice',
    );
  });

  it('reads keys from a mounted file', () => {
    const file = join(mkdtempSync(join(tmpdir(), 'keys-')), 'keys');
    writeFileSync(file, `${KEY}\n${OTHER_KEY}\n`);
    const { networks } = AppConfig.fromEnv({
      REDIS_URL: base.REDIS_URL,
      SIGNER_KEYS_56_FILE: file,
    });
    expect(networks[0]?.signerKeys).toHaveLength(2);
    expect(problemsOf({ ...base, SIGNER_KEYS_FILE: file })).toEqual([
      'SIGNER_KEYS, SIGNER_KEYS_FILE: only one of the two may be set',
    ]);
    expect(problemsOf({ ...base, SIGNER_KEYS_56_FILE: '/nowhere' })).toEqual([
      'SIGNER_KEYS_56_FILE: the file cannot be read',
    ]);
  });

  it('reads URLs that hold passwords from mounted files too', () => {
    const folder = mkdtempSync(join(tmpdir(), 'urls-'));
    const fileOf = (name: string, text: string): string => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    const { redis, networks } = AppConfig.fromEnv({
      SIGNER_KEYS: KEY,
      REDIS_URL_FILE: fileOf('redis', 'redis://:pass@redis:6379\n'),
      RPC_URLS_56_FILE: fileOf('rpc', 'https://one.example/key\nhttps://two.example/key\n'),
    });
    expect(redis.ledger.reveal()).toBe('redis://:pass@redis:6379');
    expect(networks[0]?.rpcUrls.map((url) => url.reveal())).toEqual([
      'https://one.example/key',
      'https://two.example/key',
    ]);
  });

  it('says of a wrong network that it is wrong, and not that it has no keys', () => {
    expect(problemsOf({ ...base, NETWORKS: 'bsc' })).toEqual([
      'NETWORKS: must be the CAIP-2 name of an EVM chain, such as eip155:56',
    ]);
  });

  it('wants a key only of workers', () => {
    const env = { REDIS_URL: base.REDIS_URL };
    expect(problemsOf(env)).toEqual([
      'SIGNER_KEYS: the role worker needs a key, here or in SIGNER_KEYS_<chainId>',
    ]);
    expect(AppConfig.fromEnv({ ...env, ROLES: 'api' }).hasRole('worker')).toBe(false);
  });

  it('signs receipts with a key of its own, and with none unless it is set', () => {
    const [key, old] = [`0x${'A1'.repeat(32)}`, `0x${'a2'.repeat(32)}`];
    expect(configOf({}).receipts).toBeUndefined();
    const { receipts } = configOf({ RECEIPT_KEY: key, RECEIPT_KEY_PREVIOUS: `${old}, ${old}` });
    expect(receipts?.key.reveal()).toBe(key.toLowerCase());
    expect(receipts?.previous.map((one) => one.reveal())).toEqual([old, old]);
    expect(JSON.stringify(receipts)).not.toMatch(/a[12]a[12]/i);
    expect(() => configOf({ RECEIPT_KEY: base.SIGNER_KEYS })).toThrow(
      'RECEIPT_KEY: must not be the key of a signer; make another key',
    );
    expect(() => configOf({ RECEIPT_KEY_PREVIOUS: old })).toThrow(
      'RECEIPT_KEY_PREVIOUS: has no effect without RECEIPT_KEY; set RECEIPT_KEY, or remove RECEIPT_KEY_PREVIOUS',
    );
    expect(() => configOf({ RECEIPT_KEY: 'hunter2' })).toThrow(
      'RECEIPT_KEY: must be a private key',
    );
  });

  it('has a history where there is a database, and only there', () => {
    const url = 'postgres://x402:hunter2@db.example/x402';
    const ROLES = 'all';
    expect(configOf({ ROLES }).history).toBeUndefined();
    expect(configOf({ ROLES }).hasRole('history')).toBe(false);
    const config = configOf({ ROLES, DATABASE_URL: url, HISTORY_MONTHS: '6' });
    expect(config.hasRole('history')).toBe(true);
    expect(config.history).toMatchObject({ migrates: true, months: 6, hotMs: 3_600_000 });
    const problems = problemsOf({ ...base, DATABASE_URL: url, HOT_MINUTES: '0' });
    expect(problems).toEqual([expect.stringContaining('HOT_MINUTES:')]);
    expect(config.history?.databaseUrl.reveal()).toBe(url);
    expect(inspect(config, { depth: 10 })).not.toContain('hunter2');
    expect(() => configOf({ ROLES: 'history' })).toThrow(
      'DATABASE_URL: is required by the role history',
    );
    const wrong = { ...base, DATABASE_URL: 'mysql://x402:hunter2@db.example/x402' };
    expect(() => AppConfig.fromEnv(wrong)).toThrow('DATABASE_URL: must be a postgres://');
    expect(() => AppConfig.fromEnv(wrong)).not.toThrow('hunter2');
  });

  it('knows the ledgers of an archiver, which has no endpoint and no key', () => {
    const config = AppConfig.fromEnv({
      REDIS_URL: base.REDIS_URL,
      ROLES: 'history',
      NETWORKS: 'eip155:31337',
      DATABASE_URL: 'postgresql://db.example/x402',
    });
    expect(config.ledgerChainIds).toEqual([31_337]);
    expect(config.networks).toEqual([]);
    expect([config.usesLedger, config.usesChains, config.settles]).toEqual([true, false, false]);
  });

  it('gives an archiver that reconciles its endpoints, and no part in settling', () => {
    const env = {
      REDIS_URL: base.REDIS_URL,
      ROLES: 'history',
      NETWORKS: 'eip155:31337',
      DATABASE_URL: 'postgresql://db.example/x402',
      RPC_URLS_31337: 'http://node.example',
    };
    const config = AppConfig.fromEnv({ ...env, RECONCILE_AT: '03:30' });
    expect(config.history?.reconcilesAt).toBe(210);
    expect(config.networks.map(({ chainId }) => chainId)).toEqual([31_337]);
    expect([config.usesChains, config.settles]).toEqual([false, false]);
    expect(AppConfig.fromEnv({ ...env, RECONCILE_AT: '00:00' }).history?.reconcilesAt).toBe(0);
    expect(AppConfig.fromEnv(env).history?.reconcilesAt).toBeUndefined();
    expect(() => AppConfig.fromEnv({ ...env, RECONCILE_AT: '24:00' })).toThrow(
      'RECONCILE_AT: must',
    );
  });

  it('wants nothing of chains for a hub alone', () => {
    const env = { REDIS_URL: base.REDIS_URL, ROLES: 'hub', NETWORKS: 'eip155:5' };
    const config = AppConfig.fromEnv(env);
    expect(config.networks).toEqual([]);
    expect(config.usesChains).toBe(false);
    expect(config.hub).toMatchObject({ isPrivate: false, storage: { kind: 'fs' } });
  });

  it('names what a hub lacks, and keeps its secrets', () => {
    const env = { REDIS_URL: base.REDIS_URL, ROLES: 'hub', HUB_STORAGE: 's3' };
    expect(problemsOf({ ...env, HUB_S3_ACCESS_KEY_ID: 'me', HUB_MODE: 'private' })).toEqual([
      'HUB_S3_BUCKET: is required with HUB_STORAGE=s3',
      'HUB_S3_ACCESS_KEY_ID, HUB_S3_SECRET_ACCESS_KEY: set both or neither',
      'HUB_ADDRESS: is required with HUB_AUTH=strict, whose signatures name it',
    ]);
    expect(problemsOf({ ...env, HUB_S3_BUCKET: 'change-me' })).toEqual([
      'HUB_S3_BUCKET: change-me is a placeholder; name your bucket',
    ]);
    const { hub } = AppConfig.fromEnv({
      ...env,
      HUB_S3_BUCKET: 'files',
      HUB_S3_PREFIX: '/hub/',
      HUB_S3_ACCESS_KEY_ID: 'me',
      HUB_S3_SECRET_ACCESS_KEY: 'open-sesame',
    });
    expect(hub.storage).toMatchObject({ kind: 's3', bucket: 'files', prefix: 'hub/' });
    expect(inspect(hub, { depth: 10 })).not.toContain('open-sesame');
  });

  it('sells files of a hub where all that it takes is named', () => {
    const env = { REDIS_URL: base.REDIS_URL, ROLES: 'hub' };
    expect(AppConfig.fromEnv(env).hub.sales).toBeUndefined();
    expect(problemsOf({ ...env, HUB_SALES: 'true' })).toEqual([
      'HUB_SALES_SECRET: is required with HUB_SALES=true',
      'HUB_ADDRESS: is required with HUB_SALES=true',
      'HUB_PUBLIC_URL: is required with HUB_SALES=true',
      'HUB_FACILITATOR_URL: is required with HUB_SALES=true without the role api',
    ]);
    const secret = 'open-sesame'.repeat(3);
    const whole = {
      HUB_SALES: 'true',
      HUB_SALES_SECRET: secret,
      HUB_PUBLIC_URL: 'https://files.example/',
      HUB_ADDRESS: `0x${'11'.repeat(20)}`,
    };
    const apart = { ...whole, HUB_FACILITATOR_URL: 'http://pay:4022/' };
    const { sales } = AppConfig.fromEnv({ ...env, ...apart }).hub;
    expect(sales).toMatchObject({
      publicUrl: 'https://files.example',
      facilitator: { url: 'http://pay:4022' },
    });
    expect(inspect(sales, { depth: 10 })).not.toContain(secret);
    expect(configOf({ ...whole, ROLES: 'api,hub' }).hub.sales).toMatchObject({
      facilitator: undefined,
    });
  });

  it('calls no factory of wallets unless it is named, and never a contract that passes calls on', () => {
    expect(configOf({}).walletFactories).toEqual(new Set());
    const given = `${ASSET.slice(-42)}, 0x${'Fa'.repeat(20)}`;
    expect([...configOf({ ERC6492_FACTORIES: given }).walletFactories]).toEqual([
      ASSET.slice(-42).toLowerCase(),
      `0x${'fa'.repeat(20)}`,
    ]);
    for (const contract of [MULTICALL3.toUpperCase().replace('0X', '0x'), PERMIT2, '0x12']) {
      expect(() => configOf({ ERC6492_FACTORIES: contract })).toThrow('ERC6492_FACTORIES: must');
    }
  });

  it('credits transactions to itself only with a configured code', () => {
    expect(configOf({}).builderCode).toBeUndefined();
    expect(configOf({ BUILDER_CODE: 'ours_1' }).builderCode).toBe('ours_1');
    for (const code of ['Ours', 'our-code', 'a'.repeat(33)]) {
      expect(() => configOf({ BUILDER_CODE: code })).toThrow('BUILDER_CODE: must be 1 to 32');
    }
  });

  it('pays for approvals of payers only with a configured budget', () => {
    const limits = {
      gas: 100_000n,
      maxFeePerGas: 1_000_000_000n,
      topUpWei: 100_000_000_000_000n,
      leastTipWei: 50_000_000n,
    };
    const sponsoringOf = (more: Record<string, string>) =>
      configOf(more).networks.map(({ approvalSponsoring }) => approvalSponsoring);
    expect(sponsoringOf({})).toEqual([undefined, undefined]);
    expect(sponsoringOf({ APPROVAL_SPONSORING_56: '0' })).toEqual([undefined, undefined]);
    expect(sponsoringOf({ APPROVAL_SPONSORING_56: '0.02' })).toEqual([
      { dailyWei: 20_000_000_000_000_000n, limits },
      undefined,
    ]);
    const changed = {
      APPROVAL_SPONSORING_97: '1',
      APPROVAL_MAX_GAS_97: '60000',
      APPROVAL_MAX_FEE_GWEI_97: '0.1',
      APPROVAL_MAX_TOP_UP_97: '0.000006',
    };
    expect(sponsoringOf(changed)[1]?.limits).toEqual({
      gas: 60_000n,
      maxFeePerGas: 100_000_000n,
      topUpWei: 6_000_000_000_000n,
      leastTipWei: 50_000_000n,
    });
  });

  it('tells webhooks only with a key, which needs a database and API keys', () => {
    expect(configOf({}).webhooks).toBeUndefined();
    const key = 'hunter2'.repeat(6);
    const needed = { DATABASE_URL: 'postgres://db.example/x402', API_KEYS_FILE: '/keys.json' };
    const { webhooks } = configOf({ ...needed, WEBHOOK_KEY: key, WEBHOOK_ALLOW: 'Hooks:80' });
    expect(webhooks?.key.reveal()).toBe(key);
    expect(inspect(webhooks, { depth: 10 })).not.toContain('hunter2');
    expect([...(webhooks?.allow ?? [])]).toEqual(['hooks:80']);
    expect(webhooks?.laneLowSettlements).toBe(1000);
    for (const name of Object.keys(needed)) {
      const without = { ...needed, [name]: '', WEBHOOK_KEY: key };
      expect(() => configOf(without)).toThrow(`${name}: is required with WEBHOOK_KEY`);
    }
    expect(() => configOf({ ...needed, WEBHOOK_KEY: 'hunter2' })).toThrow('WEBHOOK_KEY: must be');
    expect(() => configOf({ LANE_LOW_SETTLEMENTS: '-1' })).toThrow('LANE_LOW_SETTLEMENTS: must');
  });

  it('reads prices and budgets in their units, addresses in any case', () => {
    const { networks, admission, lanes } = configOf({
      MAX_GAS_PRICE_GWEI_56: '0.05',
      GAS_BUDGET_DAILY_56: '1.5',
      MIN_AMOUNTS: `${ASSET}=1000`,
      BATCH_SAFE_ASSETS: ASSET,
    });
    expect(networks[0]).toMatchObject({
      maxGasPriceWei: 50_000_000n,
      dailyGasBudgetWei: 1_500_000_000_000_000_000n,
      dailyPayeeGasBudgetWei: undefined,
    });
    expect([...admission.minAmounts]).toEqual([[ASSET.toLowerCase(), 1000n]]);
    expect([...lanes.batchSafeAssets]).toEqual([ASSET.toLowerCase()]);
  });
});
