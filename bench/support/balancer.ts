import { connect, createServer, type Socket } from 'node:net';

/**
 * One port in front of several processes: each new connection goes to the next of them, as a
 * Kubernetes service does. Arguments: port, then the ports behind it.
 */
const [port = '0', ...behind] = process.argv.slice(2);
let turn = 0;

const server = createServer({ noDelay: true }, (client) => {
  const upstream = connect({ port: Number(behind[turn]), host: '127.0.0.1', noDelay: true });
  turn = (turn + 1) % behind.length;
  client.pipe(upstream).pipe(client);
  endTogether(client, upstream);
});
server.listen(Number(port), '127.0.0.1', () => {
  console.log('Balancer listening');
});

function endTogether(...sockets: readonly Socket[]): void {
  for (const socket of sockets) {
    // A connection that breaks on one side is of no use on the other; the client sees it closed.
    socket.on('error', () => {
      for (const one of sockets) one.destroy();
    });
  }
}
