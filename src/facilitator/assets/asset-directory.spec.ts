import { describe, expect, it } from '@jest/globals';
import type { Address } from 'viem';
import {
  aTokenChain,
  type FakeToken,
  TOKEN_AT,
} from '../../../test/builders/protocol/evm/token/token.js';
import type { ChainView } from '../../platform/chain/chain-view.js';
import type { NetworkConfig } from '../../platform/config/app-config.js';
import { BUILT_IN_NETWORKS } from '../../platform/config/built-in-networks.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import type { TokenFacts } from '../../protocol/evm/token/token-facts.js';
import { type AskedChain, AssetDirectory } from './asset-directory.js';
import { type AssetReading, assetView } from './asset-view.js';
import { type AssetSettings, type KnownAsset, knownAssetsOf } from './known-assets.js';

const OTHER: Address = `0x${'0e'.repeat(20)}`;
const [MAINNET] = BUILT_IN_NETWORKS;
const network = (knownTokens = MAINNET?.tokens ?? []): NetworkConfig =>
  ({ chainId: 56, network: 'eip155:56', knownTokens }) as unknown as NetworkConfig;
const settings = (more: Partial<AssetSettings['admission']> = {}, safe: string[] = []) => ({
  lanes: { batchSafeAssets: new Set(safe) },
  admission: {
    assetsAllow: undefined,
    assetsDeny: new Set<string>(),
    minAmounts: new Map(),
    ...more,
  },
});

describe('assets that are known', () => {
  it('are the built-in ones and those that settings of the chain name, each once', () => {
    const [first] = MAINNET?.tokens ?? [];
    const known = knownAssetsOf(
      network(),
      settings({ minAmounts: new Map([[`eip155:56/${OTHER}`, 1n]]) }, [
        `eip155:56/${first?.address ?? ''}`,
        `eip155:97/${TOKEN_AT}`,
      ]),
    );
    expect(known.map(({ asset }) => asset)).toEqual([
      ...(MAINNET?.tokens ?? []).map(({ address }) => address),
      OTHER,
    ]);
    expect(known.at(0)?.builtIn).toBe(first);
    expect(known.at(-1)?.builtIn).toBeUndefined();
  });

  it('are those that are taken', () => {
    const [first, second] = (MAINNET?.tokens ?? []).map(({ address }) => address);
    const only = new Set([`eip155:56/${first ?? ''}`, `eip155:56/${second ?? ''}`]);
    const assetsDeny = new Set([`eip155:56/${second ?? ''}`]);
    const known = knownAssetsOf(network(), settings({ assetsAllow: only, assetsDeny }));
    expect(known.map(({ asset }) => asset)).toEqual([first]);
  });

  it('are no more than 64 of a chain', () => {
    const named = Array.from({ length: 100 }, (_, index) => {
      const digits = index.toString(16).padStart(40, '0');
      return `eip155:56/0x${digits}`;
    });
    expect(knownAssetsOf(network([]), settings({}, named))).toHaveLength(64);
  });
});

const DOMAIN = { name: 'Dollar', version: '1' };
const FACTS: TokenFacts = {
  name: 'Dollar',
  symbol: 'D',
  version: '1',
  decimals: 6,
  domain: DOMAIN,
  eip3009: { vrs: 'yes', bytes: 'no' },
  eip2612: 'no',
};
const NONE = { vrs: 'no', bytes: 'no' } as const;
const UNCLEAR = { vrs: 'unclear', bytes: 'unclear' } as const;
const REPORTED = {
  symbol: 'R',
  address: TOKEN_AT,
  decimals: 18,
  isBatchSafe: false,
  methods: ['eip3009', 'permit2'] as const,
  doubt: 'It is reported.',
  eip712: { name: 'Reported', version: '2' },
};
const known: KnownAsset = { chainId: 56, asset: TOKEN_AT, builtIn: REPORTED };
const unknown: KnownAsset = { ...known, builtIn: undefined };
const readingOf = (facts: Partial<TokenFacts> | undefined): AssetReading => ({
  at: new Date(0),
  facts: facts && { ...FACTS, ...facts },
});

