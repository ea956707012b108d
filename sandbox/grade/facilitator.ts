import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type ReadRequest, refusalOf } from '../../src/facilitator/refusal.js';
import type { SettleAnswer } from '../../src/facilitator/settle/settle-answer.js';
import { idempotencyKeyOf, wantsAsync } from '../../src/facilitator/settle-request.js';
import { connectionOf, sendSettleAnswer } from '../../src/facilitator/settle-response.js';
import {
  simulatedIdOfHash,
  type SimulatedOutcome,
} from '../../src/facilitator/simulation/outcomes.js';
import { SimulatedSettles } from '../../src/facilitator/simulation/simulated-settles.js';
import { SIMULATED } from '../../src/facilitator/simulation/simulation-request.js';
import { setHeaders } from '../../src/platform/http/answer.js';
import { sendJson } from '../../src/platform/http/json.js';
import {
  caip2Of,
  chainIdOf,
  chainIdOfV1Name,
  NETWORK_NAMES,
  v1NameOf,
} from '../../src/protocol/payment/network.js';
import { parsePayment, readEnvelope } from '../../src/protocol/payment/parse-payment.js';
import type { Reason } from '../../src/protocol/reasons.js';
import { MemorySimulationStore } from '../../test/twins/facilitator/simulation/memory-simulation-store.js';

/** What the facilitator does with the payments of one payer. */
export interface Role {
  /** `refused`: verify says no. */
  readonly outcome: SimulatedOutcome | 'refused';
  /** Its requests and answers. */
  readonly heard: Heard;
}

export interface Heard {
  verifies: number;
  settles: number;
  /** Successes that were handed to the seller. */
  successes: number;
}

interface GradeFacilitatorOptions {
  readonly port: number;
  readonly host: string;
  /** CAIP-2 names beside those that are known. */
  readonly networks: readonly string[];
  /** How long it is silent where it plays a time-out. */
  readonly silentMs: number;
}

/** An address without a key: it signs nothing and is sent nothing. */
const SIGNER = '0x5173c0de5173c0de5173c0de5173c0de5173c0de';
const CALLER = 'grade';
const BODY_MOST = 1_048_576;
const PATH = /^\/(?:(v[12])\/)?(verify|settle|supported|settlements)(?:\/([\w-]{1,64}))?\/?$/;

/**
 * A facilitator that a seller under test is pointed at. It moves no money and knows no chain: what it answers
 * to a settle is played, by the payer.
 */
export class GradeFacilitator {
  readonly #roles = new Map<string, Role>();
  readonly #settles: SimulatedSettles;
  readonly #chainIds: readonly number[];
  #server: Server | undefined;
  #asked = 0;

  constructor(private readonly options: GradeFacilitatorOptions) {
    const given = options.networks.map((network) => chainIdOf(network));
    const known = NETWORK_NAMES.map((name) => chainIdOfV1Name(name));
    this.#chainIds = [...new Set([...known, ...given])].filter((id) => id !== undefined);
    this.#settles = new SimulatedSettles(
      new MemorySimulationStore(),
      { all: this.#chainIds.map((chainId) => ({ chainId })) },
      // Nothing here could be settled for real: a seller is tested as it is set up.
      { maySimulateOn: () => true, silentMs: options.silentMs },
    );
  }

  /** Where the seller has to ask. */
  get url(): string {
    return `http://${this.options.host}:${this.options.port}`;
  }

  /** Requests of sellers so far. */
  get asked(): number {
    return this.#asked;
  }

  get chainIds(): readonly number[] {
    return this.#chainIds;
  }

  play(payer: string, outcome: Role['outcome']): Heard {
    const heard: Heard = { verifies: 0, settles: 0, successes: 0 };
    this.#roles.set(payer.toLowerCase(), { outcome, heard });
    return heard;
  }

