import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OldStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import type { PrivateKeyAccount } from 'viem/accounts';
import { post } from '../support/http.js';
import { GENERATIONS, mcpAgent, STDIO } from './mcp-agents.js';
import { TestSeller } from './test-seller.js';
import { signed, WalletWorld } from './wallet-world.js';

const ONE = 10n ** 18n;
const INFO = { name: 'test', version: '1' };
/** It can show its user a page. */
const SHOWS_PAGES = { capabilities: { elicitation: { url: {} } } };

interface Question {
  readonly mode?: string | undefined;
  readonly url?: string;
  readonly message: string;
}
type Reaction = (question: Question) => Promise<{ action: 'accept' | 'decline' }>;

/** A client whose user sees what the server asks. */
interface AskedClient {
  call(intentId: string): Promise<Readonly<Record<string, unknown>>>;
  close(): Promise<void>;
}

describe('a payment that waits for its owner, over MCP', () => {
  let wallets: WalletWorld;
  let seller: TestSeller;
  let agent: string;
  let owner: PrivateKeyAccount;

  beforeAll(async () => {
    wallets = await WalletWorld.start();
    seller = await TestSeller.start(wallets.world, wallets.url);
    const buyer = await wallets.fundedWallet();
    ({ agent, owner } = buyer);
    const asset = `eip155:${wallets.world.chainId}/${wallets.world.usd}`;
    const limit = { asset, perPayment: `${ONE}`, budget: `${100n * ONE}`, askAbove: `${ONE / 2n}` };
    await wallets.send('PUT', '/v1/wallets/me/policy', buyer.ownerToken, { limits: [limit] });
  });
  afterAll(async () => {
    seller.stop();
    await wallets.stop();
  });

  const purchase = (intentId: string) => ({
    name: 'payment_pay',
    arguments: { url: `${seller.url}/report`, maxAmount: '1', intentId },
  });
  /** What the owner does on the page. */
  const signOn = async (page: string | undefined): Promise<void> => {
    const ask = new URL(page ?? '').searchParams.get('id') ?? '';
    const sent = { address: owner.address };
    const { body } = await post(`${wallets.url}/v1/asks/${ask}/nonce`, sent);
    const approval = await signed(owner, String(body['message']));
    const { status } = await post(`${wallets.url}/v1/asks/${ask}/approve`, approval);
    expect(status).toBe(200);
  };

  const newClient = async (react: Reaction): Promise<AskedClient> => {
    const client = new Client(INFO, {
      ...SHOWS_PAGES,
      versionNegotiation: { mode: { pin: '2026-07-28' } },
    });
    client.setRequestHandler('elicitation/create', ({ params }) => react(params as Question));
    const headers = { authorization: `Bearer ${agent}` };
    const url = new URL(`${wallets.url}/mcp`);
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
    return {
      call: async (intentId) => {
        const { structuredContent } = await client.callTool(purchase(intentId));
        return structuredContent as Readonly<Record<string, unknown>>;
      },
      close: () => client.close(),
    };
  };
  const oldClient = async (react: Reaction): Promise<AskedClient> => {
    const client = new OldClient(INFO, SHOWS_PAGES);
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => react(params as Question));
    await client.connect(
      new OldStdio({
        command: process.execPath,
        args: [STDIO],
        stderr: 'pipe',
        env: { X402_WALLET_URL: wallets.url, X402_WALLET_TOKEN: agent },
      }),
    );
    return {
      call: async (intentId) => {
        const { structuredContent } = await client.callTool(purchase(intentId));
        return structuredContent as Readonly<Record<string, unknown>>;
      },
      close: () => client.close(),
    };
  };

  describe.each([
    ['2026-07-28 over HTTP', newClient],
    ['2025-11-25 over stdio', oldClient],
  ])('with a client of %s that can show pages', (name, connect) => {
    const intent = (what: string) => `${what}.${name.slice(0, 4)}`;

    it('leads its user to the page, and is paid once the owner has signed there', async () => {
      const questions: Question[] = [];
      const client = await connect(async (question) => {
        questions.push(question);
        await signOn(question.url);
        return { action: 'accept' };
      });
      const before = await seller.received();
      expect(await client.call(intent('signed'))).toMatchObject({ status: 'paid' });
      expect(questions).toMatchObject([{ mode: 'url' }]);
      expect(questions[0]?.url).toMatch(/^http:\/\/wallet\.example\/wallet\/ask\?id=/);
      expect(questions[0]?.message).toContain('1 SUSD');
      expect(await seller.received()).toBe(before + 1);
      await client.close();
    });

    it.each(['accept', 'decline'] as const)(
      'takes no "%s" of the client for the owner’s yes',
      async (action) => {
        let asked = 0;
        const client = await connect(() => {
          asked += 1;
          return Promise.resolve({ action });
        });
        const before = await seller.received();
        const result = await client.call(intent(action));
        expect(result).toMatchObject({ status: 'awaiting_owner' });
        expect([asked, await seller.received()]).toEqual([1, before]);
        await client.close();
      },
    );
  });

  it.each(GENERATIONS)('gives the link to a client of %s that cannot show pages', async (one) => {
    const client = await mcpAgent(one, 'HTTP', wallets.url, agent);
    const given = purchase(`plain.${one}`).arguments;
    const { isError, data } = await client.call('payment_pay', given);
    expect([isError, data['status']]).toEqual([false, 'awaiting_owner']);
    const { url } = data['ask'] as { readonly url: string };
    const { data: known } = await client.call('payment_status', { intentId: given.intentId });
    expect(known).toMatchObject({ status: 'awaiting_owner', ask: { url } });
    await signOn(url);
    expect((await client.call('payment_pay', given)).data['status']).toBe('paid');
    await client.close();
  });
});
