import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { formatUnits, parseUnits } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { PAYER } from './accounts.js';
import { stockBuyer } from './buyer.js';
import { USD_NAME, USD_VERSION } from './deploy.js';
import { cutsOf } from './flaky.js';
import { HubOwner } from './hub-owner.js';
import type { SandboxState } from './state.js';

type Facts = Readonly<Record<string, unknown>>;

/** An agent that calls tools. */
interface Calling {
  call(name: string, given?: Facts): Promise<{ readonly isRefused: boolean; readonly data: Facts }>;
}

const SIZE = 67_108_864;
const PRICE = '0.25';
/** A sale is listed once it is final and in the history. */
const LISTED_WITHIN_MS = 60_000;

/**
 * A seller offers a file of 64 MiB; the agent finds it in the catalogue, buys it over a line that breaks, keeps it and
 * shares it once.
 *
 * @param paid - what the agent's wallet has paid so far, atomic units.
 */
export async function tellOfFiles(
  state: SandboxState,
  agent: Calling,
  check: (claim: string, isTrue: boolean) => void,
  paid: () => Promise<bigint>,
): Promise<void> {
  console.log('\nSomebody sells a survey of 64 MiB at a file hub, and one other has bought it.');
  const bytes = new Uint8Array(randomBytes(SIZE));
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const word = `survey${randomBytes(4).toString('hex')}`;
  const url = await offer(state, `${word}.bin`, bytes);
  console.log(`  digest     ${sha256}`);
  const before = await paid();

  console.log('\nThe agent searches the catalogue for it, and asks what it costs.');
  const found = await foundIn(agent, word);
  check('it is listed, by what was paid', found?.['resource'] === url);
  const { resource, payTo } = found ?? {};
  const { data: details } = await agent.call('service_details', { resource, payTo });
  const how = (details['howToBuy'] as Facts | undefined)?.['arguments'] as Facts | undefined;
  const { data: quote } = await agent.call('payment_quote', { url: how?.['url'] });
  const [quoted] = quote['offers'] as readonly Facts[];
  const amount = (quoted?.['amount'] as Facts | undefined)?.['decimal'];
  console.log(`  offer      ${String(amount)} SUSD to ${String(quoted?.['payTo'])}`);
  check('the offer names the payee that the catalogue names', quoted?.['payTo'] === payTo);

  console.log('\nIt buys it into its files, over a line that breaks three times.');
  const purchase = { ...how, intentId: word, saveTo: 'hub', saveAs: 'survey.bin' };
  const { data: bought } = await agent.call('payment_pay', purchase);
  const saved = bought['saved'] as Facts | undefined;
  console.log(`  saved      ${String(saved?.['name'])}, ${String(saved?.['size'])} bytes`);
  check('the line was cut three times', (await cutsOf(state.flakyUrl, url)) === 3);
  check('it is paid, and its digest is that of the file', saved?.['sha256'] === sha256);
  const { data: again } = await agent.call('payment_pay', purchase);
  check('asked again it is the same purchase', again['transaction'] === bought['transaction']);
  const spent = (await paid()) - before;
  check(
    `the wallet has paid ${formatUnits(spent, 18)} SUSD for it`,
    spent === parseUnits(PRICE, 18),
  );

  console.log('\nIt shares the file, for one reader.');
  const { data: link } = await agent.call('hub_share', {
    name: 'survey.bin',
    once: true,
    seconds: 600,
  });
  const first = await fetch(String(link['url']));
  const read = createHash('sha256')
    .update(new Uint8Array(await first.arrayBuffer()))
    .digest('hex');
  check('who has the link reads the file that was sold', read === sha256);
  const second = await fetch(String(link['url']));
  check('who comes second is refused', second.status === 410);
}

/** @returns where it is bought. */
async function offer(
  { filesUrl, filesHub, flakyUrl, rpcUrl, usd, chainId }: SandboxState,
  name: string,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<string> {
  const seller = privateKeyToAccount(generatePrivateKey());
  const owner = new HubOwner(filesUrl, filesHub, seller);
  await owner.store(name, bytes);
  await owner.price({
    file: name,
    network: `eip155:${chainId}`,
    asset: usd,
    amount: parseUnits(PRICE, 18).toString(),
    accessSeconds: 86_400,
    contentType: 'application/octet-stream',
    extra: { name: USD_NAME, version: USD_VERSION },
  });
  const path = `/api/download/${seller.address.toLowerCase()}/${name}`;
  // A catalogue lists what was paid.
  await stockBuyer(PAYER.key, rpcUrl).buy(`${filesUrl}${path}`);
  return `${flakyUrl}${path}`;
}

async function foundIn(agent: Calling, word: string): Promise<Facts | undefined> {
  const deadline = Date.now() + LISTED_WITHIN_MS;
  while (Date.now() < deadline) {
    const { data } = await agent.call('service_search', { query: word });
    const found = (data['services'] as readonly Facts[] | undefined)?.find(({ resource }) =>
      String(resource).includes(word),
    );
    if (found !== undefined) return found;
    await sleep(500);
  }
  return undefined;
}