  async start(): Promise<void> {
    const server = createServer((request, response) => {
      this.#answer(request, response).catch(() => {
        response.destroy();
      });
    });
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.options.port, this.options.host, resolve);
    });
  }

  async stop(): Promise<void> {
    this.#settles.stop();
    const server = this.#server;
    server?.closeAllConnections();
    await new Promise<void>((resolve) => {
      if (server === undefined) resolve();
      else
        server.close(() => {
          resolve();
        });
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://facilitator');
    const [, version, what, id] = PATH.exec(url.pathname) ?? [];
    this.#asked += 1;
    setHeaders(response, SIMULATED);
    const versions =
      version === undefined ? ([1, 2] as const) : ([Number(version[1]) as 1 | 2] as const);
    if (request.method === 'GET' && what === 'supported') {
      sendJson(response, 200, this.#supported(versions));
    } else if (request.method === 'GET' && what === 'settlements') {
      await this.#lookUp(
        id ?? simulatedIdOfHash(url.searchParams.get('transaction') ?? ''),
        id,
        response,
      );
    } else if (request.method === 'POST' && (what === 'verify' || what === 'settle')) {
      const read = readRequest(await bodyOf(request), versions, this.#chainIds, what);
      if (read === undefined) sendJson(response, 400, { error: 'This is no x402 request.' });
      else if (what === 'verify') this.#verify(read, response);
      else await this.#settle(read, request, response);
    } else {
      sendJson(response, 404, { error: 'No such path.', code: 'no_such_path' });
    }
  }

  #supported(versions: readonly (1 | 2)[]): unknown {
    const kinds = this.#chainIds.flatMap((chainId) => {
      const ofV2 = { x402Version: 2, network: caip2Of(chainId) };
      const v1Name = v1NameOf(chainId);
      return [
        ...(versions.includes(2)
          ? [
              { ...ofV2, scheme: 'exact' },
              { ...ofV2, scheme: 'upto', extra: { facilitatorAddress: SIGNER } },
            ]
          : []),
        ...(versions.includes(1) && v1Name !== undefined
          ? [{ x402Version: 1, scheme: 'exact', network: v1Name }]
          : []),
      ];
    });
    return { kinds, extensions: [], signers: { 'eip155:*': [SIGNER] } };
  }

  async #lookUp(
    found: string | undefined,
    id: string | undefined,
    response: ServerResponse,
  ): Promise<void> {
    const status = found === undefined ? undefined : await this.#settles.byId(found);
    if (status === undefined) {
      sendJson(response, 404, {
        error: 'No settlement is known by this.',
        code: 'settlement_not_found',
      });
    } else sendJson(response, 200, id === undefined ? { settlements: [status] } : status);
  }

  /** As the service does: what is sold is a duplicate, anything else that can be read is good. */
  #verify(request: ReadRequest, response: ServerResponse): void {
    const { parsed } = request;
    const role = parsed.ok ? this.#roleOf(parsed.payment.payerAsSent) : undefined;
    if (role !== undefined) role.heard.verifies += 1;
    const reason = parsed.ok ? reasonAgainst(role) : parsed.reason;
    const { payerAsSent: payer } = parsed.ok ? parsed.payment : parsed.correspondent;
    if (reason === undefined) {
      sendJson(response, 200, { isValid: true, payer });
      return;
    }
    const { message, extensions } = refusalOf(reason, request, this.#chainIds);
    const refused = { invalidReason: reason, invalidMessage: message, payer, extensions };
    sendJson(response, 200, { isValid: false, ...refused });
  }

  async #settle(
    read: ReadRequest,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const { parsed } = read;
    const role = parsed.ok ? this.#roleOf(parsed.payment.payerAsSent) : undefined;
    if (role !== undefined) role.heard.settles += 1;
    const key = idempotencyKeyOf(request);
    const played = role === undefined || role.outcome === 'refused' ? 'reverted' : role.outcome;
    const answer = await this.#settles.settle(read, {
      outcome: played,
      caller: CALLER,
      keyTag: key ?? '',
      isAsync: wantsAsync(request),
      finality: 'included',
      connection: connectionOf(response),
    });
    if (answer === undefined) {
      response.destroy();
      return;
    }
    sendSettleAnswer(response, counted(answer, role?.heard));
  }

  #roleOf(payer: string | undefined): Role | undefined {
    return this.#roles.get(payer?.toLowerCase() ?? '');
  }
}

function reasonAgainst(role: Role | undefined): Reason | undefined {
  if (role?.outcome === 'refused') return 'invalid_exact_evm_insufficient_balance';
  return role !== undefined && role.heard.successes > 0 ? 'duplicate_settlement' : undefined;
}

/** Counts an answered success, unless its answer did not arrive. */
function counted(answer: SettleAnswer, heard: Heard | undefined): SettleAnswer {
  const { body, status, rollBack: takeBack } = answer;
  if (heard === undefined || (!body.success && status !== 202)) return answer;
  heard.successes += 1;
  if (takeBack === undefined) return answer;
  return {
    ...answer,
    rollBack: () => {
      heard.successes -= 1;
      return takeBack();
    },
  };
}

function readRequest(
  body: unknown,
  versions: readonly (1 | 2)[],
  chainIds: readonly number[],
  purpose: 'verify' | 'settle',
): ReadRequest | undefined {
  const envelope = readEnvelope(body);
  if (envelope === undefined) return undefined;
  const isServed = (chainId: number): boolean => chainIds.includes(chainId);
  return { envelope, versions, parsed: parsePayment(envelope, versions, isServed, purpose) };
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > BODY_MOST) return undefined;
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    return undefined;
  }
}
