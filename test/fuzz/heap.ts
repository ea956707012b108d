import { WebSocket } from 'undici';

interface Reply {
  readonly id: number;
  readonly result: { readonly usedSize?: number };
}

/**
 * Bytes of the heap of a Node process that are in use after a garbage collection, asked for through
 * its inspector (`--inspect`).
 *
 * @param url - as the process printed it, `ws://…`.
 */
export async function usedHeap(url: string): Promise<number> {
  const socket = new WebSocket(url);
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener('open', () => {
      resolve();
    });
    socket.addEventListener('error', () => {
      reject(new Error('the inspector does not answer'));
    });
  });
  const ask = (id: number, method: string): Promise<Reply> =>
    new Promise((resolve) => {
      socket.addEventListener('message', ({ data }) => {
        const reply = JSON.parse(String(data)) as Reply;
        if (reply.id === id) resolve(reply);
      });
      socket.send(JSON.stringify({ id, method }));
    });
  await ask(1, 'HeapProfiler.collectGarbage');
  const { result } = await ask(2, 'Runtime.getHeapUsage');
  socket.close();
  if (result.usedSize === undefined) throw new Error('the inspector tells no size');
  return result.usedSize;
}
