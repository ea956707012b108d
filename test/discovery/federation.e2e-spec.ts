import { createServer, type Server, type ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { HTTPFacilitatorClient } from '@x402/core/server';
import { withBazaar } from '@x402/extensions/bazaar';
import { type SandboxPostgres, startPostgres } from '../../sandbox/postgres.js';
import { freePort } from '../../sandbox/processes.js';
import type { Service } from '../../sandbox/service.js';
import { aForeignItem, aForeignOffer } from '../../src/discovery/federation/sources.builder.js';
import { aLesson, OTHER_PAYEE, PAYEE } from '../../src/discovery/lesson.builder.js';
import { PostgresCatalogue } from '../../src/discovery/postgres/postgres-catalogue.js';
import { connectDatabase } from '../../src/history/postgres/database.js';
import { migrate } from '../../src/history/postgres/migrator.js';
import { Secret } from '../../src/platform/config/secret.js';
import { ApiDescription } from '../support/api-description.js';
import { eventually, get } from '../support/http.js';
import type { Json } from '../support/payments.js';
import { World } from '../support/world.js';

const at = (name: string): string => `https://shop.example.com/${name}`;
/** Of one answer, when everything else is slow too. */
const ANSWER_MS = 20_000;
/** A source that was too slow three times is left alone for half a minute. */
const PATIENCE_MS = 60_000;

/** A catalogue that answers what a test wants. */
class AnyCatalogue {
  asked = 0;
  answer: (response: ServerResponse) => void = (response) => response.end('{"items":[]}');

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async start(): Promise<AnyCatalogue> {
    const port = await freePort();
    const server = createServer((request, response) => {
      request.resume();
      one.asked += 1;
      one.answer(response);
    });
    const one = new AnyCatalogue(server, `http://127.0.0.1:${port}`);
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    return one;
  }

  says(text: string): void {
    this.answer = (response) => response.end(text);
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}

describe('catalogues that read each other', () => {
  let world: World;
  let postgres: SandboxPostgres;
  let [ours, theirs, third]: Service[] = [];
  let any: AnyCatalogue;
  let api: ApiDescription;

  /** A catalogue of its own, with what was paid for there. */
  async function databaseWith(name: string, resources: readonly string[]): Promise<string> {
    const server = connectDatabase(new Secret(postgres.url));
    await server.pool.query(`create database ${name}`);
    await server.db.destroy();
    const url = new URL(postgres.url);
    url.pathname = `/${name}`;
    const database = connectDatabase(new Secret(url.href));
    await migrate(database.pool);
    const catalogue = new PostgresCatalogue(database.db, { entriesPerPayee: 500 });
    const paidAt = Date.now() - 60_000;
    await catalogue.learn(
      resources.map((path, n) =>
        aLesson({ resource: at(path), description: `Weather ${path}` }, { at: paidAt - n }),
      ),
    );
    await database.db.destroy();
    return url.href;
  }

  beforeAll(async () => {
    [world, postgres] = await Promise.all([World.start(), startPostgres()]);
    any = await AnyCatalogue.start();
    const ports = await Promise.all([freePort(), freePort(), freePort()]);
    const [one = '', two = '', three = ''] = ports.map((port) => `http://127.0.0.1:${port}`);
    const start = async (n: number, resources: readonly string[], sources: string) =>
      world.service(
        {
          ...{ ROLES: 'api', DATABASE_URL: await databaseWith(`catalogue${n}`, resources) },
          ...{ DISCOVERY_SOURCES: sources, DISCOVERY_SOURCES_ALLOW: '127.0.0.1' },
        },
        ports[n],
      );
    // Each of the three is asked by the one before it, the last by the first.
    [ours, theirs, third] = await Promise.all([
      start(0, ['ours', 'shared'], `theirs=${two},any=${any.url}`),
      start(1, ['theirs', 'shared'], `third=${three},ours=${one}`),
      start(2, ['third'], `ours=${one}`),
    ]);
    api = new ApiDescription((await get(`${urlOf(ours)}/openapi.json`)).body);
  }, 180_000);
  afterAll(async () => {
    any.stop();
    await Promise.all([world.stop(), postgres.stop()]);
  });
  beforeEach(() => {
    any.says('{"items":[]}');
  });

  const urlOf = (service: Service | undefined): string => service?.url ?? '';
  const namesIn = (body: Json): string[] =>
    ((body['items'] ?? body['resources']) as readonly Json[]).map(({ source, resource }) => {
      const name = String(resource).split('/').at(-1) ?? '';
      return `${typeof source === 'string' ? source : 'own'} ${name}`;
    });
  let asking = 0;
  /** A question of its own, so that nothing is answered from what was kept. */
  const questionOf = (): string => {
    asking += 1;
    return `asset=0x${'c3'.repeat(20)}&maxPrice=${1_000_000 + asking}`;
  };
  async function listed(question = questionOf()): Promise<Json> {
    const { status, body } = await get(`${urlOf(ours)}/discovery/resources?${question}`);
    expect(status).toBe(200);
    return body;
  }
  /** Sources that answer are slow at times: the same is asked again. */
  async function lists(names: readonly string[], isPartial = false): Promise<Json> {
    const question = questionOf();
    let body: Json = {};
    await eventually(
      `${names.join(', ')}, ${isPartial ? 'and one has not answered' : 'and all have answered'}`,
      async () => {
        body = await listed(question);
        return (
          `${namesIn(body).join()} ${String(body['partialResults'])}` ===
          `${names.join()} ${isPartial}`
        );
      },
      PATIENCE_MS,
    );
    return body;
  }

  it('list their own, and behind it what is not theirs, for stock clients too', async () => {
    const { bazaar } = withBazaar(new HTTPFacilitatorClient({ url: urlOf(ours) })).extensions;
    await lists(['own ours', 'own shared', 'theirs theirs']);
    let items: readonly { readonly resource: string; readonly source?: string }[] = [];
    await eventually(
      'the stock client lists them',
      async () => {
        const list = await bazaar.listResources({ limit: 1000 });
        items = list.items;
        return items.length === 3 && list.pagination.total === 2;
      },
      PATIENCE_MS,
    );
    expect(items.map(({ source, resource }) => [source, resource])).toEqual([
      ...[
        [undefined, at('ours')],
        [undefined, at('shared')],
      ],
      ['theirs', at('theirs')],
    ]);
    await eventually(
      'the stock client finds them',
      async () => {
        const { resources } = await bazaar.search({ query: 'weather' });
        return (
          resources.map(({ resource }) => resource.split('/').at(-1)).join() ===
          'ours,shared,theirs'
        );
      },
      PATIENCE_MS,
    );
    const alone = await listed('sources=own');
    expect([namesIn(alone), alone['partialResults']]).toEqual([
      ...[['own ours', 'own shared'], undefined],
    ]);
    for (const path of ['resources', 'search']) {
      const answer = await get(`${urlOf(ours)}/discovery/${path}`);
      expect(api.problemsOf('get', `/discovery/${path}`, 200, answer.body)).toEqual([]);
    }
    const [foreign] = items.slice(2);
    expect(foreign).toMatchObject({ source: 'theirs', network: 'eip155:56' });
    expect(foreign).not.toHaveProperty('firstPaid');
  });

  it('do not go round, though each names another', async () => {
    const expected = ['own theirs', 'own shared', 'third third', 'ours ours'];
    await eventually(
      'theirs has what is ours, and what is of a third',
      async () => {
        const { body } = await get(`${urlOf(theirs)}/discovery/resources`);
        return namesIn(body).join() === expected.join();
      },
      PATIENCE_MS,
    );
    await lists(['own ours', 'own shared', 'theirs theirs']);
    const response = await fetch(`${urlOf(third)}/discovery/resources`, {
      headers: { 'x402-sources': 'own' },
    });
    expect(response.headers.get('vary')).toMatch(/x402-sources/i);
    expect((await response.json()) as Json).toMatchObject({ items: [{ resource: at('third') }] });
  });

  it('are read page by page, ours first', async () => {
    const walk = async (): Promise<readonly string[]> => {
      const names: string[] = [];
      let cursor = '';
      do {
        const page = await listed(`limit=1${cursor && `&cursor=${cursor}`}`);
        names.push(...namesIn(page));
        const { nextCursor } = page['pagination'] as { readonly nextCursor?: string };
        cursor = nextCursor ?? '';
      } while (cursor !== '' && names.length < 10);
      return names;
    };
    await eventually(
      'each is on a page of its own',
      async () => (await walk()).join() === 'own ours,own shared,theirs theirs',
      PATIENCE_MS,
    );
  });

  it('show nothing of another that would not be listed here, and none of its figures', async () => {
    const words = { description: '<script>alert(1)</script>\u202Etxt', quality: { score: 9 } };
    const items = [
      aForeignItem('good', { ...words, source: 'own', accepts: [aForeignOffer({ payTo: PAYEE })] }),
      aForeignItem('a', { resource: 'javascript:alert(1)' }),
      aForeignItem('b', { resource: 'http://169.254.169.254/' }),
      aForeignItem('shared', { description: 'instead of ours' }),
      aForeignItem('shared', { accepts: [aForeignOffer({ payTo: OTHER_PAYEE })] }),
    ];
    any.says(`{"items":${JSON.stringify(items)},"__proto__":{"items":[]},"partialResults":1}`);
    const body = await lists([
      ...['own ours', 'own shared', 'theirs theirs', 'any good', 'any shared'],
    ]);
    expect(JSON.stringify(body)).not.toMatch(/<script|\u202E|score|instead|javascript|__proto__/);
  });

  it.each<[string, (response: ServerResponse) => void]>([
    ['says nothing', () => undefined],
    [
      'says it byte by byte',
      (response) => {
        drip(response);
      },
    ],
    [
      'has no end',
      (response) => {
        flood(response);
      },
    ],
    ['is no catalogue', (response) => response.end('<html>')],
    ['has no list', (response) => response.end('{"items":{"length":9}}')],
    ['hangs up', (response) => response.destroy()],
    ['fails', (response) => response.writeHead(500).end('{"items":[]}')],
    [
      'leads elsewhere',
      (response) => {
        elsewhere(response);
      },
    ],
  ])('answer without one that %s', async (_, answer) => {
    const names = ['own ours', 'own shared', 'theirs theirs'];
    // What failed before is forgotten.
    await lists(names);
    const before = any.asked;
    any.answer = answer;
    const begun = performance.now();
    expect(namesIn(await listed()).slice(0, 2)).toEqual(names.slice(0, 2));
    expect(performance.now() - begun).toBeLessThan(ANSWER_MS);
    await lists(names, true);
    expect(any.asked).toBeGreaterThan(before);
  });

  it('leave one alone that has failed several times', async () => {
    any.answer = (response) => response.destroy();
    for (let n = 0; n < 3; n += 1) await listed();
    const before = any.asked;
    for (let n = 0; n < 3; n += 1) {
      expect((await listed())['partialResults']).toBe(true);
    }
    expect(any.asked).toBe(before);
  });
});

function drip(response: ServerResponse): void {
  const timer = setInterval(() => response.write(' '), 50);
  response.on('close', () => {
    clearInterval(timer);
  });
}

function flood(response: ServerResponse): void {
  const write = (): void => {
    if (!response.destroyed) setImmediate(() => response.write('[0,'.repeat(20_000), write));
  };
  response.write('{"items":[', write);
}

/** To what is no web, where nothing may be read from. */
function elsewhere(response: ServerResponse): void {
  response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data/' }).end();
}
