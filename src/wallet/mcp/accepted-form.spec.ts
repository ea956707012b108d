import { describe, expect, it } from '@jest/globals';
import accepts from 'accepts';
import { acceptedForm, contentTypeOf, inAcceptedForm } from './accepted-form.js';

const asking = (accept: string | undefined) => {
  const headers = accept === undefined ? {} : { accept };
  const types = accepts({ headers } as never);
  return { headers, accepts: (type: string) => types.type([type]) as string | false };
};

describe('the form of an answer at /mcp', () => {
  it.each([
    [undefined, 'json'],
    ['*/*', 'json'],
    ['application/*', 'json'],
    ['application/json', 'json'],
    ['application/json, text/event-stream;q=0', 'json'],
    ['application/json, text/event-stream', 'stream'],
    ['text/event-stream', 'stream'],
    ['text/*', 'stream'],
    ['text/html', undefined],
    ['application/json;q=0', undefined],
  ] as const)('for Accept: %s is %s', (accept, form) => {
    expect(acceptedForm(asking(accept))).toBe(form);
  });

  it.each([
    [undefined, 'application/json'],
    ['text/plain;charset=UTF-8', 'application/json'],
    ['application/x-www-form-urlencoded', 'application/json'],
    ['application/json; charset=utf-8', 'application/json; charset=utf-8'],
    ['text/plainer', 'text/plainer'],
    ['application/xml', 'application/xml'],
    ['multipart/form-data; boundary=x', 'multipart/form-data; boundary=x'],
  ])('takes a body of Content-Type: %s as %s', (named, type) => {
    const headers = named === undefined ? {} : { 'content-type': named };
    expect(contentTypeOf({ headers })).toBe(type);
  });

  const stream = [
    ': alive\n\n',
    'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/progress"}\n\n',
    'event: message\ndata: {"jsonrpc":"2.0",\ndata: "id":1,"result":{}}\n\n',
  ].join('');
  const handle = inAcceptedForm((request: Request) =>
    Promise.resolve(
      new Response(stream, {
        headers: {
          'content-type': 'text/event-stream',
          'x-accept': request.headers.get('accept') ?? '',
        },
      }),
    ),
  );
  const ask = (accept: string) =>
    handle(new Request('http://x/mcp', { method: 'POST', headers: { accept }, body: '{}' }));

  it('is the one message that answers, as JSON', async () => {
    const answer = await ask('application/json');
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(await answer.json()).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
    expect(answer.headers.get('x-accept')).toBe('application/json, text/event-stream');
  });

  it('is the stream as it comes where that is named', async () => {
    expect(await (await ask('application/json, text/event-stream')).text()).toBe(stream);
  });
});
