import { mkdtempSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SIGNER } from '../../sandbox/accounts.js';
import { freePort } from '../../sandbox/processes.js';
import { type SandboxRedis, startRedis } from '../../sandbox/redis.js';
import { type Service, startService } from '../../sandbox/service.js';
import { createApiKey } from '../../src/operations/access/api-key.js';
import { get } from '../support/http.js';

/** The answer to a request that is written like this. */
function answerTo(
  url: string,
  requestLine: string,
  headers = '',
  host = 'localhost',
): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => {
      socket.write(
        `${requestLine} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n${headers}\r\n`,
      );
    });
    let text = '';
    socket.on('data', (piece) => (text += piece.toString('latin1')));
    socket.on('error', reject);
    socket.on('end', () => {
      resolve(text);
    });
  });
}

const statusIn = (answer: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1]);

/** The status of a request whose target is written like this. */
async function statusOf(url: string, target: string, headers = ''): Promise<number> {
  return statusIn(await answerTo(url, `GET ${target}`, headers));
}

/** The status of an answer, and the methods it says there are. */
async function methodsAt(url: string, requestLine: string): Promise<[number, string | undefined]> {
  const answer = await answerTo(url, requestLine);
  return [statusIn(answer), /^allow: (.*)\r$/im.exec(answer)?.[1]];
}

/** All of them lead to a route of this name, where there is one. */
const spellingsOf = (path: string): readonly string[] => [
  path,
  `${path}/`,
  path.toUpperCase(),
  `${path}?x=1`,
  `http://127.0.0.1${path}`,
  `http://other.example${path}`,
];

describe('what a service shows to whoever reaches it', () => {
  const operator = createApiKey('ops', ['admin']);
  let redis: SandboxRedis;
  let bare: Service;
  let operated: Service;

  beforeAll(async () => {
    redis = await startRedis(await freePort());
    const required = { REDIS_URL: redis.url, SIGNER_KEYS: SIGNER.key };
    bare = await startService(await freePort(), { ...required, OPS_PORT: '' });
    const file = join(mkdtempSync(join(tmpdir(), 'x402-exposed-')), 'keys.json');
    writeFileSync(file, JSON.stringify({ version: 1, keys: [operator.record] }));
    operated = await startService(await freePort(), { ...required, API_KEYS_FILE: file });
  });
  afterAll(async () => {
    await Promise.all([bare.stop('SIGKILL'), operated.stop('SIGKILL')]);
    await redis.stop('SIGKILL');
  });

  it('shows operators’ paths to no site that has given its name their port’s address', async () => {
    for (const path of ['/metrics', '/health', '/admin']) {
      const rebound = await answerTo(operated.opsUrl, `GET ${path}`, '', 'evil.example:4023');
      expect(rebound).toMatch(/^HTTP\/1\.1 421 /);
      expect(rebound).not.toMatch(/eip155|x402_/);
    }
    expect(statusIn(await answerTo(operated.opsUrl, 'GET /metrics'))).toBe(200);
  });

  it('with nothing but what is required is a facilitator and nothing else', async () => {
    for (const path of ['/supported', '/verify', '/settle', '/openapi.json', '/health/live']) {
      expect((await get(bare.url + path)).status).toBe(200);
    }
    for (const path of [
      '/api/info',
      '/api/upload',
      '/api/download',
      '/api/listAccount',
      '/v1/login/nonce',
      '/v1/wallets/me',
      '/wallet',
      '/mcp',
      '/metrics',
      '/admin',
    ]) {
      expect([path, (await get(bare.url + path)).status]).toEqual([path, 404]);
    }
    const { body } = await get(`${bare.url}/openapi.json`);
    expect(JSON.stringify(body['paths'])).not.toMatch(/\/api\/|wallet|admin/);
  });

  it.each(['/metrics', '/admin', '/admin/app.js', '/admin/uplot.js', '/admin/api/overview'])(
    'shows %s at the operators’ port alone, however it is written and whatever key comes with it',
    async (path) => {
      const key = `x-api-key: ${operator.key}\r\n`;
      for (const target of spellingsOf(path)) {
        expect([target, await statusOf(operated.url, target, key)]).toEqual([target, 404]);
        expect([target, await statusOf(operated.url, target)]).toEqual([target, 404]);
      }
      expect(await statusOf(operated.opsUrl, path, key)).toBe(200);
    },
  );

  it.each(['TRACE', 'PUT', 'PATCH', 'DELETE', 'PROPFIND'])(
    'says which methods there are to %s of a path it knows',
    async (method) => {
      for (const path of ['/', '/supported', '/v1/supported', '/health/live', '/openapi.json']) {
        const allowed = [405, 'GET, HEAD, OPTIONS'];
        expect([path, await methodsAt(bare.url, `${method} ${path}`)]).toEqual([path, allowed]);
      }
      expect(await methodsAt(bare.url, `${method} /accepts`)).toEqual([405, 'POST, OPTIONS']);
      for (const path of ['/settle', '/v1/verify', '/V2/settle/']) {
        const allowed = [405, 'GET, POST, OPTIONS'];
        expect([path, await methodsAt(bare.url, `${method} ${path}`)]).toEqual([path, allowed]);
      }
      const one = `/v2/settlements/${'a'.repeat(43)}`;
      expect(await methodsAt(bare.url, `${method} ${one}`)).toEqual([405, 'GET, HEAD, OPTIONS']);
      expect((await methodsAt(bare.url, `${method} /nothing`))[0]).toBe(404);
    },
  );

  it('says so of what is for operators at their port alone', async () => {
    for (const path of ['/metrics', '/admin', '/admin/api/overview']) {
      expect(await methodsAt(operated.url, `TRACE ${path}`)).toEqual([404, undefined]);
      expect(await methodsAt(operated.opsUrl, `TRACE ${path}`)).toEqual([405, 'GET, HEAD']);
    }
  });

  it('tells the public what is up, and operators why', async () => {
    const shown = JSON.stringify((await get(`${operated.url}/health`)).body);
    expect(shown).toContain('"networks"');
    expect(shown).not.toMatch(/eip155|0x|roundTrip|code|warnings/);
    expect(JSON.stringify((await get(`${operated.opsUrl}/health`)).body)).toMatch(/eip155:56/);
    const other = await fetch(`${operated.opsUrl}/health`, {
      headers: { origin: 'https://x.example' },
    });
    expect(other.headers.get('access-control-allow-origin')).toBeNull();
  });
});
