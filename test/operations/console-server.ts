import { createHash } from 'node:crypto';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { AdminPageController } from '../../src/operations/admin/admin-page.controller.js';
import { PageFilesController } from '../../src/platform/http/page-files.controller.js';
import { pageHeaders } from '../../src/platform/http/page-headers.js';
import { sendFile } from '../support/page-server.js';

export const OPERATOR_KEY = 'x402_an-operator';
export const NETWORK = 'eip155:56';
export const TOKEN = '0x55d398326f99059ff775485246999027b3197955';
export const PAYEE = '0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc';
export const SIGNER = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8';

const hash = (text: string): string => createHash('sha256').update(text).digest('hex');
const addressOf = (text: string): string => `0x${hash(text).slice(0, 40)}`;
const iso = (ms: number): string => new Date(ms).toISOString();

type Json = Readonly<Record<string, unknown>>;

/** A settlement that was paid, as the API answers it. */
export function aSettlement(name: string, claimedAt: number, more: Json = {}): Json {
  return {
    settlementId: Buffer.from(hash(name), 'hex').toString('base64url'),
    source: 'ledger',
    state: 'finalized',
    paid: true,
    finality: 'finalized',
    sale: 'sold',
    transaction: `0x${hash(`transaction ${name}`)}`,
    transactions: [`0x${hash(`transaction ${name}`)}`],
    block: { number: '48211377' },
    payment: {
      network: NETWORK,
      scheme: 'exact',
      method: 'eip3009',
      asset: TOKEN,
      payer: addressOf(`payer ${name}`),
      payTo: PAYEE,
      amount: '100000000000000000',
      nonce: BigInt(`0x${hash(`nonce ${name}`)}`).toString(),
      deadline: '1795000000',
    },
    times: {
      arrived: iso(claimedAt - 12),
      claimed: iso(claimedAt),
      allocated: iso(claimedAt + 40),
      included: iso(claimedAt + 1300),
      finished: iso(claimedAt + 4100),
    },
    ...more,
  };
}

/** A lane that works, as the API answers it. */
export function aLane(signer: string, more: Json = {}): Json {
  return {
    lane: `56:${signer}`,
    chainId: 56,
    signer,
    process: 'w1',
    trouble: null,
    balance: '1.25',
    settlementsLeft: 240_000,
    inFlight: 0,
    window: 24,
    gaps: 0,
    nextNonce: 9120,
    oldestNonce: 9120,
    oldestInFlightMs: 0,
    inclusionMs: 1100,
    perSecond: 40,
    gasPriceWei: '100000000',
    suspendedAssets: [],
    silentMs: 200,
    paused: null,
    retiring: null,
    attempts: [],
    ...more,
  };
}

/** What the API knows; a test changes it while a page is open. */
export interface ConsoleState {
  history: { enabled: boolean; webhooks: boolean; reconciles: boolean; catalogue: boolean };
  lanes: Json[];
  settlements: Json[];
  unclaimed: Json[];
  webhooks: Json[];
  settles24h: Json | null;
}

const amountOf = (settlements: readonly Json[]): string =>
  settlements
    .reduce((total, one) => total + BigInt((one['payment'] as { amount: string }).amount), 0n)
    .toString();

function overviewOf(state: ConsoleState): Json {
  const { unclaimed } = state;
  return {
    version: '0.1.0',
    at: Date.now(),
    apiKeys: { keys: 2, loadedAt: 0 },
    history: state.history,
    settles24h: state.settles24h,
    processes: [
      { process: 'a1b2c3', roles: ['api'], version: '0.1.0' },
      { process: 'd4e5f6', roles: ['worker', 'history'], version: '0.1.0' },
    ],
    networks: [
      {
        network: NETWORK,
        coin: 'BNB',
        explorer: 'https://bscscan.com',
        queue: { queued: 0, oldestQueuedMs: 0, unfinished: 3 },
        headAgeMs: 700,
        endpoints: { reachable: 2, all: 2 },
        lanes: state.lanes,
        unclaimed: {
          count: unclaimed.length,
          oldestMs: unclaimed.length === 0 ? 0 : 754_000,
          sums:
            unclaimed.length === 0
              ? []
              : [{ asset: TOKEN, count: unclaimed.length, amount: amountOf(unclaimed) }],
        },
      },
    ],
  };
}