describe('how an asset is shown', () => {
  it.each<[string, KnownAsset, AssetReading | undefined, object]>([
    [
      'as it is reported, before the chain was asked',
      known,
      undefined,
      {
        symbol: 'R',
        decimals: 18,
        methods: ['eip3009', 'permit2'],
        source: 'built-in',
        extra: { name: 'Reported', version: '2' },
        doubt: 'It is reported.',
      },
    ],
    ['as named, likewise', unknown, undefined, { methods: ['permit2'], source: 'settings' }],
    [
      'as it is, after',
      known,
      readingOf({}),
      {
        symbol: 'D',
        decimals: 6,
        methods: ['eip3009', 'permit2'],
        source: 'chain',
        extra: DOMAIN,
        isDeployed: true,
        eip3009: { vrs: 'yes', bytes: 'no' },
        readAt: '1970-01-01T00:00:00.000Z',
      },
    ],
    [
      'without what it does not have',
      known,
      readingOf({ eip3009: NONE, domain: undefined }),
      { methods: ['permit2'], extra: { assetTransferMethod: 'permit2' } },
    ],
    [
      'as reported, where the chain does not tell',
      known,
      readingOf({ eip3009: UNCLEAR, domain: undefined }),
      { methods: ['eip3009', 'permit2'], doubt: 'It is reported.' },
    ],
    [
      'by Permit2 alone, where no other method is reported',
      unknown,
      readingOf({ eip3009: UNCLEAR }),
      { methods: ['permit2'], extra: { assetTransferMethod: 'permit2' } },
    ],
    ['as gone', known, readingOf(undefined), { isDeployed: false, methods: [], source: 'chain' }],
  ])('%s', (_, asset, reading, expected) => {
    expect(assetView(asset, reading)).toMatchObject(expected);
  });

  it('in the spelling of EIP-55, and without a doubt that is settled', () => {
    const view = assetView(known, readingOf({}));
    expect(view.asset).toMatch(/[A-F]/);
    expect(view).not.toHaveProperty('doubt');
    expect(assetView(known, readingOf({ domain: undefined })).extra).toEqual({
      name: 'Reported',
      version: '2',
    });
  });
});

type View = Pick<ChainView, 'chainId' | 'call' | 'isContract'>;
const TOKEN: FakeToken = { symbol: 'D', decimals: 6n };

function aDirectory(more: { isAway?: boolean; view?: Partial<View> } = {}) {
  const looks: Address[] = [];
  const faults: unknown[] = [];
  const time = { now: 1_000_000 };
  const view: View = {
    ...aTokenChain(TOKEN),
    isContract: (asset) => {
      looks.push(asset);
      return Promise.resolve(true);
    },
    ...more.view,
  };
  const chain: AskedChain = { withView: (use) => use(view as ChainView) };
  const directory = new AssetDirectory(
    { all: [known, { ...unknown, asset: OTHER }, { ...unknown, chainId: 97 }] },
    { served: () => (more.isAway === true ? undefined : chain) },
    { now: () => time.now },
    { warn: (facts: unknown) => faults.push(facts) },
  );
  return { directory, looks, faults, time };
}

describe('the directory of assets', () => {
  it('has what is built in at once, and what the chain says after a round', async () => {
    const { directory } = aDirectory();
    expect(directory.list(56).map(({ source }) => source)).toEqual(['built-in', 'settings']);
    await directory.round();
    expect(directory.list().map(({ source }) => source)).toEqual(['chain', 'chain', 'chain']);
    expect(directory.list(97)).toMatchObject([{ network: 'eip155:97', decimals: 6 }]);
    expect(directory.list(1)).toEqual([]);
  });

  it('asks once a day, and once at a time', async () => {
    const { directory, looks, time } = aDirectory();
    await Promise.all([directory.round(), directory.round()]);
    await directory.round();
    expect(looks).toHaveLength(3);
    time.now += 24 * 3_600_000 + 1;
    await directory.round();
    expect(looks).toHaveLength(6);
  });

  it('asks again of a chain that was away', async () => {
    let isAway = true;
    const { directory, faults } = aDirectory({
      view: {
        isContract: () =>
          isAway ? Promise.reject(new ChainUnavailableError(56, 'x')) : Promise.resolve(false),
      },
    });
    await directory.round();
    expect(directory.list(56).map(({ source }) => source)).toEqual(['built-in', 'settings']);
    isAway = false;
    await directory.round();
    expect(directory.list().map(({ isDeployed }) => isDeployed)).toEqual([false, false, false]);
    expect(faults).toEqual([]);
  });

  it('goes on after a fault of one chain, and reads no chain that is not served', async () => {
    let asked = 0;
    const broken = aDirectory({
      view: {
        isContract: () => {
          asked += 1;
          return asked === 1 ? Promise.reject(new Error('odd')) : Promise.resolve(false);
        },
      },
    });
    await broken.directory.round();
    expect(broken.faults).toHaveLength(1);
    expect(broken.directory.list().filter(({ source }) => source === 'chain')).toHaveLength(2);
    const { directory, looks } = aDirectory({ isAway: true });
    await directory.round();
    expect(looks).toEqual([]);
  });

  it('does not go on after it was stopped', async () => {
    const { directory, looks } = aDirectory();
    directory.onModuleDestroy();
    await directory.round();
    expect(looks).toEqual([]);
  });
});
