import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Service } from '../../../sandbox/service.js';
import { eventually, get, post } from '../../support/http.js';
import { World } from '../../support/world.js';

describe('HTTP', () => {
  let world: World;
  let service: Service;

  beforeAll(async () => {
    world = await World.start();
    service = await world.service({ BODY_MAX_BYTES: '2000' });
  });
  afterAll(() => world.stop());

  /** Sends text and no more; resolves with all that comes until the server closes. */
  function raw(text: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = connect(Number(new URL(service.url).port), '127.0.0.1', () => {
        socket.write(text);
      });
      let received = '';
      socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
      socket.on('error', reject);
      socket.on('close', () => {
        resolve(received);
      });
    });
  }

  it('shows slow clients out: headers and bodies that do not come end with 408', async () => {
    const [headers, body] = await Promise.all([
      raw('POST /verify HTTP/1.1\r\nHost: x\r\nX-Slow: '),
      raw('POST /settle HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"paymentPayload"'),
    ]);
    expect(headers).toMatch(/^HTTP\/1\.1 408 /);
    expect(body).toMatch(/^HTTP\/1\.1 408 /);
    expect(body).toContain('"success":false');
    expect(body).toContain('"transaction":"","network":""');
  });

  it('does not wait for kept connections when it ends', async () => {
    const ending = await world.service({ ROLES: 'api', SHUTDOWN_GRACE_MS: '60000' });
    const agent = new Agent({ keepAlive: true });
    const sent = request(`${ending.url}/verify`, { agent, method: 'POST' });
    const answered = new Promise<number | undefined>((resolve, reject) => {
      sent.on('error', reject);
      sent.on('response', (response) => {
        response.resume().on('end', () => {
          resolve(response.statusCode);
        });
      });
    });
    sent.write('{');
    await new Promise((resolve) => setTimeout(resolve, 300));
    const ended = ending.stop('SIGTERM');
    await eventually('it drains', () => ending.log().includes('draining'));
    sent.end('}');
    expect(await answered).toBe(400);
    await ended;
    // The connection is still kept on this side; a process that waited for it would have been killed.
    expect(ending.child.exitCode).toBe(0);
    agent.destroy();
  });

  it('refuses a body over the limit with the fields stock clients look for', async () => {
    const { status, body } = await post(`${service.url}/verify`, `"${'x'.repeat(3000)}"`);
    expect([status, body['isValid']]).toEqual([413, false]);
  });

  it('lets any origin ask what is public, and none what operators are served', async () => {
    const preflight = async (url: string): Promise<Headers> => {
      const asked = { origin: 'https://shop.example', 'access-control-request-method': 'POST' };
      return (await fetch(url, { method: 'OPTIONS', headers: asked })).headers;
    };
    for (const path of ['/verify', '/v2/settle', '/supported', '/v2/settlements', '/health']) {
      const headers = await preflight(service.url + path);
      expect(headers.get('access-control-allow-origin')).toBe('*');
    }
    for (const path of ['/admin', '/ADMIN/api/lanes', '/metrics', '/health']) {
      const headers = await preflight(service.opsUrl + path);
      expect(headers.get('access-control-allow-origin')).toBeNull();
    }
  });

  it('sends pages with a strict policy and answers without what only pages need', async () => {
    const page = await get(`${service.url}/`);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(page.headers.get('content-security-policy')).not.toContain('unsafe');
    expect(page.headers.get('x-frame-options')).toBe('SAMEORIGIN');
    const { headers } = await get(`${service.url}/supported`);
    expect(headers.get('content-security-policy')).toBeNull();
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('x-powered-by')).toBeNull();
  });
});
