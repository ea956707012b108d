import type { Response } from 'express';
import { sendJson } from '../../platform/http/json.js';

/** Sends what no cache may keep. */
export function sendPrivate(response: Response, body: unknown): void {
  response.setHeader('Cache-Control', 'no-store');
  sendJson(response, 200, body);
}
