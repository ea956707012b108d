import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { SIGNER } from '../../sandbox/accounts.js';
import { type SandboxPostgres, startPostgres } from '../../sandbox/postgres.js';
import type { Service } from '../../sandbox/service.js';
import { createApiKey } from '../../src/operations/access/api-key.js';
import { ApiDescription, type DescribedOperation } from '../support/api-description.js';
import { eventually, get } from '../support/http.js';
import { newAccount } from '../support/payments.js';
import { TEST_SEED } from '../support/seed.js';
import { SeededRandom } from '../support/seeded-random.js';
import { World } from '../support/world.js';
import { WalletWorld } from '../wallet/wallet-world.js';
import { type DescribedRequest, DescribedRequestMaker } from './described-requests.js';
import { type Answered, Sender } from './sender.js';

const SHORT = 2000;
const COUNT = Number(process.env['FUZZ_COUNT'] ?? SHORT);
const AT_ONCE = 8;

jest.setTimeout(180_000 + COUNT * 60);

/** Rules that JSON Schema cannot say, or that generators of clients do not read: an answer 400 that is none of the shape's. */
const RULES_OF_VALUES: readonly {
  readonly operation: RegExp;
  readonly answer: RegExp;
  readonly because: string;
}[] = [
  {
    operation: /./,
    answer:
      /cursor: must be a cursor|must be `next` of|must be the id of|must be the number of|cursor/,
    because: 'what goes on from a page is known only to the answer before it',
  },
  {
    operation: /./,
    answer: /CAIP-2 name of an EVM chain|must be an asset/,
    because: 'a chain id is below 2^53, and a pattern counts digits',
  },
  {
    operation: /^searchResources/,
    answer: /query:? (has no words|must be text)/,
    because: 'what a word is, and how many signs are read, is said in words',
  },
  {
    operation: /^(discover|search)/,
    answer: /maxPrice needs asset/,
    because: 'a parameter that needs another one cannot be said',
  },
  {
    operation: /^(discover|search)/,
    answer: /network must be a network/,
    because: 'names of V1 are those of a table',
  },
  {
    operation:
      /^(settlementTotals|exportSettlements|searchHistory|historyTotals|operatorActions|findSettlements)$/,
    answer: /`from` must be|must be a day|days apart/,
    because: 'whether a calendar has a day, and how far two are apart, cannot be said',
  },
  {
    operation: /^(verify|settle)(V1|V2|Root)$/,
    answer: /"invalid_idempotency_key"/,
    because: 'words that a program writes for a value it does not have are none of an alphabet',
  },
  {
    operation:
      /^hub(Conversation|Versions|Messages|Conversations|Buckets?|BucketObjects|(Create|Remove)Bucket|PutObjects?)$/,
    answer: /owner is required/,
    because: 'who signs need not name an owner',
  },
  {
    operation: /^(create|change)Webhook$/,
    answer: /"url:? /,
    because: 'which addresses may be told is set by WEBHOOK_ALLOW',
  },
  {
    operation: /^walletSetPolicy$/,
    answer:
      /atomic and decimal differ|at most perPayment|names an asset twice|the token has \d+ decimals/,
    because:
      'how two fields stand to each other cannot be said, nor what the decimals of a token are',
  },
  {
    operation: /^(findSettlements|searchHistory|historyTotals)$/,
    answer: /Give transaction, or paymentId|`from` is required without/,
    because: 'which parameters are given together cannot be said',
  },
  {
    operation: /^newestSettlements$/,
    answer: /search or sale, not both|needs sale/,
    because: 'a field that another one excludes is said in words',
  },
  {
    operation: /^(verify|settle).*(ByQuery|LookUp)$/,
    answer: /each a JSON object in base64url/,
    because: 'what base64url decodes to, and that both are given, cannot be said',
  },
  {
    operation: /^(examineSeller)$/,
    answer: /absent with GET and HEAD/,
    because: 'a field that another one excludes is said in words',
  },
  {
    operation: /^(deny|allow)InCatalogue$|^catalogueDenials$|^moderatedEntries$/,
    answer: /must be a host|must be an address|an address or a host|must be text|has no words/,
    because: 'what a host is, and which of the two is meant, is said in words',
  },
  {
    operation: /^(deny|allow)InCatalogue$|^hub(TakeDown|Restore)$/,
    answer: /of one line, without tags/,
    because: 'what is a tag cannot be said',
  },
  {
    operation: /^hubTakeDown$/,
    answer: /Give sha256, or owner and name/,
    because: 'which of two ways names the bytes is said in words',
  },
  {
    operation: /^walletFund$/,
    answer: /no such .+token|needs .+token/,
    because: 'the tokens are those of a wallet',
  },
  {
    operation: /^wallet.*File$|^walletUploadAddress$/,
    answer: /without .+ and control characters/,
    because: 'control characters are said in words: the patterns that mean them differ by language',
  },
  {
    operation: /^walletRpc$/,
    answer:
      /caip2 must name a network that this service serves|params must|typed_data|transaction must|expected/,
    because: 'what the parameters are depends on the method, as in any RPC',
  },
];

/** Taken although they are described more narrowly; `answer` is what the description says against them. */
const TAKEN: typeof RULES_OF_VALUES = [
  {
    operation: /^hubUpload$/,
    answer: /must be string/,
    because: 'a list stands for its first text, as in a query that names a field twice',
  },
];

