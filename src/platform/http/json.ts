import type { ServerResponse } from 'node:http';

/** Writes a JSON answer. Verify and settle are hot: no ETag is computed for what is never cached. */
export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  sendJsonText(response, status, JSON.stringify(body));
}

/** Writes an answer that is JSON already. */
export function sendJsonText(response: ServerResponse, status: number, text: string): void {
  response.statusCode = status;
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.setHeader('Content-Length', Buffer.byteLength(text));
  response.end(text);
}
