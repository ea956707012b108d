import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import express, { type Request } from 'express';

/**
 * What one writes without a hub: Express, a file per upload, synced before it is answered. No index, no
 * checksum, no owner; a name is trusted.
 *
 * Arguments: port, folder.
 */
const [port = '0', dir = '.'] = process.argv.slice(2);
const app = express();

function nameIn({ query }: Request): string {
  const { name } = query;
  return typeof name === 'string' ? name : '';
}

app.post('/api/upload', express.json({ limit: '4mb' }), async (request, response) => {
  const { id, message } = request.body as { readonly id: string; readonly message: string };
  const file = await open(join(dir, id), 'w');
  try {
    await file.writeFile(message);
    await file.sync();
  } finally {
    await file.close();
  }
  response.json({ File: id, Start: 0, Size: Buffer.byteLength(message) });
});

app.get('/api/download', async (request, response) => {
  response.setHeader('Content-Type', 'text/plain');
  await pipeline(createReadStream(join(dir, nameIn(request))), response);
});

/** Downloads as Express itself does them. */
app.get('/api/send-file', (request, response) => {
  response.sendFile(join(dir, nameIn(request)));
});

app.listen(Number(port), '127.0.0.1', () => {
  console.log('listening');
});