describe(`${COUNT} requests drawn from the description, seed ${TEST_SEED}`, () => {
  const payTo = newAccount().address;
  const key = createApiKey('all', ['verify', 'settle', 'history', 'admin', 'hub'], [payTo]);
  const random = new SeededRandom(TEST_SEED);
  let world: World;
  let postgres: SandboxPostgres;
  let service: Service;
  let sender: Sender;
  let maker: DescribedRequestMaker;

  beforeAll(async () => {
    const dir = mkdtempSync(join(tmpdir(), 'x402-described-'));
    const keys = join(dir, 'keys.json');
    writeFileSync(keys, JSON.stringify({ version: 1, keys: [key.record] }));
    [world, postgres] = await Promise.all([World.start({ blockTime: 0.3 }), startPostgres()]);
    service = await world.service({
      ROLES: 'all',
      DATABASE_URL: postgres.url,
      API_KEYS_FILE: keys,
      WEBHOOK_KEY: 'a key of this test, of no value at all',
      DOCTOR: 'true',
      RATE_LIMIT_DOCTOR: '10000',
      RATE_LIMIT_HUB: '0',
      SETTLE_WAIT_MS: '1000',
      HUB_DATA_DIR: join(dir, 'hub'),
      HUB_ADDRESS: SIGNER.address,
      HUB_PUBLIC_URL: 'http://hub.example/api',
      HUB_SALES: 'true',
      HUB_SALES_SECRET: 'a secret of this test, of no value at all',
      ...WalletWorld.settingsOf(world, dir),
    });
    await eventually(
      'ready',
      async () => (await get(`${service.url}/health/ready`)).status === 200,
      30_000,
    );
    const wallets = WalletWorld.around(world, service);
    const { agent, ownerToken } = await wallets.fundedWallet();
    sender = new Sender(service.url, AT_ONCE, service.opsUrl);
    const api = new ApiDescription((await get(`${service.url}/openapi.json`)).body);
    const network = `eip155:${world.chainId}`;
    maker = new DescribedRequestMaker(
      api,
      random,
      (path) => ({
        'x-api-key': key.key,
        ...(/^\/(v1\/(wallets|logout)|mcp)/.test(path) && {
          authorization: `Bearer ${random.chance(0.5) ? agent : ownerToken}`,
        }),
      }),
      { network: [network], payTo: [payTo], asset: [world.usd] },
      isAsked,
    );
  }, 180_000);
  afterAll(async () => {
    sender.close();
    await world.stop();
    await postgres.stop();
  });

  it('are refused with 400 where it forbids them, and nowhere else', async () => {
    const differences = new Map<string, string>();
    const statuses = new Map<string, number>();
    let turn = 0;
    const note = (kind: string, asked: DescribedRequest, answered: Answered): void => {
      const where = `${kind}: ${asked.operationId} ${answered.status}`;
      const what = kind === 'forbidden' ? asked.problems.join('; ') : messageOf(answered);
      const name = `${where} ${what}`;
      const { path, body } = asked;
      if (!differences.has(name)) {
        differences.set(
          name,
          `${name}\n    ${path.slice(0, 300)} ${body?.toString().slice(0, 500) ?? ''}`,
        );
      }
    };
    await sender.run(
      COUNT,
      () => maker.next(turn++),
      (asked, answered) => {
        const request = asked as DescribedRequest;
        const isAllowed = request.problems.length === 0;
        const kind = `${isAllowed ? 'allowed' : 'forbidden'} ${answered.status}`;
        statuses.set(kind, (statuses.get(kind) ?? 0) + 1);
        if (isAllowed && answered.status === 400) {
          if (!isListed(RULES_OF_VALUES, request, answered.text))
            note('allowed', request, answered);
        }
        if (!isAllowed && isTaken(answered)) {
          if (!isListed(TAKEN, request, request.problems.join('; ')))
            note('forbidden', request, answered);
        }
        return [];
      },
    );
    console.log(JSON.stringify(Object.fromEntries([...statuses].sort())));
    expect([...differences.values()].sort().join('\n')).toBe('');
    for (const kind of ['allowed 200', 'forbidden 400']) {
      expect(statuses.get(kind)).toBeGreaterThan(COUNT / 20);
    }
  });
});

/** Bodies that are forms or bytes have tests of their own. */
function isAsked({ requestBody, operationId }: DescribedOperation): boolean {
  const isOther =
    requestBody !== undefined && requestBody.content['application/json'] === undefined;
  // It ends the tokens that the others are asked with.
  return (
    !isOther && !/^(walletLogout|walletLogoutAll|walletStop|walletTokenEnd)$/.test(operationId)
  );
}

function isTaken({ status, text }: Answered): boolean {
  // A verdict is an answer of its own, whatever the payment is.
  return status >= 200 && status < 300 && !/"(isValid|success)":false/.test(text);
}

function messageOf({ text }: Answered): string {
  return text.slice(0, 200);
}

function isListed(
  rules: typeof RULES_OF_VALUES,
  { operationId }: DescribedRequest,
  text: string,
): boolean {
  return rules.some(({ operation, answer }) => operation.test(operationId) && answer.test(text));
}