function totalsOf(query: Json): Json {
  const isByDay = query['groupBy'] === undefined;
  const isByPayee = String(query['groupBy']).includes('payee');
  const days = isByDay ? [6, 5, 4, 3, 2, 1, 0] : [0];
  return {
    totals: days.map((ago) => ({
      ...(isByDay && { day: iso(Date.now() - ago * 86_400_000).slice(0, 10) }),
      ...(isByPayee && { payTo: PAYEE }),
      network: NETWORK,
      asset: TOKEN,
      paid: { count: String(1204 - ago * 70), amount: `${1204 - ago * 70}00000000000000000` },
      states: { finalized: String(1204 - ago * 70), expired: '3' },
    })),
  };
}

/** The console with an API that answers from {@link ConsoleState}; the real one has tests of its own. */
export class ConsoleServer {
  readonly state: ConsoleState;
  /** What the API was asked, the newest last. */
  readonly asked: string[] = [];

  private constructor(
    private readonly server: Server,
    state: ConsoleState,
  ) {
    this.state = state;
  }

  static async start(): Promise<ConsoleServer> {
    const now = Date.now();
    const state: ConsoleState = {
      history: { enabled: true, webhooks: true, reconciles: true, catalogue: true },
      lanes: [aLane(SIGNER)],
      settlements: Array.from({ length: 20 }, (_, index) =>
        aSettlement(`sale ${index}`, now - 5000 - index * 45_000),
      ),
      unclaimed: [],
      webhooks: [],
      settles24h: { succeeded: 1204, refused: 0, reasons: [], channels: [] },
    };
    const app = express();
    const server = await new Promise<Server>((resolve) => {
      const listening = app.listen(0, '127.0.0.1', () => {
        resolve(listening);
      });
    });
    const self = new ConsoleServer(server, state);
    self.#serve(app);
    return self;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/admin`;
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  #serve(app: express.Express): void {
    const page = new AdminPageController();
    const components = new PageFilesController();
    const { state } = this;
    app.use(pageHeaders);
    app.use('/admin/api', (request, response, next) => {
      this.asked.push(request.originalUrl);
      if (request.headers['x-api-key'] === OPERATOR_KEY) next();
      else response.status(401).json({ error: 'An API key is required.' });
    });
    const answer = (path: string, body: (query: Json, id: string) => unknown): void => {
      app.get(`/admin/api/${path}`, ({ query, params }, response) => {
        const found = body(query, (params as Readonly<Record<string, string>>)['id'] ?? '');
        if (found === undefined)
          response
            .status(404)
            .json({ error: 'The history has no entry with this id.', code: 'not_found' });
        else response.json(found);
      });
    };
    answer('overview', () => overviewOf(state));
    answer('settlements', ({ sale }) => ({
      settlements:
        sale === 'unclaimed' ? state.unclaimed : [...state.unclaimed, ...state.settlements],
    }));
    answer('history/settlements', ({ state: name, sale }) => ({
      settlements: [...state.unclaimed, ...(sale === 'unclaimed' ? [] : state.settlements)].filter(
        (one) => name === undefined || one['state'] === name,
      ),
    }));
    answer('history/totals', totalsOf);
    answer('settlements/:id', (_, id) => {
      const settlement = [...state.unclaimed, ...state.settlements].find(
        ({ settlementId }) => settlementId === id,
      );
      return settlement && lifeOf(settlement);
    });
    answer('webhooks', () => ({ webhooks: state.webhooks }));
    answer('reconciliations', () => ({ runs: [] }));
    answer('audit', () => ({ actions: [] }));
    answer('catalogue/entries', () => ({ entries: [] }));
    answer('catalogue/denials', () => ({ denials: [] }));
    app.get('/v2/assets', (_request, response) => {
      const token = { network: NETWORK, asset: TOKEN, symbol: 'USDT', decimals: 18, methods: [] };
      response.json({ assets: [token] });
    });
    app.get('/site.css', (_request, response) => {
      sendFile(response, components.style());
    });
    app.get('/components/:file', ({ params }, response) => {
      sendFile(response, components.component(params.file));
    });
    app.get('/admin', (_request, response) => {
      sendFile(response, page.page());
    });
    app.get('/admin/:file', ({ params }, response) => {
      sendFile(response, page.file(params.file));
    });
  }
}

const lifeOf = (settlement: Json): Json => ({
  network: NETWORK,
  settlement,
  sale: {
    state: settlement['sale'],
    requester: 'a1b2c3.17',
    isBoundToKey: false,
    isSoldToKey: false,
  },
  isAsync: false,
  attempts: [],
  history: {
    status: 'known',
    row: { archivedAt: iso(Date.now()), isTold: true, isKept: false },
    events: [],
    differences: [],
    actions: [],
  },
});
